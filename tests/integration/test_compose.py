"""What compose/compose.yaml runs of ours is run here without containers, until its own health check is content.

Services have real starts, as in a container; commands that are executed beside them are forked.
"""

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from statemachine.log.kafka.address import Address
from tests.harness import Cluster, program, wait_for
from tests.harness.broker import Kafka
from tests.harness.fixtures import fresh_address
from tests.harness.postgres import PASSWORD, USER, Postgres
from tests.integration.cli_words import environment, script
from tests.support.composed import COMPOSE, composed, ours

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ROLES: Final = ("bridge", "engine", "projectors", "front")

PYTHON: Final = {"python": sys.executable}


class Service:
    """One of the file's services, with `replaced` in the place of what is there only in its containers."""

    def __init__(self, name: str, folder: Path, replaced: dict[str, str]) -> None:
        self._about = ours(composed())[name]
        self._folder, self._replaced = folder, {**replaced, "8080": str(free_port()), "0.0.0.0": "127.0.0.1"}
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """A jobledger command in that container, as `docker compose exec`; without any, the service's own."""
        words = self._here([*command] or self._about["command"])
        return program.run(*words, **self._place(), sent=stdin)

    def is_healthy(self) -> bool:
        """What the health check says."""
        assert self._process is None or self._process.poll() is None, self.said
        how, program, *arguments = self._here(self._about["healthcheck"]["test"])
        assert how == "CMD"
        command = [PYTHON.get(program, program), *arguments]
        return not subprocess.run(command, **self._place(), stderr=subprocess.DEVNULL, check=False).returncode

    @property
    def said(self) -> str:
        return (self._folder / "said").read_text(encoding="utf-8", errors="replace")

    @contextmanager
    def started(self) -> Iterator[None]:
        """It runs, and is asked to end when the block does."""
        with (self._folder / "said").open("wb") as said:
            words = self._here(self._about["command"])
            self._process = program.start(*words, **self._place(), stdout=said, stderr=said, real=True)
        try:
            yield
            self._process.send_signal(signal.SIGTERM)
            assert self._process.wait(90) == 0, self.said
        finally:
            self._process.kill()
            self._process.wait()

    def port_for(self, text: str) -> str:
        """The text, with the port of this service in it as it is here."""
        return text.replace("8080", self._replaced["8080"])

    def _place(self) -> dict[str, Any]:
        given = {name: self._here([str(value)])[0] for name, value in self._about["environment"].items()}
        return {"env": environment(**given), "cwd": self._here([self._about.get("working_dir", ".")])[0]}

    def _here(self, words: list[str]) -> list[str]:
        for there, here in self._replaced.items():
            words = [word.replace(there, here) for word in words]
        return words


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def topics(kafka: Kafka, tmp_path: Path) -> Iterator[dict[str, str]]:
    """What is elsewhere here once the service `topics` has run: the topics of a ledger of our own."""
    with fresh_address(kafka) as address:
        replaced = {"kafka://kafka:9092": url(address)}
        for _ in range(2):
            done = Service("topics", tmp_path, replaced).run()
            assert done.returncode == 0, done.stderr
            assert f"{address.prefix}.events" in done.stdout
        yield replaced


def url(address: Address) -> str:
    assert str(address).endswith(address.prefix)
    return str(address)


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The name of an empty database."""
    name = postgres.fresh()
    yield name
    postgres.drop(name)


@pytest.fixture
def history(postgres: Postgres, database: str, tmp_path: Path) -> dict[str, str]:
    """What is elsewhere here of the service `postgres`: the database, and the file with its password."""
    (tmp_path / "postgres-password").write_text(f"{PASSWORD}\n", encoding="utf-8")
    here = f"{USER}@127.0.0.1:{postgres.port}/{database}"
    return {"jobledger@postgres:5432/jobledger": here, "/run/secrets": str(tmp_path)}


def test_serve_becomes_healthy_and_runs_a_job(
    topics: dict[str, str], history: dict[str, str], postgres: Postgres, database: str, tmp_path: Path
) -> None:
    examples = shutil.copytree(COMPOSE.parent / "examples", tmp_path / "examples")
    folders = {"/var/lib/jobledger": str(tmp_path), "/examples": str(examples)}
    serve = Service("serve", tmp_path, {**topics, **history, **folders})
    assert not serve.is_healthy()
    with serve.started():
        wait_for("serve is healthy", serve.is_healthy)
        done = serve.run("submit", "-", stdin=json.dumps(script("composed", "print('hello')")))
        assert done.returncode == 0, done.stderr
        assert serve.run("wait", "composed", "--for=condition=Completed").returncode == 0
        succeeded = "SELECT name FROM history_jobs WHERE phase = 'Succeeded'"
        wait_for("the history has it", lambda: postgres.sql(succeeded, database) == "composed")
        assert metrics_of(serve) == (200, 404)
        said = [serve.run(*command) for command in commands_of_the_readme()]
        assert len(said) == 3
        assert [outcome.stderr for outcome in said if outcome.returncode] == []
        assert serve.run("delete", "pause-resume").returncode == 0  # its processes would outlive this test


def metrics_of(serve: Service) -> tuple[int, int]:
    """The statuses that `serve-metrics` gives for the metrics, which have to be ours, and for the jobs."""
    port = str(free_port())
    text = (COMPOSE / "metrics.py").read_text(encoding="utf-8")
    here = serve.port_for(text).replace("8081", port)
    with subprocess.Popen([sys.executable, "-c", here], stderr=subprocess.DEVNULL) as process:
        try:
            wait_for("it listens", lambda: is_open(int(port)))
            metrics, jobs = (httpx.get(f"http://127.0.0.1:{port}{path}") for path in ("/metrics", "/v1/jobs"))
        finally:
            process.kill()
    assert "jobledger_jobs" in metrics.text
    return metrics.status_code, jobs.status_code


def is_open(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def commands_of_the_readme() -> list[list[str]]:
    """What compose/README.md gives `serve` to do with an example."""
    text = (COMPOSE / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^docker compose exec serve jobledger (.*)$", text, re.MULTILINE)
    return [shlex.split(command, comments=True) for command in commands]


@pytest.mark.slow
def test_every_role_becomes_healthy(
    job_crds: Cluster, topics: dict[str, str], history: dict[str, str], tmp_path: Path
) -> None:
    replaced = {**topics, **history, "/etc/jobledger/kubeconfig": str(job_crds.kubeconfig)}
    with ExitStack() as stack:
        services = {}
        for role in ROLES:
            folder = tmp_path / role
            folder.mkdir()
            services[role] = Service(role, folder, replaced)
            assert not services[role].is_healthy()
            stack.enter_context(services[role].started())
        for role, service in services.items():
            wait_for(f"{role} is healthy", service.is_healthy)


def test_these_are_all_services_of_ours() -> None:
    assert set(ours(composed())) == {"topics", "serve", *ROLES}
