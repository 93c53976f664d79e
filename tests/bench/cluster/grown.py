"""A controller that starts beside very many jobs: those that live have objects, the others are in its log alone.

The objects are made by the bare client, and the log by the real rules from what the API server then shows, so that a
controller which starts has nothing to write but what one new job asks for.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from typing import Final, NamedTuple

import httpx
from pydantic_core import to_json

from jobledger.wiring.keys import key_of
from jobledger.wiring.roles import ALL
from k8s_bridge import observe
from k8s_bridge.port import Change, Verb
from projectors.kube_events import READER
from statemachine.log.sqlite import SqliteLog
from statemachine.observations import Observation
from statemachine.phases import Phase
from statemachine.status import status
from tests.bench.cluster.accounts import Accounts
from tests.bench.cluster.api import MERGE, Api
from tests.bench.cluster.figures import OURS, Run, Sort
from tests.bench.cluster.idle import led
from tests.bench.cluster.load import at_once
from tests.bench.cluster.machine import cpu, peak_memory
from tests.bench.cluster.plane import Plane
from tests.bench.cluster.programs import TOGETHER, Process, log_of, running_parts
from tests.bench.cluster.raw import AT_ONCE, PATHS, objects, owners, with_settings
from tests.bench.cluster.scrape import total
from tests.bench.cluster.shapes import PODS_PATH, PYTORCH_TRAINING_JOB, Manifest
from tests.bench.cluster.view import View
from tests.bench.crowd import AlikeJobs, JobPast

_LATE: Final = "late"
"""The job that is made while no controller runs."""

_PATIENCE: Final = 600.0
_WORK: Final = ("jobledger_workqueue_depth", "jobledger_uncounted_entries", "jobledger_projector_lag_entries")
_LOOKS: Final = 3
"""In a row, a second apart, that find no work: then the controller is at rest."""

_KIND: Final = PYTORCH_TRAINING_JOB


async def grown(plane: Plane, live: int, ended: int, runs: int) -> Run:
    """A start beside so many jobs, and then `runs` jobs one after the other."""
    begun = time.perf_counter()
    async with Api.opened(plane.kubeconfig) as api, View.following(api, _KIND) as view:
        await _populate(api, view, live, plane.nodes)
        end = await _write(api, plane, ended)
        written = time.perf_counter() - begun
        await api.call("POST", _KIND.path, _KIND.manifest(_LATE))
        accounts = Accounts(plane, [])
        async with running_parts(TOGETHER, plane) as process:
            decided = asyncio.create_task(_decided(plane, end))
            pods = await view.until(lambda: len(view.pods[_LATE]) == _KIND.pods, _PATIENCE)
            accounts.note("start_to_effect", pods)
            accounts.note("start_to_decision", await decided)
            accounts.note("start_to_rest", await _at_rest(process))
            used, before = cpu(process.family()), await _totals(process)
            steps, notes = await led(api, view, _KIND, runs)
            after = await _totals(process)
            accounts.close()
            memory = peak_memory(process.family())
    figures = {**accounts.figures, **steps, "written": written, "cpu": used, "memory": memory}
    figures["requests"] = before.requests
    if entries := after.entries - before.entries:
        figures["decision"] = 1000 * (after.seconds - before.seconds) / entries
    return Run(OURS, Sort.GROWN, live, figures, notes=notes)


# ---- what is there before the controller ----------------------------------------------------------------------


async def _populate(api: Api, view: View, live: int, nodes: int) -> None:
    """So many jobs exist, and all their pods run."""
    made = await owners(api, _KIND, live)
    children = [child for job in made for child in objects(job) if child["kind"] != "Event"]
    numbers = cycle(range(1, nodes + 1))
    for pod in (child for child in children if child["kind"] == "Pod"):
        pod["spec"]["nodeName"] = f"node-{next(numbers)}"  # a scheduler would take ten minutes for 40,000
    requests = [(PATHS[child["kind"]], to_json(child)) for child in children]
    await at_once([partial(api.send, "POST", path, body) for path, body in requests], AT_ONCE)
    pods = _KIND.pods * live
    if await view.until(lambda: view.phases["Running"] >= pods, _PATIENCE + pods / 10) is None:
        raise RuntimeError(f"{view.phases['Running']} of {pods} pods run, and no more of them")


async def _write(api: Api, plane: Plane, ended: int) -> int:
    """The log has the jobs, behind `ended` others that are gone, and their statuses are shown. Its last position."""
    store = log_of(plane)
    log = await SqliteLog.open(store, key=key_of(None, store, ALL))
    try:
        if ended:
            await AlikeJobs.gone().write(log, range(ended))
        lives = [life async for life in _lives(api)]
        end = await log.end()
        for some in (lives[start : start + 500] for start in range(0, len(lives), 500)):
            end = (await log.append([draft for life in some for draft in life.drafts]))[-1].position
        await log.save_snapshots(end, [life.snapshot() for life in lives])
        await log.save_checkpoint(READER, end)
    finally:
        await log.close()
    calls = [
        partial(
            api.call, "PATCH", f"{_KIND.path}/{life.state.name}/status", {"status": status(life.state)}, MERGE
        )
        for life in lives
    ]
    await at_once(calls)
    return end


async def _lives(api: Api) -> AsyncIterator[JobPast]:
    """The past of each job that the API server has, by the real rules."""
    pods: dict[str, list[Manifest]] = defaultdict(list)
    async for pod in api.listed(PODS_PATH):
        pods[pod["metadata"]["ownerReferences"][0]["uid"]].append(pod | {"apiVersion": "v1", "kind": "Pod"})
    async for job in api.listed(_KIND.path):
        job |= {"apiVersion": _KIND.api_version, "kind": _KIND.kind}
        life = JobPast(job["metadata"]["uid"], _observations([job, *pods[job["metadata"]["uid"]]]))
        assert life.state.phase is Phase.RUNNING
        yield life


def _observations(things: Iterable[Manifest]) -> Iterator[Observation]:
    for thing in things:
        yield from map(with_settings, observe.observe(Change(Verb.ADDED, thing, datetime.now(UTC))))


# ---- how far the controller is --------------------------------------------------------------------------------


async def _decided(plane: Plane, end: int) -> float:
    """When the log had grown beyond `end`."""
    log = await SqliteLog.open(log_of(plane), read_only=True)
    try:
        async with asyncio.timeout(_PATIENCE):
            while await log.end() <= end:  # noqa: ASYNC110 - another process is waited for
                await asyncio.sleep(0.02)
        return time.perf_counter()
    finally:
        await log.close()


async def _at_rest(process: Process) -> float:
    """When no job waited for a visit any more, and counters and views held every entry."""
    since, looks = 0.0, 0
    async with asyncio.timeout(_PATIENCE):
        while looks < _LOOKS:
            now = time.perf_counter()
            is_idle = (await _totals(process)).waiting == 0
            since, looks = (since or now, looks + 1) if is_idle else (0.0, 0)
            await asyncio.sleep(1)
    return since


class _Totals(NamedTuple):
    """Counters of a controller."""

    waiting: float
    """Jobs that wait for a visit, and entries that are not counted or that a view has not worked through."""
    requests: float
    seconds: float
    """Of all observations that became entries, until these were durable."""
    entries: float


async def _totals(process: Process) -> _Totals:
    async with httpx.AsyncClient(timeout=60) as http:
        text = (await http.get(process.metrics[0])).raise_for_status().text
    return _Totals(
        sum(map(partial(total, text), _WORK)),
        total(text, "jobledger_api_requests_total"),
        total(text, "jobledger_observation_to_entry_seconds_sum"),
        total(text, "jobledger_observation_to_entry_seconds_count"),
    )
