"""The web console on a real control plane: roles in processes of their own, a history in PostgreSQL, people's tokens.

The front has the rights that `deploy/` gives it and no other, and may only read the database.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.harness import ControlPlane, wait_for
from tests.harness.postgres import Postgres
from tests.integration.browser import PATIENCE, browser
from tests.support.accounts import ACCOUNTS, rights, signed
from tests.support.cluster_console import (
    ARGS,
    FORM,
    IMAGE,
    KIND,
    NAME,
    Site,
    Visitor,
    failure_of,
    roles_apart,
    row,
)
from tests.support.cluster_jobs import job, replica_type
from tests.support.cluster_people import JOBS, Person
from tests.support.deployment import DEPLOY, kustomized
from tests.unit.console.words import inputs

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

READER = "viewer"


@pytest.fixture(scope="module")
def cluster(audited_plane: ControlPlane) -> ControlPlane:
    """A control plane whose API server may be killed, with an audit log."""
    audited_plane.forget_audit()
    return audited_plane


@pytest.fixture(scope="module")
def histories(postgres: Postgres) -> Iterator[tuple[str, str]]:
    """A database: as projectors write to it, and as somebody reads it who has no other right."""
    name = postgres.fresh()
    postgres.sql(f"CREATE ROLE {READER} LOGIN PASSWORD '{READER}'")
    postgres.sql(f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {READER}", name)
    yield postgres.url(name), postgres.url(name, READER, READER)
    postgres.drop(name)
    postgres.sql(f"DROP ROLE {READER}")


@pytest.fixture(scope="module")
def site(
    cluster: ControlPlane, histories: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """The console of one namespace."""
    writes, reads = histories
    objects = kustomized(cluster, DEPLOY / "overlays" / "roles-split")
    with rights(cluster, objects), cluster.namespace("team") as namespace:
        folder = tmp_path_factory.mktemp("roles")
        with roles_apart(cluster, folder, namespace, writes=writes, reads=reads) as site:
            yield site


@pytest.fixture
def person(cluster: ControlPlane, site: Site, tmp_path: Path, request: pytest.FixtureRequest) -> Person:
    """Somebody without any right."""
    name = re.sub(r"[^a-z]+", "-", request.node.name)[5:40].strip("-")
    return Person(cluster, site.namespace, name, tmp_path)


@pytest.fixture
def visitor(site: Site, person: Person) -> Iterator[Visitor]:
    """The same at the console."""
    with Visitor(site, person.token) as visitor:
        yield visitor


def may_edit(person: Person) -> None:
    """As members of a team usually may."""
    person.may("get,list,create,patch,delete", JOBS).may("get,list", "pods")
    person.may("get", "pods/log").may("list", "events")


def started(site: Site, name: str, *types: dict[str, Any], **spec: Any) -> None:
    site.jobs.apply(job(name, *types, **spec))
    site.jobs.wait(name, "phase", "Running", within=150)


def deepspeed_job(name: str) -> dict[str, Any]:
    """A job of another kind."""
    template = {"spec": {"containers": [{"name": "worker", "image": "none"}]}}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "DeepSpeedJob",
        "metadata": {"name": name},
        "spec": {"config": {"run": {"python": "train.py"}}, "worker": {"template": template}},
    }


# ---- who may what ----------------------------------------------------------------------------------------------


def test_who_may_nothing_learns_which_right_is_missing(visitor: Visitor, person: Person) -> None:
    started(visitor.site, "hidden")
    home = person.namespace
    said = visitor.sentence("/jobs", 403)
    assert said.startswith(f'"{person.name}" has no right to list {JOBS}')
    assert said.endswith(f'in namespace "{home}"')
    for name in ("hidden", "nobody"):  # no names are to be learnt by trying
        for below in ("", "/replicas", "/history", "/log", "/manifest", "/pause"):
            said = visitor.sentence(visitor.path(name, below), 403)
            assert said == f'"{person.name}" has no right to get {JOBS} in namespace "{home}"'
    assert visitor.data("/jobs", 403)["detail"].startswith(f'"{person.name}" has no right to list')


def test_who_may_see_one_kind_sees_no_job_of_another(visitor: Visitor, person: Person) -> None:
    started(visitor.site, "torch")
    person.may("get,list", "deepspeedjobs.batch.tensorstack.dev")
    visitor.site.jobs.apply(deepspeed_job("deep"))
    page = visitor.sees("/jobs", ">deep</a>")
    assert ">torch</a>" not in page
    assert [item["name"] for item in visitor.data("/jobs")["items"]] == ["deep"]
    said = visitor.sentence(visitor.path("torch"), 403)
    assert said == f'"{person.name}" has no right to get {JOBS} in namespace "{person.namespace}"'


def test_rights_in_one_namespace_are_none_in_another(visitor: Visitor, person: Person) -> None:
    may_edit(person)
    assert "no job" in visitor.sentence(f"/jobs/default/{KIND}/x", 404)
    said = visitor.data("/jobs", 400, params={"namespace": "default"})
    assert said["detail"] == f'this console serves the namespace "{person.namespace}" alone, not "default"'


def test_who_may_read_sees_everything_and_changes_nothing(visitor: Visitor, person: Person) -> None:
    person.may("get,list", JOBS)
    started(visitor.site, "shown")
    visitor.sees("/jobs", ">shown</a>")
    page = visitor.sees(visitor.path("shown", "/replicas"), ">Running<")
    assert "tensorstack.dev/owner-name=shown" in row(page, "worker-0")
    one = visitor.page(visitor.path("shown", "/replicas/worker-0"))
    assert f"has no right to get pods in namespace &#34;{person.namespace}&#34;" in one
    no = f'"{person.name}" has no right to %s {JOBS} in namespace "{person.namespace}"'
    for action, verb in (("pause", "patch"), ("policy", "patch"), ("delete", "delete")):
        answer = visitor.post(visitor.path("shown", f"/{action}"), visitor.asked("shown", action))
        assert (answer.status_code, failure_of(answer.text)) == (403, no % verb)
    form = inputs(visitor.page(FORM)) | {NAME: "mine", IMAGE: "none", ARGS: "train.py"}
    answer = visitor.post(FORM, {**form, "do": "create"})
    assert answer.status_code == 403
    assert (no % "create").replace('"', "&#34;") in answer.text
    said = visitor.data(f"/jobs/{KIND}/shown", 403, "PATCH", json={"pause": True})
    assert said["detail"] == no % "patch"
    assert visitor.data(f"/jobs/{KIND}/shown", 403, "DELETE")["detail"] == no % "delete"
    assert visitor.site.jobs.phase("shown") == "Running"


@pytest.mark.parametrize("token", ["", "garbage", "e30.e30.e30"])
def test_a_stranger_gets_a_page_or_a_problem_that_says_so(site: Site, token: str) -> None:
    with Visitor(site, token) as stranger:
        for path in ("/jobs", f"/jobs/{site.namespace}/{KIND}/x", FORM):
            said = stranger.sentence(path, 401)
            assert said.startswith("say who asks" if not token else "the token is not valid here")
        assert stranger.data("/jobs", 401)["code"] == "unauthenticated"
        assert stranger.http.get("/live").status_code == 401


def test_a_token_that_has_expired_is_refused_as_expired(
    site: Site, person: Person, cluster: ControlPlane
) -> None:
    """The API server gives none that is short enough to wait for, so this one is signed with its key."""
    with Visitor(site, signed(cluster, person.token, -86400)) as late:
        assert late.sentence("/jobs", 401).startswith("the token is not valid here: it has expired")
        piece = late.http.get("/jobs", headers={"HX-Request": "true"})
        assert (piece.status_code, piece.headers["hx-retarget"]) == (401, "#notices")
    with Visitor(site, signed(cluster, person.token, 0)) as known:
        assert "has no right" in known.sentence("/jobs", 403)  # so it was not for its signature


# ---- what is done ----------------------------------------------------------------------------------------------


def test_a_life_led_from_the_console_arrives_at_the_api_server_in_the_users_name(
    visitor: Visitor, person: Person, cluster: ControlPlane
) -> None:
    may_edit(person)
    jobs = visitor.site.jobs
    form = inputs(visitor.page(FORM)) | {
        NAME: "led",
        IMAGE: "none",
        ARGS: "train.py",
        "spec.torchrunConfig.enabled": "on",
        "spec.elastic.enabled": "on",
        "spec.elastic.minReplicas": "1",
        "spec.elastic.maxReplicas": "3",
        "spec.elastic.expectedReplicas": "1",
        "do": "create",
    }
    answer = visitor.post(FORM, form)
    assert answer.status_code == 303, failure_of(answer.text)
    assert answer.headers["location"] == "/jobs"
    jobs.wait("led", "phase", "Running", within=150)
    visitor.does("led", "pause")
    jobs.wait("led", "phase", "Paused")
    visitor.does("led", "resume")
    jobs.wait("led", "phase", "Running")
    visitor.does("led", "scale", replicas="2")
    jobs.wait("led", "aggregate.running", 2)
    visitor.does("led", "policy", spec__runPolicy__backoffLimit="7")
    assert jobs.get("led")["spec"]["runPolicy"]["backoffLimit"] == 7
    copy = inputs(visitor.page(visitor.path("led", "/clone")))
    assert (copy[NAME], copy[IMAGE]) == ("led-copy", "none")
    assert visitor.post(FORM, {**copy, "do": "create"}).status_code == 303
    jobs.wait("led-copy", "phase", "Running")
    assert jobs.get("led-copy")["spec"]["elastic"]["expectedReplicas"] == 2
    again = visitor.post(FORM, {**copy, "do": "create"})
    assert again.status_code == 409
    assert "led-copy&#34; exists already" in again.text
    uid = jobs.get("led")["metadata"]["uid"]
    visitor.does("led", "delete")
    jobs.kubectl("wait", "--for=delete", "pj/led", "--timeout=90s")
    assert uid in visitor.sees(visitor.path("led"), "Deleted")
    actors = [entry["actor"] for entry in visitor.data(f"/jobs/{KIND}/led/history")["items"]]
    assert person.name in actors
    assert not {actor for actor in actors if actor.startswith("web console")}
    front = [
        request
        for request in cluster.audit_log()
        if request["user"]["username"] == f"{ACCOUNTS}jobledger-front"
    ]
    verbs = {
        request["verb"]
        for request in front
        if request.get("objectRef", {}).get("resource") == JOBS.split(".")[0]
    }
    assert verbs >= {"create", "patch", "delete"}
    assert not [request for request in front if request["responseStatus"]["code"] == 403]


def test_a_change_over_somebody_elses_is_refused_with_the_sentence(visitor: Visitor, person: Person) -> None:
    may_edit(person)
    started(visitor.site, "fought")
    before = visitor.asked("fought", "policy")
    visitor.site.jobs.patch("fought", runPolicy={"backoffLimit": 3})
    answer = visitor.post(visitor.path("fought", "/pause"), before)
    sentence = "The job was changed by someone else; reload and try again"
    assert (answer.status_code, failure_of(answer.text)) == (409, sentence)
    assert "runMode" not in visitor.site.jobs.get("fought")["spec"]
    visitor.does("fought", "pause")
    visitor.site.jobs.wait("fought", "phase", "Paused")


# ---- replicas and logs -----------------------------------------------------------------------------------------


def test_replicas_are_shown_as_they_live_with_labels_node_and_resources(
    visitor: Visitor, person: Person
) -> None:
    may_edit(person)
    asked = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}}
    worker = replica_type("worker", 2, container={"resources": asked, "command": ["python", "train.py"]})
    started(visitor.site, "grows", worker, runPolicy={"backoffLimit": 3})
    jobs, replicas = visitor.site.jobs, visitor.path("grows", "/replicas")
    jobs.wait("grows", "aggregate.running", 2)
    page = visitor.sees(replicas, "node-")
    pods = jobs.children("grows")
    for name in ("worker-0", "worker-1"):
        row_text = row(page, name)
        assert row_text.startswith("Running")
        assert pods[name]["spec"]["nodeName"] in row_text
        assert "500m / 1" in row_text
        assert "1Gi / 2Gi" in row_text
        for key, value in pods[name]["metadata"]["labels"].items():
            assert f"{key}={value}" in row_text
    jobs.end(f"{jobs.base('grows')}-worker-1", 137)
    jobs.wait("grows", "backoffCount", 1)
    wait_for(
        "the restart is shown",
        lambda: (
            "137" in row(visitor.page(replicas + "?columns=name,status,error,restarts,attempt"), "worker-1")
        ),
    )
    jobs.kubectl("label", "pod", f"{jobs.base('grows')}-worker-0", "mine=yes")
    one = visitor.page(f"{replicas}/worker-0")
    assert "mine=yes" in one  # what others write on a pod is on its own page
    assert "PodScheduled" in one
    assert "python train.py" in one
    shown = visitor.data(f"/jobs/{KIND}/grows/replicas")["items"]
    assert [replica["phase"] for replica in shown][:1] == ["Running"]
    assert shown[0]["node"] == pods["worker-0"]["spec"]["nodeName"]
    assert "python train.py" in visitor.page(visitor.path("grows"))


def talk(site: Site, name: str, log: Path) -> None:
    """The first worker of the job has written a line."""
    log.write_text("2026-01-01T00:00:00.000000000Z stdout F step 1\n", encoding="utf-8")
    meta = {"name": f"{site.jobs.base(name)}-worker-0"}
    shown = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Logs", "metadata": meta}
    site.jobs.kubectl(
        "create", "-f", "-", input=shown | {"spec": {"logs": [{"logsFile": str(log), "follow": True}]}}
    )


def test_logs_are_shown_or_one_sentence_says_why_not(
    visitor: Visitor, person: Person, tmp_path: Path
) -> None:
    may_edit(person)
    started(visitor.site, "talks")
    path = visitor.path("talks", "/log?replica=worker-0")
    pod = f"{visitor.site.namespace}/{visitor.site.jobs.base('talks')}-worker-0"
    # the simulated node does not know what it wrote: its answer comes through the API server
    assert failure_of(visitor.page(path)) == f'no logs found for container "pytorch" in pod "{pod}"'
    talk(visitor.site, "talks", tmp_path / "pod.log")
    visitor.sees(path, "step 1")
    assert visitor.http.get(visitor.path("talks", "/log/download?replica=worker-0")).text == "step 1\n"
    assert visitor.http.get(f"/api/jobs/{KIND}/talks/replicas/worker-0/log?tail=5").text == "step 1\n"
    assert "no replica" in failure_of(visitor.page(visitor.path("talks", "/log?replica=nobody")))
    with visitor.http.stream("GET", following(visitor, "talks")) as followed:
        lines = followed.iter_lines()
        assert "step 1" in next(line for line in lines if '"lines"' in line)
        with (tmp_path / "pod.log").open("a") as more:
            more.write("2026-01-01T00:00:01.000000000Z stdout F step 2\n")
        assert "step 2" in next(line for line in lines if '"lines"' in line)


def following(visitor: Visitor, name: str) -> str:
    """The address of the stream with the log of the job's first worker."""
    return str(httpx.URL("/live", params={"log": visitor.path(name, "/log?replica=worker-0")}))


