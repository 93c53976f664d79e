"""Planted secrets leave through no route, page, verb, Event, status or log line: all exits are enumerated."""

import ast
import asyncio
import json
import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from fastapi.routing import APIRoute

import jobledger.cli
from jobledger.api import create
from jobledger.cli import GROUPS, run_command
from jobledger.settings.sections import LogSettings
from jobledger.telemetry.log_lines import configure
from jobledger.web.streams import Closing
from k8s_bridge.apiserver.api import failure
from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Verb
from projectors.kube_events import KubeEvents
from projectors.status import Status
from statemachine.errors import Refused
from statemachine.ids import JobUid
from statemachine.log.port import DeadLetter, EntryDraft
from statemachine.log.sqlite import SqliteLog
from statemachine.observations import PodObserved
from tests.support.memory_log import MemoryLog
from tests.support.planted import MARK, ORDINARY_ARGS, Planter, t9k_job
from tests.support.scenario import START, Story
from tests.unit.api.words import config_map, phase, written
from tests.unit.bridge.words import job, pod
from tests.unit.console.words import Browser, console

JOB: Final = t9k_job(Planter())

# ---- HTTP --------------------------------------------------------------------------------------------------------

VALUES: Final = {
    "namespace": "default",
    "kind": "PyTorchTrainingJob",
    "name": "train",
    "job": "train",
    "replica": "worker-0",
    "pod": "train-worker-0",
    "action": "pause",
    "what": "jobs",
    "file": "console.js",
    "path": "jobs",
    "language": "en",
    "version": "1.0",
}
"""What stands in paths."""

AS_THEY_ARE: Final = {
    ("POST", "/v1/jobs/validate"): "what was sent goes back to its sender, who would create it",
    ("POST", "/jobs/new/{kind}"): "the form shows what its user is typing",
}
"""Answers that hold what the caller has just sent."""

LIVE: Final = ("/live", "/v1/watch")
"""Streams without an end: `/v1/watch` is read below, the others carry numbers, and what replicas write."""


def routes_of(api: Any) -> Iterator[tuple[str, str]]:
    """Method and path of everything that the application answers."""
    for route in api.routes:
        if isinstance(route, APIRoute):
            yield from ((method, route.path) for method in sorted(route.methods or ()))
        elif (included := getattr(route, "original_router", None)) is not None:
            yield from routes_of(included)


def address(path: str, name: str) -> str:
    """The path with something in the place of its parameters."""
    filled = {**VALUES, "name": name, "job": name}
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: filled[match[1]], path)


QUERIES: Final = {
    "/v1/lives/{namespace}/{job}/history": ("", "?full=true", "?data=true"),
    "/v1/lives/{namespace}/{job}/why": ("", "?data=true"),
    "/jobs/{namespace}/{kind}/{name}/history": ("", "?at=1", "?every=1"),
    "/jobs/{namespace}/{kind}/{name}/manifest": ("", "?download=1"),
    "/jobs/{namespace}/{kind}/{name}/yaml": ("", "?download=1"),
    "/v1/jobs": ("", "?gone=true"),
}


def body_of(method: str, path: str) -> dict[str, Any]:
    """A request's body: JSON to programs' routes, a form to pages."""
    if path in ("/v1/jobs", "/api/jobs") and method == "POST":
        return {"json": t9k_job(Planter(), "second" if path[1] == "v" else "third")}
    if path.endswith("/scale") and path.startswith("/v1"):
        return {"json": {"replicas": 1}}
    if path.startswith("/api") and method == "PATCH":
        return {"json": {"pause": True}}
    if method == "PATCH":
        return {"json": {"metadata": {"annotations": {"b.example/token": f"{MARK}-new"}}}}
    return {"data": {"a": "b"}} if method == "POST" and not path.startswith("/v1") else {}


