"""Events about a job's objects, by whomever, as an API server keeps them."""

from datetime import UTC, datetime

import pytest

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from k8s_bridge.port import Happening, Manifest, Ref
from tests.unit.bridge.apiserver.scripted import Server, page

PATH = "/api/v1/namespaces/demo/events"


def at(second: int) -> datetime:
    return datetime(2024, 5, 17, 9, 30, second, tzinfo=UTC)


def event(uid: str, reason: str, **more: object) -> Manifest:
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": "demo", "name": f"pod-{uid}", "uid": uid}
    meta = {"name": f"{uid}.{reason}", "namespace": "demo", "creationTimestamp": "2024-05-17T09:30:00Z"}
    return {
        "metadata": meta,
        "involvedObject": about,
        "reason": reason,
        "message": "said",
        "type": "Normal",
        **more,
    }


OLD = event(
    "a",
    "BackOff",
    type="Warning",
    count=4,
    firstTimestamp="2024-05-17T09:30:01Z",
    lastTimestamp="2024-05-17T09:30:09Z",
    source={"component": "kubelet"},
)
NEW = event(
    "b",
    "Scheduled",
    firstTimestamp=None,
    lastTimestamp=None,
    eventTime="2024-05-17T09:30:02.000000Z",
    reportingComponent="default-scheduler",
)
SERIES = event("b", "Pulling", series={"count": 3, "lastObservedTime": "2024-05-17T09:30:05.000000Z"})


async def test_events_of_both_apis_are_read_with_their_times_oldest_first(server: Server, api: Api) -> None:
    server.on("GET", PATH, page(OLD, event("stranger", "Killing"), place="more"))
    server.instead("GET", PATH, page(OLD, event("stranger", "Killing"), place="more"), page(NEW, SERIES))
    happenings = await ApiServerCluster(api).events_about("demo", ["a", "b"])
    assert [
        (happening.reason, happening.first_at, happening.last_at, happening.count, happening.by)
        for happening in happenings
    ] == [
        ("Scheduled", at(2), at(2), 1, "default-scheduler"),
        ("Pulling", at(0), at(5), 3, ""),
        ("BackOff", at(1), at(9), 4, "kubelet"),
    ]
    assert happenings[-1] == Happening(
        Ref("v1", "Pod", "demo", "pod-a"), "a", "BackOff", "said", "Warning", at(1), at(9), 4, "kubelet"
    )


@pytest.mark.parametrize("missing", ["message", "reason", "type"])
async def test_an_event_that_says_less_is_read_all_the_same(server: Server, api: Api, missing: str) -> None:
    server.on("GET", PATH, page({key: value for key, value in OLD.items() if key != missing}))
    [happening] = await ApiServerCluster(api).events_about("demo", ["a"])
    assert happening.uid == "a"


async def test_an_event_about_nothing_that_is_known_is_left_out(server: Server, api: Api) -> None:
    server.on("GET", PATH, page({**OLD, "involvedObject": {}}))
    assert not await ApiServerCluster(api).events_about("demo", ["a"])