def test_who_may_not_read_logs_and_events_is_shown_none(visitor: Visitor, person: Person) -> None:
    person.may("get,list", JOBS)
    started(visitor.site, "quiet")
    said = visitor.sentence(visitor.path("quiet", "/log?replica=worker-0"), 403)
    assert said == f'"{person.name}" has no right to get pods/log in namespace "{person.namespace}"'
    assert "detailed-events" not in visitor.page(visitor.path("quiet"))
    assert "list events" in visitor.data(f"/jobs/{KIND}/quiet/events", 403)["detail"]


def test_what_others_say_of_a_jobs_children_is_among_the_detailed_events(
    visitor: Visitor, person: Person
) -> None:
    may_edit(person)
    jobs = visitor.site.jobs
    jobs.apply(job("queued", scheduler={"t9kScheduler": {"queue": "default"}}))
    jobs.wait("queued", "aggregate.pending", 1)  # nobody here binds pods of that scheduler
    group = jobs.cluster.get("-n", jobs.namespace, "podgroup", "queued")
    patch = json.dumps({"status": {"phase": "Inqueue"}})
    jobs.kubectl("patch", "podgroup/queued", "--subresource=status", "--type=merge", "-p", patch)
    about = {key: group["metadata"][key] for key in ("name", "namespace", "uid")}
    about |= {"apiVersion": group["apiVersion"], "kind": "PodGroup"}
    for name, at in (("now", "2099-01-01T00:00:00Z"), ("before", "2001-01-01T00:00:00Z")):
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"queued.{name}"}}
        event |= {"involvedObject": about, "reason": f"NotEnough-{name}", "message": "none free"}
        jobs.kubectl("create", "-f", "-", input=event | {"firstTimestamp": at, "lastTimestamp": at})
    page = visitor.page(visitor.path("queued"))
    assert "NotEnough" not in page
    assert "<dd>Inqueue</dd>" not in page
    page = visitor.page(visitor.path("queued", "?events=all"))
    assert "NotEnough-now" in page
    assert "NotEnough-before" not in page  # of another of that name
    person.may("get", "podgroups.scheduler.tensorstack.dev")
    visitor.sees(visitor.path("queued"), "<dd>Inqueue</dd>")


