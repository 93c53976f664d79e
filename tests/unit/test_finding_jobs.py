"""Which job is meant, and how much of a log is read to tell it."""

from collections.abc import AsyncIterator, Sequence

import pytest

from jobledger.lives.history import JobHistory, find
from jobledger.lives.rendering import AnswerForm, why_answer
from jobledger.program.errors import NotPossible, UnknownJob
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.partitions import Merged, Partitions
from statemachine.log.port import EntryDraft, Record
from statemachine.log.reader import Reader
from tests.support.logs import accepted, admitted, at, chain
from tests.support.memory_log import MemoryLog

OLD, NEW, FAR = (JobUid(f"{letter * 8}-0000-4000-8000-000000000001") for letter in "abc")


class Counted(MemoryLog):
    """Counts the records that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See EventLog."""
        async for batch in super().scan(after, job=job, after_seq=after_seq):
            self.given += len(batch)
            yield batch


def lives() -> list[EntryDraft]:
    return [
        *chain(admitted("train", when=at(1)), accepted(1), job=OLD),
        *chain(admitted("train", when=at(9)), accepted(1), accepted(2), job=NEW),
        *chain(admitted("train", "team-b", when=at(20)), job=FAR),
    ]


async def filled(log: MemoryLog, drafts: Sequence[EntryDraft]) -> MemoryLog:
    await log.append(drafts)
    return log


async def asked(log: MemoryLog, job: str, uid: str = "") -> JobHistory:
    return await find(log, job, namespace="team-a", uid=uid)


async def test_of_a_log_that_finds_jobs_only_the_entries_of_the_one_that_is_meant_are_read() -> None:
    log = Counted()
    await filled(log, lives())
    life = await asked(log, "train")
    assert (life.job.uid, log.given) == (NEW, 3)
    assert "this is the newest" in life.note
    assert why_answer(life, AnswerForm()).text


@pytest.mark.parametrize(
    ("job", "uid", "meant"),
    [
        ("train", "", NEW),
        ("train", OLD[:4], OLD),
        ("team-b/train", "", FAR),
        (OLD, "", OLD),
        (FAR[:4], "", FAR),
        ("anything", FAR, FAR),
    ],
)
async def test_the_same_job_is_meant_whether_first_entries_are_looked_at_or_everything(
    job: str, uid: str, meant: JobUid
) -> None:
    log = await filled(MemoryLog(), lives())
    without = await filled(Unindexed(), lives())
    assert [(await asked(one, job, uid)).job.uid for one in (log, without)] == [meant, meant]
    notes = {(await asked(one, job, uid)).note for one in (log, without)}
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("job", "uid", "kind"),
    [("strain", "", UnknownJob), ("train", "1234", UnknownJob), ("train", "", NotPossible)],
)
async def test_who_is_not_there_or_not_named_well_is_said_in_the_same_words(
    job: str, uid: str, kind: type[Exception]
) -> None:
    twins = [
        *chain(admitted("train", when=at(1)), job=OLD),
        *chain(admitted("train"), job=JobUid(OLD[:-1] + "2")),
    ]
    uid = uid or (OLD[:8] if kind is NotPossible else "")
    said = set()
    for log in (MemoryLog(), Unindexed()):
        await filled(log, twins)
        with pytest.raises(kind) as refused:
            await asked(log, job, uid)
        said.add(str(refused.value))
    assert len(said) == 1


async def test_a_job_of_which_a_snapshot_alone_is_left_is_still_the_newest_of_its_name() -> None:
    log = await filled(MemoryLog(), lives())
    reader = Reader()
    await reader.recover(log)
    lost = await filled(MemoryLog(), [draft for draft in lives() if draft.job != NEW])
    await lost.save_snapshots(1, reader.unsaved())
    life = await asked(lost, "train")
    assert life.job.uid == NEW
    assert life.read().doubt == "the log holds none of its entries, only its state as saved after entry 3"


class Unindexed(MemoryLog):
    """A log that finds no jobs, as Kafka."""

    @property
    def finds_jobs(self) -> bool:
        """See ReadableLog."""
        return False

    async def first_records(self, text: str) -> None:
        """See ReadableLog."""


async def test_of_several_partitions_only_what_is_behind_their_snapshots_is_folded_to_find_a_job() -> None:
    logs = [Counted(), Counted()]
    partitions = Partitions(logs, lambda job: int(job == NEW))
    for log, uids in zip(logs, ((OLD, FAR), (NEW,)), strict=True):
        await filled(log, [draft for draft in lives() if draft.job in uids])
        reader = Reader()
        await reader.recover(log)
        await log.save_snapshots(reader.position, reader.unsaved())
        log.given = 0
    reader = await Merged(partitions).recovered()  # type: ignore[assignment]
    assert [reader.tracked(job).seq for job in (OLD, NEW, FAR)] == [2, 3, 1]
    assert [log.given for log in logs] == [0, 0]
    assert (await find(Merged(partitions), "train", namespace="team-a", uid="")).job.uid == NEW
