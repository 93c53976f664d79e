"""The limit: how fast a bare client creates the same objects on the same server, scheduler and nodes at work.

The objects are what the real rules make of real jobs, built beforehand; only sending them is timed.
"""

import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pydantic_core import to_json

from jobledger.settings.sections import ClusterSettings
from k8s_bridge import observe
from k8s_bridge.port import EVIDENCE, Change, Verb
from statemachine.decide import decide
from statemachine.desired import desired
from statemachine.events import Announced
from statemachine.evolve import fold
from statemachine.ids import JobUid
from statemachine.observations import JobObserved, Observation
from statemachine.state import JobState
from tests.bench.cluster.accounts import Accounts
from tests.bench.cluster.api import Api
from tests.bench.cluster.figures import RAW, Run, Sort
from tests.bench.cluster.load import at_once
from tests.bench.cluster.plane import Plane
from tests.bench.cluster.shapes import NAMESPACE, PODS_PATH, Manifest, Shape
from tests.bench.cluster.view import View

AT_ONCE: Final = 64
"""Requests at a time. Source: raw_api, more gave no more."""

PATHS: Final = {
    "Pod": PODS_PATH,
    "Service": f"/api/v1/namespaces/{NAMESPACE}/services",
    "Event": f"/api/v1/namespaces/{NAMESPACE}/events",
}


async def bare_client(plane: Plane, shape: Shape, sort: Sort, jobs: int) -> Run:
    """The children and Events of so many jobs of jobledger's kind, from the first request to the last answer."""
    async with Api.opened(plane.kubeconfig) as api, View.following(api, shape) as view:
        jobs_made = await owners(api, shape, jobs)
        requests = [
            (PATHS[manifest["kind"]], to_json(manifest)) for owner in jobs_made for manifest in objects(owner)
        ]
        await plane.settle()
        accounts = Accounts(plane, [])
        await at_once([partial(api.send, "POST", path, body) for path, body in requests], AT_ONCE)
        seconds = time.perf_counter() - accounts.began
        pods = shape.pods * jobs
        accounts.note("pods_exist", await view.until(lambda: view.pods_ever >= pods, 60 + pods / 10))
        accounts.note(
            "pods_running", await view.until(lambda: view.phases["Running"] >= pods, 600 + pods / 10)
        )
        accounts.close()
    accounts.figures["children_per_second"] = shape.children * jobs / seconds
    accounts.figures["writes"] = len(requests) / jobs
    a_job = Counter(f"POST {path.rpartition('/')[2]}" for path, _ in requests)
    requests_a_job = {key: count / jobs for key, count in sorted(a_job.items())} if sort is Sort.MANY else {}
    return Run(RAW, sort, jobs if sort is Sort.MANY else shape.pods, accounts.figures, requests_a_job)


async def owners(api: Api, shape: Shape, jobs: int) -> list[Manifest]:
    """Job objects that exist: the garbage collector would take children of any other."""
    made: list[Manifest] = []

    async def create(number: int) -> None:
        made.append(await api.call("POST", shape.path, shape.manifest(f"job-{number}")))

    await at_once([partial(create, number) for number in range(jobs)])
    return made


def objects(owner: Manifest) -> Iterator[Manifest]:
    """What jobledger creates for the job until it runs, in that order."""
    story = _Story(owner)
    story.see(owner)
    children = [child.build() for child in desired(story.state)]
    yield from story.said()
    for child in children:
        if child["kind"] == "Pod":
            child["metadata"]["finalizers"] = [EVIDENCE]
        yield child
    for number, child in enumerate(children):
        if child["kind"] == "Pod":
            story.see(_running(child, f"{owner['metadata']['uid']}-{number}"))
    yield from story.said()


def with_settings(observation: Observation) -> Observation:
    """As a bridge says it."""
    if not isinstance(observation, JobObserved):
        return observation
    return observation.changed(settings=ClusterSettings().of_jobs())


class _Story:
    """A job's life under the real rules, and the Events that come of it."""

    def __init__(self, owner: Manifest) -> None:
        self._owner = owner
        self.state = JobState(JobUid(owner["metadata"]["uid"]))
        self._announced: list[Announced] = []
        self._number = 0

    def see(self, thing: Manifest) -> None:
        for observation in observe.observe(Change(Verb.MODIFIED, thing, datetime.now(UTC))):
            events = decide(self.state, with_settings(observation))
            self.state = fold(self.state, events)
            self._announced += [event for event in events if isinstance(event, Announced)]

    def said(self) -> Iterator[Manifest]:
        """The Events of what was announced since the last call."""
        for announcement in self._announced:
            self._number += 1
            yield _event(self._owner, announcement, self._number)
        self._announced = []


def _running(pod: Manifest, uid: str) -> Manifest:
    container = {"name": "pytorch", "ready": True, "state": {"running": {}}}
    status = {"phase": "Running", "containerStatuses": [container]}
    return {**pod, "metadata": {**pod["metadata"], "uid": uid}, "status": status}


def _event(owner: Manifest, said: Announced, number: int) -> dict[str, Any]:
    meta, at = owner["metadata"], datetime.now(UTC).isoformat(timespec="seconds")[:19] + "Z"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{meta['name']}.{number}", "namespace": NAMESPACE},
        "involvedObject": {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": meta["name"],
            "namespace": NAMESPACE,
            "uid": meta["uid"],
        },
        "reason": said.reason,
        "message": said.message,
        "type": said.level,
        "source": {"component": "jobledger"},
        "reportingComponent": "jobledger",
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