# ---- programs --------------------------------------------------------------------------------------------------


def test_programs_do_the_same_with_a_bearer_token(visitor: Visitor, person: Person) -> None:
    may_edit(person)
    manifest = job("by-program")
    made = visitor.data("/jobs", 201, "POST", json=manifest)
    assert made["metadata"]["namespace"] == person.namespace
    assert visitor.data("/jobs", 409, "POST", json=manifest)["code"] == "job-exists"
    visitor.site.jobs.wait("by-program", "phase", "Running", within=150)
    wait_for("it is listed", lambda: visitor.data("/jobs", params={"q": "by-prog"})["total"] == 1)
    visitor.data(f"/jobs/{KIND}/by-program", 200, "PATCH", json={"pause": True})
    visitor.site.jobs.wait("by-program", "phase", "Paused")
    broken = {**manifest, "spec": {"replicaSpecs": []}}
    assert visitor.data("/jobs", 422, "POST", json=broken)["errors"]
    annotations = visitor.site.jobs.get("by-program")["metadata"]["annotations"]
    assert annotations["jobledger.dev/actor"] == person.name
    visitor.data(f"/jobs/{KIND}/by-program", 202, "DELETE")
    visitor.site.jobs.kubectl("wait", "--for=delete", "pj/by-program", "--timeout=90s")


