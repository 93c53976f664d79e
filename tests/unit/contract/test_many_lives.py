"""Public events of jobs whose lives are drawn at random: valid, read by others alike, and the same from anywhere on.

Source: spec events.md, section 19, E2 and E3. At full size: 10,000 jobs, 1,000 restarts, other versions of Python.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings.kafka import KafkaMessage, from_kafka_event
from cloudevents.core.formats.json import JSONFormat
from jsonschema import Draft202012Validator

from projectors.contract.binding import record
from projectors.contract.catalogue import CATALOGUE, short_name
from projectors.contract.envelope import problem, structured
from projectors.contract.page import PublicEvent
from projectors.contract.schemas import schema
from projectors.sinks.resuming import PublicTail, beginning
from statemachine.ids import Position
from statemachine.log.port import EventLog
from tests.contract.lives import PUBLICATION, events_of
from tests.support.memory_log import MemoryLog
from tests.support.project_records import digest
from tests.support.pythons import others
from tests.support.random_lives import lives, mixed, stories
from tests.support.repetition import sized
from tests.support.seeds import chance
from tests.support.unindexed_log import Unindexed, saved

ROOT = Path(__file__).parents[3]
JOBS = sized(40, 10_000)
RESTARTS = sized(25, 1_000)


@cache
def validators() -> dict[str, Draft202012Validator]:
    """Type → the closed rendering of its schema, which knows every field."""
    return {described.name: Draft202012Validator(schema(described, closed=True)) for described in CATALOGUE}


def as_text(value: object) -> str:
    if hasattr(value, "strftime"):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # type: ignore[no-any-return]
    return str(value)


def assert_read_alike(event: PublicEvent, read: BaseCloudEvent) -> None:
    attributes = {name: as_text(value) for name, value in read.get_attributes().items()}
    assert attributes == {name: as_text(value) for name, value in event.attributes.items()}
    assert read.get_data() == json.loads(event.data)


def test_events_of_random_lives_are_valid_and_the_official_sdk_reads_them_alike_everywhere() -> None:
    json_format = JSONFormat()
    for life in lives(JOBS, chance(2)):
        for event in events_of(life):
            line = structured(event)
            assert problem(line) == ""
            validators()[short_name(str(event.attributes["type"]))].validate(json.loads(event.data))
            assert_read_alike(event, json_format.read(None, line))
            for key, value, said in (record(event), record(event, "structured")):
                assert_read_alike(event, from_kafka_event(KafkaMessage(dict(said), key, value)))


async def grown(log: MemoryLog, jobs: int) -> MemoryLog:
    random = chance(3)
    for draft in mixed(list(stories(jobs, random)), random):
        await log.append([draft])
    return log


async def behind(log: EventLog, position: Position) -> list[tuple[Position, bytes]]:
    """What a publisher that begins there makes of the rest of the log."""
    tail = PublicTail(log, PUBLICATION, beginning(PUBLICATION, position))
    taken = [published async for published in tail.more()]
    return [(one.position, structured(event)) for one in taken if one for event in one.events]


async def test_a_publisher_that_is_restarted_anywhere_makes_the_same_bytes() -> None:
    random, jobs = chance(31), 12
    indexed, unindexed = await grown(MemoryLog(), jobs), await grown(Unindexed(), jobs)
    whole, end = await behind(indexed, 0), await indexed.end()
    assert whole == await behind(indexed, 0)
    for _ in range(RESTARTS):
        position = random.randint(0, end)
        expected = [line for line in whole if line[0] > position]
        assert await behind(indexed, position) == expected
        unindexed.forget_snapshots()  # none are newer than what they say to cover: no engine goes back
        await saved(unindexed, random.randint(0, end))
        assert await behind(unindexed, position) == expected


def projected_by(python: Path | str, file: Path, **environment: str) -> str:
    """The digest that this interpreter comes to."""
    command = [str(python), "-m", "tests.support.project_records", str(file)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(command, cwd=ROOT, env=variables, check=True, capture_output=True, text=True).stdout


def test_every_process_makes_the_same_bytes_of_a_log_whatever_python_it_runs_on(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    random = chance(32)
    drafts = mixed(list(stories(sized(60, 2_000), random)), random)
    file.write_text("".join(json.dumps([draft.job, draft.body.decode()]) + "\n" for draft in drafts))
    expected = digest(file) + "\n"
    assert projected_by(sys.executable, file, PYTHONHASHSEED="4711", LC_ALL="C", TZ="Asia/Tokyo") == expected
    for python in others() if sized(False, True) else ():
        assert projected_by(python, file) == expected, python
