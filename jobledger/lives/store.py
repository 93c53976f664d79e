"""The ledger of a store without a controller: read beside a running one, or when none runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from jobledger.jobs.attempts import Attempt, attempts
from jobledger.program.errors import UnknownJob, UnknownReplica
from jobledger.settings.locations import data_folder
from statemachine.ids import JobUid
from statemachine.kinds import meant_by
from statemachine.log.life import records_of, steps_of
from statemachine.log.port import EventLog
from statemachine.log.reader import Reader
from statemachine.state import JobState


class StoredLedger:
    """All jobs of a log, as it stands."""

    def __init__(self, store: Path, event_log: EventLog, reader: Reader) -> None:
        self.store, self.event_log = store, event_log
        self.states: list[JobState] = [reader.tracked(job).state for job in reader.jobs]

    def newest(self, namespace: str, name: str, kind: str = "") -> JobState:
        """The last job that had this name, deleted or not. Raises UnknownJob."""
        objects = {names.kind for names in meant_by(kind)}
        records = [
            state
            for state in self.states
            if (state.namespace, state.name) == (namespace, name)
            and (not kind or state.object_kind in objects)
        ]
        if not records:
            raise UnknownJob(namespace, name, sorted({state.name for state in self.states}))
        return records[-1]

    async def attempts(self, job: JobUid) -> list[Attempt]:
        """Every pod that the job has had, oldest first."""
        records = await records_of(self.event_log, job)
        return attempts(step.events for _, step in steps_of(job, records))

    def log_file(self, attempt: Attempt, container: str = "") -> Path:
        """What a container of the attempt's pod wrote, as a file of this machine. Raises UnknownReplica."""
        from k8s_bridge.kubelet.folders import DataFolder

        folder = DataFolder(data_folder(self.store)).existing(attempt.uid)
        about = folder.about() if folder else None
        if folder is None or about is None:
            raise UnknownReplica(
                f"the log of replica {attempt.replica}, attempt {attempt.number}, is not kept any more"
            )
        if container and container not in about.containers:
            raise UnknownReplica(
                f'replica {attempt.replica} has no container "{container}", it has {", ".join(about.containers)}'
            )
        name = container or about.containers[0]
        return folder.log(name, max(0, folder.restarts(name) - 1) if attempt.before else None)


@asynccontextmanager
async def reading(store: Path) -> AsyncIterator[StoredLedger]:
    """The ledger in `store`, read only. Raises StoreUnusable."""
    from statemachine.log.sqlite import SqliteLog

    event_log = await SqliteLog.open(store, read_only=True)
    try:
        reader = Reader()
        await reader.recover(event_log)
        yield StoredLedger(event_log.store.path, event_log, reader)
    finally:
        await event_log.close()