def test_the_front_says_how_fresh_its_history_is(site: Site, visitor: Visitor) -> None:
    assert visitor.http.get("/api/healthz").status_code == 200
    assert json.loads(httpx.get(f"{site.url}/readyz").text)["status"] == "ok"


# ---- in a browser ----------------------------------------------------------------------------------------------


@pytest.fixture
def window(site: Site, person: Person) -> "Iterator[Page]":
    """A browser behind a proxy that adds the person's token."""
    may_edit(person)
    with browser() as opened:
        context = opened.new_context(
            extra_http_headers={"Authorization": f"Bearer {person.token}"}, locale="en-GB", timezone_id="UTC"
        )
        context.set_default_timeout(PATIENCE)
        context.add_init_script(
            "delete window.SharedWorker"
        )  # playwright's proxy adds no headers to its requests
        page = context.new_page()
        page.goto(site.url)
        yield page


def replica(page: "Page", name: str, phase: str) -> "Locator":
    """The row of a replica in this phase."""
    return page.locator(f"#replica-{name}").filter(has=page.locator(".phase", has_text=phase))


def test_an_open_page_follows_the_pods(site: Site, window: "Page") -> None:
    bounds = {"enabled": True, "minReplicas": 1, "maxReplicas": 2, "expectedReplicas": 1}
    slow = replica_type("worker", 1, container={"args": ["train.py"]}, life={"start-seconds": 3})
    site.jobs.apply(job("watched", slow, elastic=bounds, torchrunConfig={"enabled": True}))
    window.goto(f"{site.url}/jobs")
    window.get_by_role("link", name="watched", exact=True).click()
    window.get_by_role("link", name="Replicas", exact=True).click()
    replica(window, "worker-0", "Running").wait_for()
    window.evaluate("document.body.dataset.same = 'yes'")  # the page is never loaded again
    site.jobs.kubectl("scale", "pj/watched", "--replicas=2")
    replica_row = replica(window, "worker-1", "Running")
    replica_row.wait_for()
    assert "node-" in replica_row.inner_text()
    window.get_by_role("link", name="Logs of worker-0").wait_for()
    site.jobs.end(f"{site.jobs.base('watched')}-worker-0")
    replica(window, "worker-0", "Succeeded").wait_for()
    assert window.evaluate("document.body.dataset.same") == "yes"


