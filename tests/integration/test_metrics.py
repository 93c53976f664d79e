"""Metrics of the program as users start it: a kill -9 and a new start change no count about jobs."""

import signal
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from jobledger.telemetry.catalog import CATALOG
from tests.integration.cli_words import SECONDS, Place, script, wait_until

pytestmark = pytest.mark.integration

FROM_LOG = {
    series
    for about in CATALOG.values()
    if (about.group == "Jobs" and about.type != "gauge") or about.name == "jobledger_entries_total"
    for series in about.series
}

FAILS_ONCE = (
    "import os, pathlib, sys\n"
    "seen = pathlib.Path(os.environ['SEEN']); sys.exit(0 if seen.exists() else seen.write_text('x') and 3)"
)


def scraped(place: Place) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What Prometheus would read."""
    transport = httpx.HTTPTransport(uds=f"{place.store}.sock")
    with httpx.Client(transport=transport, base_url="http://localhost", timeout=SECONDS) as client:
        answer = client.get("/metrics")
    assert answer.status_code == 200, answer.text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def from_log(place: Place) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {sample: value for sample, value in scraped(place).items() if sample[0] in FROM_LOG}


def total(samples: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str) -> float:
    return sum(value for (family, _), value in samples.items() if family == f"jobledger_{name}")


def test_killed_and_started_again_the_counts_are_the_same(tmp_path: Path) -> None:
    place = Place(tmp_path)
    failing = script("fails-once", FAILS_ONCE, runPolicy={"backoffLimit": 2})
    (worker,) = failing["spec"]["replicaSpecs"]
    worker["restartPolicy"] = "OnFailure"
    variable = {"name": "SEEN", "value": str(tmp_path / "seen")}
    worker["template"]["spec"]["containers"][0]["env"] = [variable]
    file = place.write("jobs.yaml", failing, script("works", "pass"))
    with place.server() as server:
        place.ok("submit", file)
        place.ok("wait", "fails-once", "works", "--for=condition=Completed")
        wait_until(lambda: total(scraped(place), "jobs_finished_total") == 2)
        before = from_log(place)
        server.send_signal(signal.SIGKILL)
        server.wait(SECONDS)
    assert total(before, "restarts_total") == total(before, "replica_failures_total") == 1
    with place.server():
        after = from_log(place)
        # what the new process notices is in the log behind what the old one had
        assert after.pop(("jobledger_entries_total", frozenset())) >= before.pop(
            ("jobledger_entries_total", frozenset())
        )
        assert after == before
