"""Jobs as the API server shows them: kinds, pages, names, partial rights, watches, wishes."""

import json
import socket
from typing import Any

import pytest

from jobledger.plugin import groups
from jobledger.plugin.cluster import ClusterJobs
from jobledger.plugin.groups import GROUP_VERSIONS
from jobledger.program.errors import NoRight, NotPossible, Unauthenticated, UnknownJob
from k8s_bridge import observe
from k8s_bridge.actors import ACTOR
from statemachine.errors import ClusterUnavailable, ConfigError, Conflict
from statemachine.kinds import KINDS, SERVED
from tests.unit.plugin.words import JOBS, Asked, Fake, Reply, cluster, discovery, job, listed, server, status

OTHER = "/apis/batch.tensorstack.dev/v1beta1/namespaces/team/deepspeedjobs"
TWO = discovery("PyTorchTrainingJob", "DeepSpeedJob")


def names(jobs: list[dict[str, Any]]) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in jobs]


def test_what_is_written_twice_is_the_same() -> None:
    assert {kind.names.api_version for kind in KINDS} <= set(GROUP_VERSIONS)
    assert {version.split("/")[0] for version in GROUP_VERSIONS} == set(observe.JOB_GROUPS)
    assert {(names.api_version, names.kind) for names in SERVED} == groups.KINDS


def test_kinds_are_those_that_say_that_they_are_ours() -> None:
    theirs = {
        "/apis/kubeflow.org/v1": {"resources": [{"name": "mpijobs", "kind": "MPIJob", "categories": ["all"]}]}
    }
    with cluster(more=theirs) as (asked, _):
        assert [kind.kind for kind in asked.kinds()] == ["PyTorchTrainingJob"]


def test_a_kind_of_ours_is_known_no_matter_who_installed_its_crd() -> None:
    resources = [
        {"name": "pytorchjobs", "kind": "PyTorchJob"},
        {"name": "pytorchjobs/scale", "kind": "Scale"},
    ]
    theirs = {"/apis/kubeflow.org/v1": {"resources": [*resources, {"name": "mpijobs", "kind": "MPIJob"}]}}
    with cluster(more=theirs) as (asked, _):
        assert [kind.plural for kind in asked.kinds()] == ["pytorchtrainingjobs", "pytorchjobs"]


def test_a_cluster_without_kinds_says_how_to_get_them() -> None:
    with server() as fake, pytest.raises(ConfigError, match="`jobledger crds"):
        ClusterJobs(fake.api()).jobs(namespace="team")


def test_a_list_is_read_in_pages() -> None:
    def pages(asked: Asked) -> Any:
        assert asked.query["limit"] == "500"
        return listed(job("b")) if asked.query.get("continue") == "more" else listed(job("a"), rest="more")

    with cluster(more={JOBS: pages}) as (asked, _):
        assert names(asked.jobs(namespace="team")) == ["a", "b"]


def test_pages_that_have_expired_are_read_again_in_one_go() -> None:
    def pages(asked: Asked) -> Any:
        if "limit" not in asked.query:
            return listed(job("a"), job("b"), job("c"))
        return status(410, "too old") if "continue" in asked.query else listed(job("a"), rest="more")

    with cluster(more={JOBS: pages}) as (asked, _):
        assert names(asked.jobs(namespace="team")) == ["a", "b", "c"]


def test_all_namespaces_are_one_list() -> None:
    place = "/apis/batch.tensorstack.dev/v1beta1/pytorchtrainingjobs"
    with cluster(more={place: listed(job("a"), job("b", phase="Failed"))}) as (asked, _):
        assert names(asked.jobs()) == ["a", "b"]
        assert names(asked.jobs(phase="Failed")) == ["b"]


def test_kinds_that_may_not_be_listed_are_left_out_as_long_as_one_may() -> None:
    no = status(403, 'deepspeedjobs is forbidden: User "bob" cannot list')
    with server({**TWO, JOBS: listed(job("a")), OTHER: no}) as fake:
        assert names(ClusterJobs(fake.api()).jobs(namespace="team")) == ["a"]
    with server({**TWO, JOBS: no, OTHER: no}) as fake, pytest.raises(NoRight, match='User "bob"'):
        ClusterJobs(fake.api()).jobs(namespace="team")


def test_secrets_in_the_environment_of_pods_are_not_shown() -> None:
    secret = job("a") | {"spec": {"env": [{"name": "API_TOKEN", "value": "hunter2"}]}}
    with cluster(more={JOBS: listed(secret), f"{JOBS}/a": secret}) as (asked, _):
        shown = json.dumps([asked.jobs(namespace="team"), asked.job("team", "a")])
        assert "hunter2" not in shown
        assert "<redacted>" in shown