@pytest.mark.slow
def test_a_page_says_that_the_api_server_is_away_and_keeps_what_it_has(
    site: Site, cluster: ControlPlane, visitor: Visitor, window: "Page", tmp_path: Path
) -> None:
    started(site, "lasting")
    talk(site, "lasting", tmp_path / "pod.log")
    window.goto(f"{site.url}/jobs/{site.namespace}/{KIND}/lasting/replicas")
    replica(window, "worker-0", "Running").wait_for()
    banner = window.locator("#offline")
    with visitor.http.stream("GET", following(visitor, "lasting")) as followed:
        lines = followed.iter_lines()
        assert "step 1" in next(line for line in lines if '"lines"' in line)
        cluster.kill("kube-apiserver")
        assert '"ended": true' not in next(line for line in lines if line.startswith(":"))  # it goes on
    try:
        banner.wait_for()
        banner.filter(has_text="the API server").wait_for()
        window.wait_for_timeout(6_000)  # more than one refresh
        assert window.locator("#replica-worker-0").count() == 1
        assert window.locator("#notices .notice").count() == 0
    finally:
        cluster.start()
    banner.wait_for(state="hidden")
    site.jobs.patch("lasting", runMode={"pause": {"enabled": True}})
    replica(window, "worker-0", "Deleted").wait_for()
