"""The file sink fed from a log: whatever happens to it, its files are the projection of the log, every event once."""

import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from jobledger.publishing.files import opened
from jobledger.publishing.source import Source
from projectors.contract.envelope import structured
from projectors.sinks.file import FileSink
from statemachine.errors import ConfigError
from statemachine.ids import JobUid
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft
from tests.contract.lives import PUBLICATION, identified
from tests.support.memory_log import MemoryLog
from tests.support.repetition import sized
from tests.support.scenario import Story, workers
from tests.support.seeds import chance
from tests.unit.contract.made import of_story

UIDS = ("a-1", "b-2", "a-3", "b-4")
SMALL = 6_000
"""Bytes that make a file full after a few events."""


def number_of(job: JobUid) -> int:
    return int(job.startswith("b"))


def stories() -> Sequence[Story]:
    return [Story(workers(2), uid=uid).submit().all_pods("Running").delete() for uid in UIDS]


EXPECTED = {
    uid: [structured(event) + b"\n" for event in of_story(story)]
    for uid, story in zip(UIDS, stories(), strict=True)
}


async def ledger(*, until: int = 999) -> Partitions:
    """Entries up to number `until` of each job; two jobs a partition."""
    logs = [MemoryLog(), MemoryLog()]
    for story in stories():
        for seq, body in enumerate(story.bodies[:until], 1):
            await logs[number_of(story.uid)].append([EntryDraft(story.uid, seq, body)])
    return Partitions(logs, number_of)


def sink_of(folder: Path, limit: int = SMALL) -> FileSink:
    return FileSink.open(folder, 2, number_of, limit)


async def fed(partitions: Partitions, sink: FileSink) -> int:
    """How many events the sink was given, up to the end of the log."""
    feeders = await Source(partitions, PUBLICATION, identified).feeders(sink)
    try:
        for feeder in feeders:
            await feeder.advance()
    finally:
        await sink.close()
    return sum(feeder.settled.total() for feeder in feeders)


def lines(folder: Path) -> list[bytes]:
    with opened(str(folder)) as read:
        return list(read)


async def test_files_hold_the_projection_partition_by_partition_and_are_rotated(tmp_path: Path) -> None:
    count = await fed(await ledger(), sink_of(tmp_path))
    assert count == sum(map(len, EXPECTED.values()))
    assert lines(tmp_path) == [line for uid in ("a-1", "a-3", "b-2", "b-4") for line in EXPECTED[uid]]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["events-1.jsonl", "events-2.jsonl"]


async def test_what_the_log_got_since_then_is_appended(tmp_path: Path) -> None:
    short = await ledger(until=1)
    first = await fed(short, sink_of(tmp_path))
    more = [draft for story in stories() for draft in _drafts(story)[1:]]
    for draft in more:
        await short.log_of(draft.job).append([draft])
    second = await fed(short, sink_of(tmp_path))
    assert (first > 0, second > 0) == (True, True)
    assert sorted(lines(tmp_path)) == sorted(line for job in EXPECTED.values() for line in job)
    assert await fed(short, sink_of(tmp_path)) == 0


def _drafts(story: Story) -> Sequence[EntryDraft]:
    return [EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)]


async def test_after_a_crash_at_any_byte_the_rest_is_appended(tmp_path: Path) -> None:
    partitions = await ledger()
    done = tmp_path / "done"
    await fed(partitions, sink_of(done, limit=2**30))
    text = (done / "events-1.jsonl").read_bytes()
    random = chance(20)
    drawn = (random.randrange(len(text)) for _ in range(sized(40, 500)))
    places = [0, 1, len(text) - 1, len(text), *drawn]
    for place in places:
        folder = tmp_path / "crashed"
        folder.mkdir()
        (folder / "events-1.jsonl").write_bytes(text[:place])
        await fed(partitions, sink_of(folder, limit=random.choice((SMALL, 2**30))))
        assert b"".join(lines(folder)) == text, place
        shutil.rmtree(folder)


async def test_a_file_that_was_begun_when_the_crash_came_is_gone_on_with(tmp_path: Path) -> None:
    partitions = await ledger()
    await fed(partitions, sink_of(tmp_path, limit=2**30))
    expected = lines(tmp_path)
    (tmp_path / "events-2.jsonl").write_bytes(b"")
    assert await fed(partitions, sink_of(tmp_path)) == 0
    (tmp_path / "events-2.jsonl").write_bytes(b'{"id":')
    assert await fed(partitions, sink_of(tmp_path)) == 0
    assert lines(tmp_path) == expected


async def test_a_full_disk_is_waited_for_and_leaves_no_part_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, waits, room = os.write, [], [100]

    def write(file: int, data: memoryview) -> int:
        """Writes what there is room for; then none is left until somebody waits."""
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(file, data[: room[0]])
        room[0] -= written
        return written

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        assert all(line.endswith(b"\n") for line in lines(tmp_path))
        room[0] = 2**20 if len(waits) > 2 else 50

    sink = sink_of(tmp_path)
    sink.sleep = sleep
    monkeypatch.setattr(os, "write", write)
    await fed(await ledger(), sink)
    assert waits == [5.0] * 3
    assert sorted(lines(tmp_path)) == sorted(line for job in EXPECTED.values() for line in job)


async def test_another_error_of_the_disk_ends_it_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_: int, __: memoryview) -> int:
        raise OSError(errno.EIO, "Input/output error")

    sink = sink_of(tmp_path)
    monkeypatch.setattr(os, "write", write)
    with pytest.raises(ConfigError, match=r"events-1\.jsonl cannot be written: Input/output error"):
        await fed(await ledger(), sink)


async def test_one_process_at_a_time_has_a_directory(tmp_path: Path) -> None:
    sink = sink_of(tmp_path)
    with pytest.raises(ConfigError, match="another process publishes to"):
        sink_of(tmp_path)
    await sink.close()
    await sink_of(tmp_path).close()


async def test_files_of_another_ledger_are_not_appended_to(tmp_path: Path) -> None:
    await fed(await ledger(), sink_of(tmp_path))
    before = lines(tmp_path)
    other = Partitions([MemoryLog(), MemoryLog()], number_of)
    await other.logs[0].append(
        [EntryDraft(JobUid("a-9"), 1, Story(workers(1), uid="a-9").submit().bodies[0])]
    )
    with pytest.raises(ConfigError, match="is of another ledger or a later release"):
        await fed(other, sink_of(tmp_path))
    assert lines(tmp_path) == before


async def test_nothing_is_written_behind_a_line_that_is_no_event(tmp_path: Path) -> None:
    (tmp_path / "events-1.jsonl").write_bytes(b"{}\n")
    with pytest.raises(ConfigError, match="a line that is no event"):
        sink_of(tmp_path)