def test_a_name_that_several_kinds_have_needs_the_kind() -> None:
    both = {f"{JOBS}/train": job(), f"{OTHER}/train": job(kind="DeepSpeedJob")}
    with server({**TWO, **both}) as fake:
        asked = ClusterJobs(fake.api())
        with pytest.raises(
            NotPossible, match=r"is the name of a PyTorchTrainingJob and a DeepSpeedJob; .* --kind"
        ):
            asked.wish("pause", "team", "train")
        assert asked.job("team", "train", kind="deepspeedjob")["kind"] == "DeepSpeedJob"
        assert not [request for request in fake.asked if request.method == "PATCH"]


def test_a_name_that_is_not_there_is_answered_with_the_nearest_that_may_be_known() -> None:
    with (
        cluster(more={JOBS: listed(job("train"))}) as (asked, _),
        pytest.raises(UnknownJob, match='mean "train"'),
    ):
        asked.job("team", "trian")
    with cluster(more={JOBS: status(403, "no")}) as (asked, _), pytest.raises(UnknownJob, match="get -A"):
        asked.job("team", "trian")


def test_events_are_those_of_the_jobs_uid_oldest_first() -> None:
    def events(asked: Asked) -> Any:
        assert asked.query == {"fieldSelector": "involvedObject.uid=uid-train"}
        times = ({"lastTimestamp": "2026-01-01T00:00:02Z"}, {"eventTime": "2026-01-01T00:00:01.5Z"})
        common = {"type": "Normal", "reason": "R", "message": "M"}
        return listed(*({"metadata": {"name": f"e{at}"}, **common, **time} for at, time in enumerate(times)))

    more = {f"{JOBS}/train": job(), "/api/v1/namespaces/team/events": events}
    with cluster(more=more) as (asked, _):
        assert [event["name"] for event in asked.events("team", "train")] == ["e1", "e0"]


# ---- wishes ------------------------------------------------------------------------------------------------


def wished(fake: Fake, **answers: Any) -> None:
    fake.answers |= {
        f"GET {JOBS}/train": job(),
        f"PATCH {JOBS}/train": job(),
        "/apis/authentication.k8s.io/v1/selfsubjectreviews": {"status": {"userInfo": {"username": "alice"}}},
        **answers,
    }


def test_a_wish_is_a_patch_of_this_very_job_signed_by_the_user() -> None:
    with cluster() as (asked, fake):
        wished(fake)
        asked.wish("pause", "team", "train")
        last = fake.asked[-1]
    assert (last.method, last.query) == ("PATCH", {"fieldManager": "kubectl-jobledger"})
    assert last.headers["Content-Type"] == "application/merge-patch+json"
    assert last.body == {
        "spec": {"runMode": {"pause": {"enabled": True, "enable": None}}},
        "metadata": {"uid": "uid-train", "annotations": {ACTOR: "alice with kubectl jobledger pause"}},
    }


def test_an_api_server_that_does_not_say_who_we_are_leaves_it_unsigned() -> None:
    with cluster() as (asked, fake):
        wished(fake)
        fake.answers["/apis/authentication.k8s.io/v1/selfsubjectreviews"] = None
        asked.wish("resume", "team", "train")
        assert fake.asked[-1].body["metadata"] == {"uid": "uid-train"}


def test_a_finished_job_gets_no_patch() -> None:
    with cluster() as (asked, fake):
        wished(fake, **{f"GET {JOBS}/train": job(phase="Failed")})
        with pytest.raises(NotPossible, match=r"cannot be paused: it has ended \(Failed\)"):
            asked.wish("pause", "team", "train")
        assert {request.method for request in fake.asked} == {"GET"}


def test_a_job_that_is_being_deleted_gets_no_patch() -> None:
    leaving = job()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with cluster() as (asked, fake):
        wished(fake, **{f"GET {JOBS}/train": leaving})
        with pytest.raises(NotPossible, match="is being deleted"):
            asked.wish("pause", "team", "train")
        assert {request.method for request in fake.asked} == {"GET"}


def test_a_job_that_was_replaced_meanwhile_is_not_touched() -> None:
    with cluster() as (asked, fake):
        wished(fake, **{f"PATCH {JOBS}/train": status(409, "uid in precondition")})
        with pytest.raises(Conflict):
            asked.wish("pause", "team", "train")


# ---- watching ----------------------------------------------------------------------------------------------


def change(type_: str, name: str, version: str) -> bytes:
    item = job(name)
    item["metadata"]["resourceVersion"] = version
    return json.dumps({"type": type_, "object": item}).encode() + b"\n"


