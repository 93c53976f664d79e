"""What a job costs that just runs: the controller's memory over ten thousand of them."""

import asyncio
import gc
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Final

from jobledger.wiring import Controller, running
from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Manifest, Ref, Verb
from projectors.kube_events import READER
from projectors.workqueue import WorkQueue
from statemachine.decide import POLICY, decide
from statemachine.desired import desired
from statemachine.engine.clock import WallClock
from statemachine.evolve import fold
from statemachine.log.codec import encode, entry_hash
from statemachine.log.entry import GENESIS, Entry
from statemachine.log.port import EntryDraft
from statemachine.phases import Phase
from statemachine.state import JobState
from statemachine.status import status
from tests.bench.histories import START, job_manifest
from tests.bench.results import Result
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.sim_pods import SimStep, moved

_JOBS: Final = 10_000


def idle_jobs() -> Iterator[Result]:
    """KB a job of four running pods, of all that a controller holds at rest; the cluster's own share is not counted.

    Garbage that nobody has collected counts, as it does in a controller; the note says how much there is of it.
    Nothing is left to be written, so that nothing is added to the cluster while memory is traced.
    """
    kilobytes, collected = asyncio.run(_measure(_JOBS))
    note = f"{_JOBS:,} jobs, 4 running pods each; {kilobytes - collected:.1f} of it in cycles"
    yield Result("memory of an idle job", "KB", (kilobytes,), 20, "most", note)


async def _measure(jobs: int) -> tuple[float, float]:
    """KB a job, and how much of it is left when garbage was collected."""
    log, cluster = MemoryLog(), MemoryCluster(script=lambda _: ())
    for number in range(jobs):
        await log.append(list(_run_up(cluster, f"job-{number}")))
    end = await log.end()
    await log.save_checkpoint(READER, end)
    gc.collect()
    tracemalloc.start()
    try:
        controller = controller_of(log, cluster, WallClock())
        async with running(controller):
            await _rest(controller)
            held, _ = tracemalloc.get_traced_memory()
            gc.collect()
            left, _ = tracemalloc.get_traced_memory()
            assert await log.end() == end, "the jobs were not at rest"
            visits = sum(queue.visits for queue in _queues(controller))
            assert visits >= 2 * jobs, "not every job was visited"
    finally:
        tracemalloc.stop()
    await cluster.close()
    return held / jobs / 1000, left / jobs / 1000


def _run_up(cluster: MemoryCluster, name: str) -> Iterator[EntryDraft]:
    """The entries of a job that runs, and its objects in the cluster."""
    stored = cluster.objects.create(job_manifest(name))
    state, head, seq = JobState(stored["metadata"]["uid"]), GENESIS, 0
    for change in _changes(cluster, stored):
        for observation in observe(change):
            events = decide(state, observation)
            seq += 1
            entry = Entry(
                job=state.uid,
                seq=seq,
                prev=head,
                policy=POLICY,
                seen_at=observation.at,
                cause=observation,
                events=events,
            )
            body = encode(entry)
            yield EntryDraft(state.uid, seq, body)
            state, head = fold(state, events), entry_hash(body)
    assert state.phase is Phase.RUNNING
    cluster.objects.patch_status(Ref.of(stored), state.uid, status(state), seq)


def _changes(cluster: MemoryCluster, job: Manifest) -> Iterator[Change]:
    """The job, and its pods when they run."""
    yield Change(Verb.ADDED, job, START)
    state = JobState(job["metadata"]["uid"])
    for observation in observe(Change(Verb.ADDED, job, START)):
        state = fold(state, decide(state, observation))
    for child in desired(state):
        made = cluster.objects.create(child.build())
        if child.kind == "Pod":
            running_pod = moved(made, SimStep(0.0, "Running"), START)
            cluster.objects.set_status(Ref.of(made), made["metadata"]["uid"], running_pod)
            yield Change(Verb.MODIFIED, cluster.objects.get(Ref.of(made)), START)


def _queues(controller: Controller) -> Iterable[WorkQueue]:
    return controller.queues.values()


async def _rest(controller: Controller) -> None:
    """The list has been read, and every job has been visited."""
    while controller.bridge is None or not controller.bridge.progress.synced:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    while any(queue.depth or queue.pulse().busy for queue in _queues(controller)):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
