"""Metrics and traces of a controller on a real API server."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from jobledger.telemetry.catalog import CATALOG
from tests.harness import ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type
from tests.support.otlp import Receiver, Span, receiving

pytestmark = pytest.mark.integration

KIND = "PyTorchTrainingJob"

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.endpoint)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")  # milliseconds
        yield server


@pytest.fixture
def controller(simulated: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[ControllerProcess]:
    with ControllerProcess(simulated, tmp_path, "--namespaces", namespace) as running:
        yield running


def scraped(controller: ControllerProcess) -> Samples:
    """What Prometheus reads of the controller; nothing while it does not answer."""
    addresses = re.findall(r"address +(http://\S+)", controller.said)
    if not addresses:
        return {}
    try:
        answer = httpx.get(f"{addresses[-1]}/metrics", timeout=10, trust_env=False)
    except httpx.TransportError:
        return {}
    if answer.status_code != 200:
        return {}
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, /, **labels: str) -> float | None:
    return samples.get((f"jobledger_{name}", frozenset(labels.items())))


def of_jobs(samples: Samples) -> Samples:
    counted = {
        series
        for about in CATALOG.values()
        if about.group == "Jobs" and about.type != "gauge"
        for series in about.series
    }
    return {sample: count for sample, count in samples.items() if sample[0] in counted}


def succeeded(controller: ControllerProcess) -> Samples | None:
    """The samples, once a job has succeeded."""
    samples = scraped(controller)
    return samples if value(samples, "jobs_finished_total", kind=KIND, result="Succeeded", cause="") else None


def test_what_a_controller_does_shows_in_its_metrics_and_survives_its_death(
    controller: ControllerProcess, simulated: ControlPlane, namespace: str
) -> None:
    jobs = Jobs(simulated, namespace)
    jobs.apply(job("train", replica_type("worker", 2, restartPolicy="OnFailure")))
    jobs.wait("train", "phase", "Running", within=240)
    jobs.end(f"{jobs.base('train')}-worker-1", 137)
    wait_for("a restart", lambda: value(scraped(controller), "restarts_total", kind=KIND, cause=CAUSE), 90)
    jobs.wait("train", "backoffCount", 1)
    jobs.wait("train", "aggregate.running", 2, within=240)
    for index in range(2):
        jobs.end(f"{jobs.base('train')}-worker-{index}")
    jobs.wait("train", "phase", "Succeeded", within=240)
    samples = wait_for("the end", lambda: succeeded(controller))

    assert value(samples, "leader") == 1
    for resource in (KIND, "Pod", "Service"):
        assert value(samples, "watch_synced", resource=resource) == 1
        silence = value(samples, "watch_silence_seconds", resource=resource)
        assert silence is not None
        assert 0 <= silence < 100
    sent = {dict(labels)["method"] for name, labels in samples if name == "jobledger_api_requests_total"}
    assert sent >= {"GET", "WATCH", "POST", "PATCH"}
    assert value(samples, "evidence_orphans") == 0
    assert value(samples, "replica_failures_total", kind=KIND, cause=CAUSE) == 1
    starts = value(samples, "job_start_seconds_count", kind=KIND)
    assert starts == value(samples, "job_duration_seconds_count", kind=KIND, result="Succeeded") == 1

    controller.kill()
    controller.start()
    again = wait_for("the same controller", lambda: succeeded(controller))
    assert of_jobs(again) == of_jobs(samples)


CAUSE = "application exit"
"""Of exit code 137 without another sign of why: it is not guessed from that."""


def test_from_the_job_to_its_pods_it_is_one_trace(
    receiver: Receiver, controller: ControllerProcess, simulated: ControlPlane, namespace: str
) -> None:
    jobs = Jobs(simulated, namespace)
    jobs.apply(job("train", replica_type("worker", 2)))
    jobs.wait("train", "phase", "Running", within=240)
    uid = jobs.get("train")["metadata"]["uid"]
    pods = wait_for("spans of both pods", lambda: _both(receiver, uid))
    (first,) = receiver.named("decide", job_uid=uid, entry_seq=1)
    (observed,) = [span for span in receiver.spans if span.id == first.parent]
    assert {observation.trace for observation in (*pods, observed)} == {first.trace}
    assert {pod.parent for pod in pods} == {first.id}
    wait_for("the span of a status", lambda: receiver.named("write", job_uid=uid, write_verb="patch_status"))
    assert controller.stop() == 0


def _both(receiver: Receiver, uid: str) -> list[Span] | None:
    both = [
        span
        for span in receiver.named("write", job_uid=uid, write_verb="create")
        if span.attributes["jobledger.write.object"].startswith("Pod ")
    ]
    return both if len(both) == 2 else None
