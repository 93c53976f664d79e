"""The overview of a job: what it says of placing, launching and conditions, and the events of all its objects."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from jobledger.console.details.overview import group_phase, importance
from jobledger.console.details.point_in_time import by_change
from jobledger.service.app import App
from k8s_bridge.port import JobEvent, Ref
from statemachine.kinds import KINDS, KNOWN
from statemachine.state import ChildState
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.test_cluster_guard import both, only
from tests.unit.api.words import app_in_memory, job, phase, until, written
from tests.unit.console.test_details_pages import PATH, browsing, one_job, text
from tests.unit.console.test_details_rights import alice

HTMX = {"HX-Request": "true"}
AT = datetime(2024, 5, 17, 9, 30, tzinfo=UTC)


async def pods(app: App) -> list[dict[str, Any]]:
    uid = (await app.job("default", "train"))["metadata"]["uid"]
    return [child for child in await app.cluster.children("default", uid) if child["kind"] == "Pod"]


async def happens(app: App, pod: dict[str, Any], reason: str, after: int = 0) -> None:
    meta = pod["metadata"]
    name, at = f"{meta['name']}.{reason}", AT + timedelta(seconds=after)
    event = JobEvent(Ref.of(pod), meta["uid"], name, reason, f"said of {meta['name']}", "Warning", at)
    await cast(MemoryCluster, app.cluster).emit(event)


# ---- events ------------------------------------------------------------------------------------------------


async def test_detailed_events_are_those_of_the_pods_too() -> None:
    async with one_job() as (app, client):
        for number, pod in enumerate(await pods(app)):
            await happens(app, pod, f"BackOff{number}", number)
        assert "BackOff" not in await text(client, PATH)
        page = await text(client, f"{PATH}?events=all")
        assert page.index("BackOff1") < page.index("BackOff0")  # the newest first
        assert re.search(r'<input type="checkbox" id="detailed-events"[^>]* checked>', page)
        assert "Created" in page  # the job's own stay
        assert f'hx-get="{PATH}?events=all"' in page  # it refreshes itself as it is


async def test_detailed_events_are_also_of_pods_that_are_gone() -> None:
    async with one_job() as (app, client):
        [pod, *_] = await pods(app)
        await happens(app, pod, "OOMKilling")
        cast(MemoryCluster, app.cluster).delete_pod("default", pod["metadata"]["name"], force=True)
        assert "OOMKilling" in await text(client, f"{PATH}?events=all", headers=HTMX)


async def test_who_may_not_list_events_gets_neither_them_nor_the_switch() -> None:
    async with alice(only("get")) as client:
        page = await text(client, f"{PATH}?events=all")
        assert "No events are kept." in page
        assert 'id="detailed-events"' not in page
    async with alice(both(only("get"), only("list", "events"))) as client:
        page = await text(client, f"{PATH}?events=all")
        assert "No events are kept." not in page
        assert 'id="detailed-events"' in page


# ---- conditions --------------------------------------------------------------------------------------------


def test_conditions_are_sorted_by_their_last_transition() -> None:
    conditions = [{"type": number, "lastTransitionTime": f"2024-05-17T09:30:0{number}Z"} for number in "213"]
    assert [condition["type"] for condition in by_change(conditions)] == ["3", "2", "1"]
    assert [condition["type"] for condition in by_change(conditions, oldest=True)] == ["1", "2", "3"]


@pytest.mark.parametrize(("below", "part"), [("", "piece"), ("/history", "moment")])
async def test_the_order_of_the_conditions_is_turned_and_stays_so(below: str, part: str) -> None:
    async with one_job() as (_, client):
        page = await text(client, PATH + below)
        assert 'aria-sort="descending"' in page
        turn = re.search(r'id="turn-conditions" href="([^"]*)"', page)
        assert turn
        turned = await text(client, turn[1], headers=HTMX)
        assert 'aria-sort="ascending"' in turned
        refresh = re.search(rf'id="{part}"[^>]* hx-get="([^"]*)"', turned)
        assert refresh
        assert "oldest=1" in refresh[1]


# ---- basic information -------------------------------------------------------------------------------------


async def test_what_no_pod_tells_any_more_the_spec_does() -> None:
    async with app_in_memory() as app:
        manifest = job(replicas=1)
        box = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
        box |= {"command": ["python"], "args": ["train.py", "two words"]}
        await app.submit(written(manifest), "tests")
        await phase(app, "train", "Running")
        async with browsing(app) as client:
            assert "python train.py &#39;two words&#39;" in await text(client, PATH)
            await app.pause(await app.job("default", "train"), True, "tests")
            await phase(app, "train", "Paused")

            async def no_pod() -> bool:
                return not await pods(app)

            await until(no_pod)
            paused = await text(client, PATH)
            assert "python train.py &#39;two words&#39;" in paused
            assert "<dd>pause</dd>" in paused


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("GenericJob", {}, ("default", "", "")),
        ("GenericJob", {"scheduler": {"t9kScheduler": {}}}, ("t9k-scheduler", "default", "0")),
        (
            "DeepSpeedJob",
            {"scheduler": {"t9kScheduler": {"queue": "q", "priority": 7}}},
            ("t9k-scheduler", "q", "7"),
        ),
        (
            "PyTorchJob",
            {"runPolicy": {"schedulingPolicy": {"queue": "v", "priorityClass": "high"}}},
            ("default", "v", "high"),
        ),
        ("PyTorchJob", {"scheduler": "mine", "runPolicy": 3}, ("default", "", "")),
        ("GenericJob", {"scheduler": "mine", "runPolicy": 3}, ("default", "", "")),
    ],
)
def test_scheduler_queue_and_priority_are_those_of_the_spec(
    kind: str, spec: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    placed = KINDS[KNOWN.index(kind)].placing(spec)
    assert (placed.scheduler, placed.queue, importance(placed)) == expected


def test_the_pod_group_says_its_phase() -> None:
    assert group_phase(ChildState("PodGroup", "j", facts={"phase": "Inqueue"}), None) == "Inqueue"
    assert group_phase(None, {"kind": "PodGroup", "status": {"phase": "Running"}}) == "Running"
    assert group_phase(None, {"kind": "PodGroup"}) == "Pending"
    assert group_phase(None, None) == ""
