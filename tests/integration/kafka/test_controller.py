"""`jobledger controller --log kafka://…` as a process: what it says while the brokers are away, and how it ends."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.harness import wait_for
from tests.harness.fixtures import fresh_address, ledger_topics_on, own_kafka

pytestmark = pytest.mark.integration


class Engine:
    """A controller with the role of an engine alone; it needs no cluster."""

    def __init__(self, folder: Path, log: str) -> None:
        self._said = folder / "engine.log"
        command = [sys.executable, "-m", "jobledger", "controller", "--roles", "engine", "--log", log]
        env = {**os.environ, "JOBLEDGER_KAFKA__SESSION": "6"}
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [*command, "--listen", "127.0.0.1:0"], stdout=said, stderr=said, env=env
            )

    @property
    def said(self) -> str:
        return self._said.read_text(encoding="utf-8")

    def health(self) -> tuple[int, dict[str, Any]]:
        """What `/readyz` answers; nothing while it does not listen."""
        found = re.search(r"address +(http://\S+)", self.said)
        try:
            answer = httpx.get(f"{found[1]}/readyz" if found else "", timeout=10)
        except (httpx.HTTPError, httpx.UnsupportedProtocol):
            return 0, {}
        return answer.status_code, answer.json()

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


@pytest.mark.timeout(600)
def test_brokers_that_are_away_are_waited_for_at_the_start_and_later(tmp_path: Path) -> None:
    with own_kafka(tmp_path / "kafka") as kafka, ledger_topics_on(kafka) as address:
        kafka.stop(purge=False)
        with engine(tmp_path, str(address)) as found:
            found.becomes(503, "the log cannot be reached")
            kafka.start()
            found.becomes(200)
            kafka.kill()
            found.becomes(503, "the log cannot be reached")
            kafka.start()
            found.becomes(200)
            found.process.send_signal(signal.SIGTERM)
            assert found.process.wait(60) == 0
            assert "Traceback" not in found.said


def test_topics_that_are_not_there_end_it_with_a_sentence(tmp_path: Path) -> None:
    with (
        own_kafka(tmp_path / "kafka") as kafka,
        fresh_address(kafka) as address,
        engine(tmp_path, str(address)) as found,
    ):
        assert found.process.wait(150) != 0
        assert f"jobledger topics apply --log {address}" in found.said
        assert "Traceback" not in found.said