async def answers(browser: Browser) -> Mapping[str, httpx.Response]:
    """What every route answers, reading first and deleting last."""
    api = browser.client._transport.app  # type: ignore[attr-defined]
    there = sorted(
        set(routes_of(api)), key=lambda route: ("GET HEAD POST PATCH DELETE".find(route[0]), route[1])
    )
    given: dict[str, httpx.Response] = {}
    for method, path in there:
        if path.endswith(LIVE) or (method, path) in AS_THEY_ARE:
            continue
        for query in QUERIES.get(path, ("",)):
            for headers in ({}, {"HX-Request": "true"}) if path.startswith("/jobs") else ({},):
                target = address(path, "train") + query
                answer = await browser.client.request(
                    method, target, headers=headers, **body_of(method, path)
                )
                given[f"{method} {target} {bool(headers)}"] = answer
    return given


@pytest.fixture
def planted_messages() -> Story:
    """A job of an older log: a refusal in it quotes what was refused."""
    story = Story(JOB["spec"], name="train", uid="aaaa-1111").submit()
    secret = re.findall(rf"{MARK}-\d+-x9", json.dumps(JOB["spec"]))[0]
    return story.refused(message=f"spec.containers[0].env[0].value: it is {secret}, --token={MARK}-0")


async def test_no_route_and_no_page_shows_a_planted_secret(tmp_path: Path) -> None:
    async with console(tmp_path, raises=False) as browser:
        await browser.app.submit(written(JOB, config_map("settings", password=f"{MARK}-data")), "test")
        await browser.listed("train")
        await phase(browser.app, "train", "Running")
        given = await answers(browser)
        assert len(given) > 60
        assert [
            name for name, answer in given.items() if MARK in answer.text or MARK in str(answer.headers)
        ] == []
        assert [name for name, answer in given.items() if answer.status_code == 500] == []
        shown = [answer.text for answer in given.values() if answer.status_code == 200]
        assert sum("&lt;redacted&gt;" in name or "<redacted>" in name for name in shown) >= 8
        text = given["GET /jobs/default/PyTorchTrainingJob/train/manifest?download=1 False"].text
        assert [argument for argument in ORDINARY_ARGS if argument not in text] == []
        created = next(answer for name, answer in given.items() if name.startswith("POST /v1/jobs "))
        assert created.status_code == 201


@pytest.mark.parametrize(
    "value", ["<redacted>", "--token=<redacted>", f"jobledger.dev/env-value:{'0' * 8}:{'1' * 32}"]
)
@pytest.mark.parametrize("path", ["/v1/jobs", "/api/jobs"])
async def test_what_was_shown_without_its_secrets_does_not_become_a_job(
    tmp_path: Path, path: str, value: str
) -> None:
    async with console(tmp_path) as browser:
        copied = job("copied")
        (slot,) = copied["spec"]["replicaSpecs"]
        slot["template"]["spec"]["containers"] = [{"name": "pytorch", "image": "x", "args": ["t.py", value]}]
        copied["metadata"]["namespace"] = "default"
        answer = await browser.client.post(path, json=copied)
        assert answer.status_code == 422
        assert "containers[0].args[1]" in answer.text
        assert "type it again" in answer.text


async def test_the_watch_shows_no_planted_secret(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.app.submit(written(JOB), "test")
        closing, pieces = Closing(), list[bytes]()
        api = create(browser.app, closing)

        async def send(message: Any) -> None:
            pieces.append(message.get("body", b""))
            if b"SYNCED" in pieces[-1]:
                closing.close()

        waiting = asyncio.Event()

        async def receive() -> Any:
            await waiting.wait()

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/v1/watch",
            "raw_path": b"/v1/watch",
            "query_string": b"",
        }
        headers = [(b"host", b"localhost")]
        await api({**scope, "headers": headers, "scheme": "http", "client": ("127.0.0.1", 1)}, receive, send)
        whole = b"".join(pieces).decode()
        assert '"ADDED"' in whole
        assert "<redacted>" in whole
        assert MARK not in whole


# ---- the command line ----------------------------------------------------------------------------------------