def test_a_watch_tells_what_is_there_then_what_changes_and_goes_on_where_it_was() -> None:
    from_version: list[str] = []

    def answer(asked: Asked) -> Any:
        if "watch" not in asked.query:
            return listed(job("a"), version="10")
        from_version.append(asked.query["resourceVersion"])
        if len(from_version) == 1:
            return Reply(change("ADDED", "b", "11") + change("BOOKMARK", "", "20"))
        return Reply(change("DELETED", "b", "21"))

    with cluster(more={JOBS: answer}) as (asked, _):
        changes = asked.watch(namespace="team")
        taken = [next(changes) for _ in range(4)]
    assert [(type_, item and item["metadata"]["name"]) for type_, item in taken] == [
        ("ADDED", "a"),
        ("SYNCED", {}),
        ("ADDED", "b"),
        ("DELETED", "b"),
    ]
    assert from_version[:2] == ["10", "20"]


def test_the_api_server_selects_by_labels_in_every_request() -> None:
    """Pages, the list after pages that have expired, the watch, and the list after one that came too late."""
    asked_for: list[tuple[str, str]] = []

    def answer(asked: Asked) -> Any:
        what = next((name for name in ("watch", "continue", "limit") if name in asked.query), "list")
        asked_for.append((what, asked.query["labelSelector"]))
        if what == "watch":
            too_old = {"type": "ERROR", "object": {"code": 410, "message": "too old"}}
            is_first = len(asked_for) == 4
            return Reply(json.dumps(too_old).encode() + b"\n" if is_first else change("MODIFIED", "a", "31"))
        if what == "continue":
            return status(410, "too old")
        return listed(job("a"), rest="more" if what == "limit" else "")

    with cluster(more={JOBS: answer}) as (asked, _):
        changes = asked.watch(namespace="team", selector="team in (a,b)")
        taken = [next(changes) for _ in range(4)]
    assert [type_ for type_, _ in taken] == ["ADDED", "SYNCED", "MODIFIED", "MODIFIED"]
    assert [what for what, _ in asked_for[:6]] == ["limit", "continue", "list", "watch", "list", "watch"]
    assert {selector for _, selector in asked_for} == {"team in (a,b)"}
    negated: list[str] = []

    def whole(asked: Asked) -> Any:
        negated.append(asked.query["labelSelector"])
        return listed(job("a"))

    with cluster(more={JOBS: whole}) as (asked, _):
        asked.jobs(namespace="team", selector="!team")
    assert {*negated} == {"!team"}


def test_a_watch_that_came_too_late_lists_again() -> None:
    asked_for: list[str] = []

    def answer(asked: Asked) -> Any:
        if "watch" not in asked.query:
            asked_for.append("list")
            return listed(job("a"), version="10" if len(asked_for) == 1 else "30")
        asked_for.append(asked.query["resourceVersion"])
        if asked.query["resourceVersion"] == "10":
            return Reply(
                json.dumps({"type": "ERROR", "object": {"code": 410, "message": "too old"}}).encode() + b"\n"
            )
        return Reply(change("MODIFIED", "c", "31"))

    with cluster(more={JOBS: answer}) as (asked, _):
        changes = asked.watch(namespace="team")
        taken = [next(changes) for _ in range(4)]
    assert [type_ for type_, _ in taken] == ["ADDED", "SYNCED", "MODIFIED", "MODIFIED"]
    assert asked_for[:4] == ["list", "10", "list", "30"]


def test_a_watch_that_is_forbidden_ends_with_the_sentence() -> None:
    def answer(asked: Asked) -> Any:
        return status(403, "you cannot watch") if "watch" in asked.query else listed()

    with cluster(more={JOBS: answer}) as (asked, _), pytest.raises(NoRight, match="you cannot watch"):
        list(asked.watch(namespace="team"))


# ---- what an API server may say ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        (status(401, "Unauthorized"), Unauthenticated, "does not know the user of context"),
        (status(500, "etcd is\nslow"), ClusterUnavailable, "answers 500: etcd is slow"),
        (status(429, "later"), ClusterUnavailable, "429"),
        (Reply(b"<html>hello", kind="text/html"), ClusterUnavailable, "is no API server"),
        (Reply(b"<html>no", 503, "text/html"), ClusterUnavailable, "<html>no"),
    ],
)
def test_every_no_is_a_sentence(reply: Reply, error: type[Exception], says: str) -> None:
    with (
        server({"/apis/batch.tensorstack.dev/v1beta1": reply}) as fake,
        pytest.raises(error, match=says) as caught,
    ):
        ClusterJobs(fake.api()).jobs(namespace="team")
    assert "\n" not in str(caught.value)


def test_a_server_that_is_not_there_is_a_sentence() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else gets the port meanwhile
        fake = Fake(url=f"http://127.0.0.1:{bound.getsockname()[1]}")
        with pytest.raises(ClusterUnavailable, match="cannot be reached: Connection refused"):
            ClusterJobs(fake.api()).jobs(namespace="team")


def test_one_connection_serves_a_whole_command() -> None:
    with cluster(more={JOBS: listed(job())}) as (asked, fake):
        asked.jobs(namespace="team")
        assert len(fake.asked) == 3
        assert len(asked._api.server._idle) == 1
        assert fake.asked[0].headers["Authorization"] == "Bearer secret"
