"""`jobledger controller --log kafka://…` as a process: what it says while the brokers are away, and how it ends.

It has a real start, as the one engine of the tests that users start like this.
"""

import asyncio
import os
import re
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from statemachine.log.kafka.address import Address
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.observations import Observation
from tests.harness import program, wait_for
from tests.harness.broker import Kafka
from tests.harness.fixtures import LEDGER_PARTITIONS, fresh_address, ledger_topics_on
from tests.support.http import PLAIN
from tests.support.scenario import Story, workers

pytestmark = pytest.mark.integration


class Engine:
    """A controller with the role of an engine alone; it needs no cluster."""

    def __init__(self, folder: Path, log: str) -> None:
        self._said = folder / "engine.log"
        self.began = time.time()
        words = ["controller", "--roles", "engine", "--log", log, "--listen", "127.0.0.1:0"]
        env = {**os.environ, "JOBLEDGER_KAFKA__SESSION": "6"}
        with self._said.open("wb") as said:
            self.process = program.start(*words, stdout=said, stderr=said, env=env, real=True)

    @property
    def said(self) -> str:
        return self._said.read_text(encoding="utf-8")

    def get(self, path: str) -> httpx.Response | None:
        """What it answers; nothing while it does not listen."""
        match = re.search(r"address +(http://\S+)", self.said)
        try:
            return PLAIN.get(f"{match[1]}{path}" if match else "", timeout=10)
        except (httpx.HTTPError, httpx.UnsupportedProtocol):
            return None

    def health(self) -> tuple[int, dict[str, Any]]:
        """What `/readyz` answers; nothing while it does not listen."""
        answer = self.get("/readyz")
        return (answer.status_code, answer.json()) if answer else (0, {})

    def metrics(self) -> dict[str, float]:
        """What `/metrics` answers, by name, those of several labels added up; nothing while it does not listen."""
        values: defaultdict[str, float] = defaultdict(float)
        answer = self.get("/metrics")
        for family in text_string_to_metric_families(answer.text if answer else ""):
            for sample in family.samples:
                values[sample.name.removeprefix("jobledger_")] += sample.value
        return values

    def becomes(self, status: int, says: str = "") -> None:
        def look() -> bool:
            code, body = self.health()
            return code == status and says in str(body)

        wait_for(f"readyz is {status} {says}: {self.health()} {self.said}", look, 60)


@contextmanager
def engine(folder: Path, log: str) -> Iterator[Engine]:
    started = Engine(folder, log)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_brokers_that_are_away_are_waited_for_at_the_start_and_later(
    killable_kafka: Kafka, tmp_path: Path
) -> None:
    kafka = killable_kafka
    with ledger_topics_on(kafka) as address:
        kafka.stop(purge=False)
        with engine(tmp_path, str(address)) as deciding:
            deciding.becomes(503, "the log cannot be reached")
            kafka.start()
            deciding.becomes(200)
            kafka.kill()
            deciding.becomes(503, "the log cannot be reached")
            kafka.start()
            deciding.becomes(200)
            deciding.process.send_signal(signal.SIGTERM)
            assert deciding.process.wait(60) == 0
            assert "Traceback" not in deciding.said


def test_topics_that_are_not_there_end_it_with_a_sentence(kafka: Kafka, tmp_path: Path) -> None:
    with fresh_address(kafka) as address, engine(tmp_path, str(address)) as deciding:
        assert deciding.process.wait(150) != 0
        assert f"jobledger topics apply --log {address}" in deciding.said
        assert "Traceback" not in deciding.said


# ---- metrics -----------------------------------------------------------------------------------------------------


def lives(jobs: int) -> list[Observation]:
    """Of each job four observations, all of which change something."""
    stories = [
        Story(workers(1), uid=f"job-{number}").submit().at(5).all_pods("Running") for number in range(jobs)
    ]
    return [entry.cause for story in stories for entry in story.entries]


def put(address: Address, observations: list[Observation]) -> None:
    async def put_all() -> None:
        outbox = await KafkaOutbox.open(address)
        try:
            await outbox.put(observations)
        finally:
            await outbox.close()

    asyncio.run(put_all())


def test_metrics_say_what_waits_in_the_partitions_and_what_was_decided(
    ledger_topics: Address, tmp_path: Path
) -> None:
    with engine(tmp_path, str(ledger_topics)) as deciding:
        wait_for("all is owned", lambda: deciding.metrics().get("partitions_owned") == LEDGER_PARTITIONS, 60)
        before = deciding.metrics()
        assert before["partitions"] == LEDGER_PARTITIONS
        assert before["observations_waiting"] == before["observations_total"] == 0
        assert before["partition_takeovers_total"] == LEDGER_PARTITIONS
        assert before["last_takeover_timestamp_seconds"] > deciding.began
        deciding.process.send_signal(signal.SIGSTOP)
        story = lives(1000)
        put(ledger_topics, story)
        deciding.process.send_signal(signal.SIGCONT)
        waited = []

        def decided() -> bool:
            now = deciding.metrics()
            waited.append(now["observations_waiting"])
            return now["observations_total"] >= len(story)

        wait_for("all is decided", decided, 60)
        after = deciding.metrics()
    assert max(waited) > 0, waited
    assert after["observations_waiting"] == 0
    assert after["observations_total"] == after["observation_to_entry_seconds_count"] == len(story)
    assert after["worker_restarts_total"] == after["dead_letters_written_total"] == 0
