"""Copying a log: all that a reader comes to, once, wherever the copy was broken off, and nothing unseen."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from statemachine.errors import LogUnavailable
from statemachine.log.codec import encode
from statemachine.log.copying import NotTheSame, copy
from statemachine.log.entry import GENESIS
from statemachine.log.partitions import Merged, Partitions
from statemachine.log.port import DeadLetter, EntryDraft, Record
from statemachine.log.reader import Reader
from tests.support.logs import JOB, OTHER, START, entry, history, records
from tests.support.logs import said as announced
from tests.support.memory_log import MemoryLog


def two() -> Partitions:
    return Partitions([MemoryLog(), MemoryLog()], lambda job: int(job == OTHER))


async def filled() -> MemoryLog:
    log = MemoryLog()
    await log.append([*history(400), *history(3, OTHER)])
    return log


def said(records: list[Record]) -> list[tuple[str, int, bytes]]:
    return [(record.job, record.seq, record.body) for record in records]


async def test_every_entry_is_in_the_partition_of_its_job() -> None:
    source, target = await filled(), two()
    assert await copy(source, target) == (2, 403, 0, 0)
    assert said(await records(target.logs[0])) == said(await records(source))[:400]
    assert said(await records(target.logs[1])) == said(await records(source))[400:]


async def test_several_partitions_are_copied_into_one_log() -> None:
    source, target, back = await filled(), two(), Partitions([MemoryLog()])
    await copy(source, target)
    await copy(Merged(target), back)
    assert sorted(said(await records(back.logs[0]))) == sorted(said(await records(source)))


async def test_a_copy_that_was_broken_off_goes_on() -> None:
    class Failing(MemoryLog):
        appends = 0

        async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
            self.appends += 1
            if self.appends == 2:
                raise LogUnavailable("no space is left")
            return await super().append(drafts)

    source, target = await filled(), Partitions([Failing()])
    with pytest.raises(LogUnavailable):
        await copy(source, target)
    assert await copy(source, target) == (2, 403, 256, 0)
    assert await copy(source, target) == (2, 403, 403, 0)
    assert said(await records(target.logs[0])) == said(await records(source))


async def test_a_target_with_another_history_is_named() -> None:
    source, target = await filled(), two()
    await target.logs[0].append(
        [EntryDraft(JOB, 1, history(1)[0].body), EntryDraft(JOB, 2, b"something else")]
    )
    with pytest.raises(NotTheSame, match=f"job {JOB}: entry 2 is not the same"):
        await copy(source, target)
    assert len(await records(target.logs[0])) == 2, "nothing is written on top of it"
    foreign = two()
    await foreign.logs[1].append(history(1, OTHER))
    alone = MemoryLog()
    await alone.append(history(2))
    with pytest.raises(NotTheSame, match=f"job {OTHER}: entry 1"):
        await copy(alone, foreign)


async def test_what_no_reader_believes_is_left_behind_and_what_ends_a_history_is_not() -> None:
    source, target = MemoryLog(), Partitions([MemoryLog()])
    first, second = history(2)
    await source.append(
        [first, EntryDraft(JOB, 3, b"from nowhere"), EntryDraft(OTHER, 1, b"not an entry"), second]
    )
    await copy(source, target)
    assert [(record.job, record.seq) for record in await records(target.logs[0])] == [
        (JOB, 1),
        (OTHER, 1),
        (JOB, 2),
    ]
    left, right = Reader(), Reader()
    await left.recover(source)
    await right.recover(target.logs[0])
    assert left.quarantined == right.quarantined
    assert {job: left.tracked(job).seq for job in left.jobs} == {
        job: right.tracked(job).seq for job in right.jobs
    }


async def test_places_of_the_first_log_mean_nothing_in_the_other() -> None:
    source, target = MemoryLog(), two()
    placed = entry(JOB, 1, GENESIS, announced("hello")).changed(source=17)
    await source.append([EntryDraft(JOB, 1, encode(placed))])
    await copy(source, target)
    left, right = Reader(), Reader()
    await left.recover(source)
    await right.recover(target.logs[0])
    assert (left.tracked(JOB).source, right.tracked(JOB).source) == (17, 0)
    assert left.tracked(JOB).head == right.tracked(JOB).head


async def test_dead_letters_go_along_once_each_to_the_partition_of_their_job() -> None:
    source, target = MemoryLog(), two()
    same = DeadLetter(START, OTHER, b"\xff", "no")
    letters = [same, same, DeadLetter(START, JOB, b"{}", "why", retried_at=START)]
    for letter in letters[:2]:
        await source.add_dead_letter(letter)
    assert (await copy(source, target)).letters == 2
    await source.add_dead_letter(letters[2])
    for _ in range(2):
        assert (await copy(source, target)).letters == 3
    kept_letters = [[replace(kept, id=0) for kept in await log.dead_letters()] for log in target.logs]
    assert kept_letters == [letters[2:], letters[:2]]


async def test_of_two_equal_dead_letters_the_one_that_a_broken_copy_lacks_goes_along() -> None:
    source, target = MemoryLog(), two()
    letter = DeadLetter(START, OTHER, b"\xff", "no")
    await source.add_dead_letter(letter)
    await copy(source, target)
    await source.add_dead_letter(letter)
    for _ in range(2):
        assert (await copy(source, target)).letters == 2
    assert len(await target.logs[1].dead_letters()) == 2