AGAINST_A_SERVER: Final = {
    "get": (["get", "-o", "yaml"], ["get", "-o", "json"], ["get", "train", "-o", "yaml"], ["get"]),
    "describe": (
        ["describe", "train"],
        ["describe", "train", "-o", "yaml"],
        ["describe", "train", "-o", "json"],
    ),
    "pause": (["pause", "train"],),
    "resume": (["resume", "train"],),
    "scale": (["scale", "train", "1"],),
    "delete": (["delete", "train"],),
    "submit": (["submit", "FILE"],),
}
OF_THE_LEDGER: Final = {
    "history": (["history", "train"], ["history", "train", "--full"], ["history", "train", "-o", "json"]),
    "why": (["why", "train"], ["why", "train", "-o", "yaml"]),
    "replay": (["replay", "train"], ["replay", "--verify"], ["replay", "--verify", "-o", "json"]),
    "dead-letters": (["dead-letters", "list", "-o", "yaml"], ["dead-letters", "show", "1"]),
    "events": (["events", "tail"], ["events", "tail", "-o", "jsonl"], ["events", "export", "--to", "-"]),
    "validate": (["validate", "FILE"],),
}
NO_EXIT: Final = {
    "run": "it prints the phases and the logs of jobs; sentences go through `PlainScreen`, tested below",
    "serve": "it prints log lines, tested below",
    "controller": "it prints log lines, tested below",
    "evidence": "it prints names of pods",
    "logs": "what replicas write is the user's own",
    "wait": "it prints names and phases",
    "log": "it copies logs whole, and prints counts",
    "topics": "it prints names of topics",
    "render": "the user's own file, made ready for `kubectl apply`",
    "crds": "no job is in it",
    "config": "no job is in it; passwords in settings are SecretStr",
}


def test_every_verb_of_the_command_line_is_looked_at() -> None:
    verbs = {name for group in GROUPS.values() for name in group}
    assert verbs == {*AGAINST_A_SERVER, *OF_THE_LEDGER, *NO_EXIT}


WRITES_BY_ITSELF: Final = {
    "common",
    "dead_letters",
    "events",
    "render",
    "logs",
    "screen",
    "sinks",
    "tail",
    "__init__",
}
"""Modules that print without `common.say`: edges themselves, what `NO_EXIT` explains, `dead-letters show --raw`, and
lines of public events, whose bytes stay as they were made, without secrets."""


