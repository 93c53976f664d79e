"""`GET /v1/events` of a server whose log is in Kafka: all partitions, from any cursor on, and what comes.

It is read from the topic of public events.
"""

import asyncio
import json
from itertools import islice
from pathlib import Path

import pytest

from jobledger.client import events
from jobledger.settings.locations import socket_path
from statemachine.log.kafka.address import Address
from statemachine.log.port import EntryDraft
from tests.harness import program
from tests.integration.cli_words import Place, script
from tests.support.scenario import Story, workers
from tests.support.stores import filled

pytestmark = pytest.mark.integration


def ended(uid: str) -> Story:
    """A job that is gone with its pods."""
    return Story(workers(1), uid=uid).submit().all_pods("Running").delete().gone("worker-0")


def drafts(story: Story) -> list[EntryDraft]:
    return [EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)]


def test_a_reader_gets_all_events_of_all_partitions_from_every_cursor_on(
    tmp_path: Path, ledger_topics: Address
) -> None:
    store = tmp_path / "old.db"
    stories = [ended(f"aaaa-{number:04}") for number in range(8)]
    asyncio.run(filled(store, *(draft for story in stories for draft in drafts(story))))
    copied = program.run("log", "copy", f"sqlite://{store}", str(ledger_topics))
    assert copied.returncode == 0, copied.stderr
    place = Place(tmp_path)
    log = str(ledger_topics)
    exported = program.run("events", "export", "--to", "-", "--log", log)
    assert exported.returncode == 0, exported.stderr
    with place.server("--log", log):
        address = str(socket_path(place.store))
        lines = sorted(exported.stdout.splitlines())
        live = list(islice(events(address), len(lines)))  # as they come into the topic
        assert sorted(received.line.decode() for received in live) == lines
        assert {received.line for received in events(address, follow=False)} == {
            received.line for received in live
        }
        for number in (0, len(live) // 2, len(live) - 2):
            rest = {received.line for received in events(address, after=live[number].cursor, follow=False)}
            assert rest == {received.line for received in live[number + 1 :]}
        place.ok("submit", place.write("new.yaml", script("new", "print('done')")))
        created = next(events(address, {"type": "job.succeeded", "job": "new"}, after=live[-1].cursor))
        assert created.event["name"] == "new"
        assert json.loads(created.line)["type"] == "dev.jobledger.job.succeeded.v1"
