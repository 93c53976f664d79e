"""Traces, as a collector gets them: a real OTLP receiver, a controller in memory, and the real exporter."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jobledger.telemetry.instruments import Instruments
from jobledger.telemetry.spans import TracedInstruments
from jobledger.telemetry.tracing import instruments_of, wanted
from k8s_bridge.admission import admit
from k8s_bridge.port import Ref
from statemachine.errors import ConfigError, Missing, Refused
from tests.support.memory_cluster import MemoryCluster
from tests.support.otlp import Receiver, receiving
from tests.unit.api.words import emitted, job, phase, written
from tests.unit.telemetry.words import controlling, deleted

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    with receiving() as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.endpoint)
        yield server


async def traced_life(receiver: Receiver, cluster: MemoryCluster | None = None) -> str:
    """A job of two pods is submitted, runs to its end, and is deleted; its uid."""
    instruments = instruments_of(os.environ)
    async with controlling(cluster=cluster, instruments=instruments) as app:
        (made,) = await app.submit(written(job("train", replicas=2, run_seconds="0.05")), "alice")
        await phase(app, "train", "Succeeded")
        await deleted(app, "train")
        await emitted(app)
        entries = len(await app.records(made["metadata"]["uid"]))
    await instruments.close()
    assert len(receiver.named("decide")) == entries
    assert isinstance(instruments, TracedInstruments)
    assert not instruments._last, "a job that is over is still remembered"
    return str(made["metadata"]["uid"])


# ---- what arrives ----


async def test_an_observation_its_entry_and_the_writes_that_follow_are_one_trace(receiver: Receiver) -> None:
    uid = await traced_life(receiver)
    (first,) = receiver.named("decide", entry_seq=1)
    (observed,) = [span for span in receiver.spans if span.id == first.parent]
    pods = receiver.named("write", write_verb="create")
    assert (observed.name, observed.attributes["jobledger.observation.type"]) == ("observe", "JobObserved")
    assert {pod.attributes["jobledger.write.object"].split()[0] for pod in pods} >= {"Pod", "Service"}
    for observation in (observed, first, *pods):
        assert (observation.trace, observation.job) == (first.trace, uid)
    assert {pod.parent for pod in pods} == {first.id}
    assert {pod.attributes["jobledger.entry.seq"] for pod in pods} == {1}
    assert first.attributes["jobledger.entry.events"][0] == "JobAdmitted"
    assert first.attributes["jobledger.job.phase"] == "Pending"


async def test_every_entry_has_the_observation_that_caused_it(receiver: Receiver) -> None:
    uid = await traced_life(receiver)
    spans = {span.id: span for span in receiver.spans}
    decided = receiver.named("decide", job_uid=uid)
    assert [span.attributes["jobledger.entry.seq"] for span in decided] == list(range(1, len(decided) + 1))
    for child in decided:
        cause = spans[child.parent]
        assert cause.name == "observe"
        assert (
            cause.attributes["jobledger.observation.type"] == child.attributes["jobledger.observation.type"]
        )


async def test_every_kind_of_write_says_what_it_writes_and_for_whom(receiver: Receiver) -> None:
    uid = await traced_life(receiver)
    decided = {span.id: span for span in receiver.named("decide")}
    writes = receiver.named("write", job_uid=uid)
    verbs = {write.attributes["jobledger.write.verb"] for write in writes}
    assert verbs >= {"create", "patch_status", "delete", "release", "emit"}
    for write in writes:
        if write.attributes["jobledger.write.verb"] != "emit" and write.parent:
            assert decided[write.parent].job == uid
    statuses = receiver.named("write", write_verb="patch_status")
    assert all(status.attributes["jobledger.entry.seq"] >= 1 for status in statuses)
    assert receiver.services == {"jobledger"}


async def test_spans_last_as_long_as_what_they_are_about(receiver: Receiver) -> None:
    began = time.monotonic()
    await traced_life(receiver)
    took = time.monotonic() - began
    assert all(0 <= span.seconds <= took for span in receiver.spans)


class Refusing(MemoryCluster):
    """Takes no Services."""

    async def create(self, manifest: dict[str, Any]) -> dict[str, Any]:
        if manifest["kind"] == "Service":
            raise Refused(422, "Invalid", "no services here")
        return await super().create(manifest)


async def test_a_write_that_was_refused_says_why(receiver: Receiver) -> None:
    instruments = instruments_of(os.environ)
    async with controlling(cluster=Refusing(admit=admit), instruments=instruments) as app:
        await app.submit(written(job("train")), "alice")
        await phase(app, "train", "Failed")
    await instruments.close()
    failed = [span for span in receiver.named("write") if span.failed]
    assert {span.attributes["error.type"] for span in failed} == {"Refused"}
    (refused,) = receiver.named("decide", observation_type="WriteRefused")
    assert [span.id for span in receiver.named("observe", observation_type="WriteRefused")] == [
        refused.parent
    ]


async def test_a_write_outside_of_any_job_is_a_trace_of_its_own(receiver: Receiver) -> None:
    instruments = instruments_of(os.environ)
    cluster = instruments.cluster(MemoryCluster())
    with pytest.raises(Missing):
        await cluster.delete(Ref("v1", "Pod", "default", "none"))
    await instruments.close()
    (only,) = receiver.spans
    assert (only.parent, only.job, only.failed) == (b"", "", True)


async def test_the_name_of_the_service_is_the_environments(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "training")
    await traced_life(receiver)
    assert receiver.services == {"training"}


async def test_observations_whose_entries_never_come_are_forgotten(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobledger.telemetry import spans
    from statemachine.ids import JobUid
    from statemachine.observations import JobGone
    from tests.support.logs import START

    monkeypatch.setattr(spans, "_REMEMBERED", 10)
    instruments = instruments_of(os.environ)
    assert isinstance(instruments, spans.TracedInstruments)
    taken: list[Any] = []

    async def take(observation: Any) -> None:
        taken.append(observation)

    sink = instruments.sink(take)
    for number in range(50):
        await sink(JobGone(job=JobUid(str(number)), at=START))
    assert len(taken) == 50
    assert len(instruments._observed) == 10
    await instruments.close()


async def test_a_collector_that_hangs_does_not_hold_up_the_end(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobledger.telemetry import spans

    release = threading.Event()
    monkeypatch.setattr(spans, "_CLOSING", 0.2)
    monkeypatch.setattr(receiver, "take", lambda _: release.wait(30))
    instruments = instruments_of(os.environ)
    with pytest.raises(Missing):
        await instruments.cluster(MemoryCluster()).delete(Ref("v1", "Pod", "default", "none"))
    async with asyncio.timeout(5):
        await instruments.close()
        await instruments.close()
    release.set()


# ---- whether there are any ----


def test_without_being_asked_for_nothing_of_it_is_loaded() -> None:
    program = (
        "import sys\n"
        "from jobledger.telemetry.tracing import instruments_of\n"
        "import jobledger.wiring\n"
        "instruments_of({})\n"
        "assert not any(name.partition('.')[0] == 'opentelemetry' for name in sys.modules)\n"
        "import jobledger.api\n"  # fastapi looks for the API, which does nothing without an SDK
        "assert not any(name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter')) for name in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


async def test_without_being_asked_for_nothing_is_wrapped() -> None:
    instruments = instruments_of({})
    cluster = MemoryCluster()

    async def sink(observation: Any) -> None:
        """Takes nothing."""

    assert type(instruments) is Instruments
    assert instruments.cluster(cluster) is cluster
    assert instruments.sink(sink) is sink


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://x/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318", "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " ", "OTEL_TRACES_EXPORTER": ""}, False),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, False),
    ],
)
def test_the_environment_says_whether_traces_are_wanted(environment: dict[str, str], expected: bool) -> None:
    assert wanted(environment) is expected


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        (
            {"OTEL_TRACES_EXPORTER": "console"},
            'OTEL_TRACES_EXPORTER is "console", but must be otlp or none',
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc", but traces are exported with http/protobuf only',
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"},
            'OTEL_EXPORTER_OTLP_ENDPOINT is "collector:4318", but must begin with http:// or https://',
        ),
    ],
)
def test_what_cannot_be_had_is_refused_in_a_sentence(environment: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"^{sentence}$"):
        instruments_of(environment)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with hidden(monkeypatch, "opentelemetry"), pytest.raises(ConfigError) as caught:
        instruments_of({"OTEL_TRACES_EXPORTER": "otlp"})
    assert str(caught.value) == (
        "traces are asked for with OTEL_TRACES_EXPORTER, but opentelemetry is not installed; "
        'install "jobledger[tracing]"'
    )


def test_what_the_environment_says_to_everybody_keeps_nobody_from_working(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4317"}
    assert type(instruments_of({**endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})) is Instruments
    with hidden(monkeypatch, "opentelemetry"):
        assert type(instruments_of(endpoint)) is Instruments


@contextmanager
def hidden(monkeypatch: pytest.MonkeyPatch, package: str) -> Iterator[None]:
    """The package cannot be imported."""
    with monkeypatch.context() as patch:
        for name in list(sys.modules):
            if name.partition(".")[0] == package or name == "jobledger.telemetry.spans":
                patch.delitem(sys.modules, name)
        patch.setattr(sys, "meta_path", [_Refuse(package), *sys.meta_path])
        yield


class _Refuse:
    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, *_: Any) -> None:
        if name.partition(".")[0] == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])