def test_verbs_print_through_one_edge() -> None:
    printing = set()
    for path in Path(jobledger.cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            said = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if said in ("print", "typer.echo", "sys.stdout.write", "sys.stdout.buffer.write"):
                printing.add(path.stem)
    assert printing <= WRITES_BY_ITSELF


@contextmanager
def older_server() -> Iterator[str]:
    """A server of a release that takes nothing out: whatever is asked for is the job, a list of it, or its Events."""
    event = {
        "at": "2024-01-09T15:00:00Z",
        "type": "Warning",
        "reason": "Failed",
        "message": f"--token={MARK}-event",
    }
    job = {**JOB, "metadata": {**JOB["metadata"], "uid": "aaaa-1111"}, "status": {"phase": "Running"}}

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            body: Any = {"items": [event]} if path.endswith("/events") else job
            body = {"kind": "List", "items": [job]} if path.endswith("/v1/jobs") else body
            body = {"type": "DELETED", "object": job} if path.endswith("/watch") else body
            data = json.dumps(body).encode()
            self.send_response(201 if self.command == "POST" and path.endswith("/v1/jobs") else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_no_verb_prints_what_an_older_server_sends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps(JOB), encoding="utf-8")
    monkeypatch.setenv("JOBLEDGER_STORE", str(tmp_path / "ledger.db"))
    with older_server() as url:
        monkeypatch.setenv("JOBLEDGER_SERVER", url)
        for line in [line for lines in AGAINST_A_SERVER.values() for line in lines]:
            run_command([str(file) if cell == "FILE" else cell for cell in line])
            said = capsys.readouterr()
            assert MARK not in said.out + said.err, line
            assert "this is a bug" not in said.err, said.err


def test_no_verb_prints_what_an_older_log_holds(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    planted_messages: Story,
) -> None:
    path, file = tmp_path / "ledger.db", tmp_path / "job.json"
    file.write_text(json.dumps(JOB).replace("python", "pythn"), encoding="utf-8")

    async def work() -> None:
        log = await SqliteLog.open(path)
        for seq, body in enumerate(planted_messages.bodies, 1):
            await log.append([EntryDraft(planted_messages.uid, seq, body)])
        letter = json.dumps({"type": "JobObserved", "spec": JOB["spec"]}).encode()
        await log.add_dead_letter(DeadLetter(START, planted_messages.uid, letter, f"bad: --token={MARK}-1"))
        await log.close()

    asyncio.run(work())
    monkeypatch.setenv("JOBLEDGER_STORE", str(path))
    monkeypatch.setenv("JOBLEDGER_NAMESPACE", "demo")
    for line in [cells for lines in OF_THE_LEDGER.values() for cells in lines]:
        run_command([str(file) if cell == "FILE" else cell for cell in line])
        said = capsys.readouterr()
        assert said.out + said.err, line
        assert MARK not in said.out + said.err, line
        assert "this is a bug" not in said.err, said.err


# ---- the cluster, and log lines ------------------------------------------------------------------------------


class Taking:
    """A cluster that keeps the Events and statuses that it is given."""

    def __init__(self) -> None:
        self.taken: list[Any] = []

    async def emit(self, event: Any) -> None:
        self.taken.append(event)

    async def patch_status(self, ref: Any, uid: str, status: Any, seq: int) -> None:
        self.taken.append(status)


class One:
    """The states of a log with one job."""

    def __init__(self, story: Story) -> None:
        self._story = story

    def state(self, _: JobUid) -> Any:
        return self._story.state

    def seq(self, _: JobUid) -> int:
        return len(self._story.entries)


async def test_events_and_statuses_of_an_older_log_quote_no_secret(planted_messages: Story) -> None:
    log, cluster, states = MemoryLog(), Taking(), One(planted_messages)
    await log.append(
        [EntryDraft(planted_messages.uid, n, body) for n, body in enumerate(planted_messages.bodies, 1)]
    )
    await KubeEvents(log, states, cluster).advance()  # type: ignore[arg-type]
    await Status(states, cluster).visit(planted_messages.uid)  # type: ignore[arg-type]
    said = [str(event) for event in cluster.taken]
    assert sum("<redacted>" in word for word in said) >= 2
    assert not [word for word in said if MARK in word]


def test_a_refusal_of_the_api_server_reaches_nobody_with_secrets_of_what_was_sent() -> None:
    sent = json.dumps(JOB).encode()
    secret = re.findall(rf"{MARK}-\d+-x9", sent.decode())[3]
    answered = json.dumps({"message": f"webhook: no {secret} here", "reason": "Invalid"}).encode()
    error = failure(422, answered, sent=sent)
    assert isinstance(error, Refused)
    assert error.message == "webhook: no <redacted> here"


def test_what_a_runtime_says_of_a_container_is_observed_without_secrets() -> None:
    said = f'exec: "--hf-token={MARK}-1": executable file not found in $PATH'
    ended = {"terminated": {"exitCode": 128, "reason": "StartError", "message": said}}
    status = {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": ended}]}
    raw = pod(job(uid="j-1"), attempt=1) | {"status": status}
    raw["metadata"] |= {"uid": "p-1"}
    (observation,) = observe(Change(Verb.MODIFIED, raw, datetime(2024, 1, 9, tzinfo=UTC)))
    assert isinstance(observation, PodObserved)
    assert "executable file not found" in observation.message
    assert MARK not in observation.message


@pytest.mark.parametrize("form", ["console", "json"])
def test_our_own_log_lines_show_no_secret(form: Any) -> None:
    before, stream = logging.getLogger().handlers[:], StringIO()
    try:
        configure(LogSettings(format=form), stream)
        try:
            int(f"https://me:{MARK}@db/x")
        except ValueError:
            logging.getLogger("jobledger.test").exception(
                "no", extra={"error": f"--token={MARK}", "job": JOB}
            )
    finally:
        logging.getLogger().handlers[:] = before
    assert "<redacted>" in stream.getvalue()
    assert MARK not in stream.getvalue()
