"""The controller's HTTP API asks a real API server who its callers are, and what they may."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.harness import Cluster, ControlPlane, wait_for
from tests.support.accounts import signed
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type
from tests.support.cluster_people import ANY, JOBS, Person
from tests.support.http import PLAIN

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def home(job_crds: Cluster) -> Iterator[str]:
    """The namespace of the jobs."""
    with job_crds.namespace("front") as name:
        yield name


@pytest.fixture(scope="module")
def address(job_crds: Cluster, home: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a controller of that namespace answers."""
    folder = tmp_path_factory.mktemp("front")
    with ControllerProcess(job_crds, folder, "--namespaces", home) as controller:
        wait_for("the controller", lambda: "working" in controller.said, within=240)
        match = re.search(r"http://\S+", controller.said)
        assert match is not None
        yield match[0]
        controller.stop()


@pytest.fixture(scope="module")
def jobs(job_crds: Cluster, home: str, address: str) -> Jobs:
    """A running job `train`, and one of another name."""
    jobs = Jobs(job_crds, home)
    jobs.apply(job("train"), job("other"))
    for name in ("train", "other"):
        jobs.wait(name, "phase", "Running")
    return jobs


@pytest.fixture
def person(job_crds: Cluster, home: str, tmp_path: Path) -> Person:
    """Somebody without any right."""
    return Person(job_crds, home, f"somebody-{time.monotonic_ns()}", tmp_path)


def ask(address: str, path: str, token: str, method: str = "GET", **request: Any) -> httpx.Response:
    headers = {"X-Jobledger-Token": token} if token else {}
    return PLAIN.request(method, f"{address}{path}", headers=headers, timeout=30, **request)


def said(response: httpx.Response, status: int) -> str:
    assert response.status_code == status, response.text
    return str(response.json()["detail"])


def test_health_and_metrics_need_no_token(address: str, jobs: Jobs) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert ask(address, path, "").status_code == 200


def test_nobody_comes_in_without_a_token_that_the_api_server_knows(address: str, jobs: Jobs) -> None:
    assert "token" in said(ask(address, "/v1/jobs", ""), 401)
    assert "not valid here" in said(ask(address, "/v1/jobs", "garbage"), 401)


def test_a_token_that_has_expired_opens_nothing(
    simulated: ControlPlane, address: str, person: Person
) -> None:
    """The API server gives none that is short enough to wait for, so this one is signed with its key."""
    yesterday = signed(simulated, person.token, -86400)
    assert "not valid here" in said(ask(address, "/v1/jobs", yesterday), 401)
    now = signed(simulated, person.token, 0)
    assert "no right" in said(ask(address, "/v1/jobs", now), 403)  # so it was not for its signature


def test_the_token_of_an_account_that_is_deleted_opens_nothing(
    job_crds: Cluster, address: str, person: Person
) -> None:
    job_crds.kubectl("delete", "serviceaccount", person.account, "-n", person.namespace)
    wait_for("no entrance", lambda: ask(address, "/v1/jobs", person.token).status_code == 401)


def test_a_right_that_is_missing_is_named_with_verb_resource_namespace_and_user(
    address: str, jobs: Jobs, person: Person
) -> None:
    home = person.namespace
    detail = said(ask(address, f"/v1/jobs?namespace={home}", person.token), 403)
    assert detail == f'"{person.name}" has no right to list {ANY} in namespace "{home}"'
    detail = said(ask(address, f"/v1/jobs/{home}/train", person.token), 403)
    assert detail == f'"{person.name}" has no right to get {ANY} in namespace "{home}"'


def test_who_may_read_reads_and_does_not_write(address: str, jobs: Jobs, person: Person) -> None:
    person.may("get,list", JOBS)
    home = person.namespace
    listed = ask(address, f"/v1/jobs?namespace={home}", person.token).json()["items"]
    assert [manifest["metadata"]["name"] for manifest in listed] == ["other", "train"]
    assert ask(address, f"/v1/jobs/{home}/train", person.token).json()["status"]["phase"] == "Running"
    why = ask(address, f"/v1/lives/{home}/train/why", person.token).json()
    assert "The job is running" in why["text"]
    history = ask(address, f"/v1/lives/{home}/train/history?data=true", person.token).json()
    assert [entry["seq"] for entry in history["data"]] == list(range(1, len(history["data"]) + 1))
    assert "patch" in said(ask(address, f"/v1/jobs/{home}/train/pause", person.token, "POST"), 403)
    assert "delete" in said(ask(address, f"/v1/jobs/{home}/train", person.token, "DELETE"), 403)
    assert "get pods/log" in said(ask(address, f"/v1/jobs/{home}/train/logs", person.token), 403)
    assert "list events" in said(ask(address, f"/v1/jobs/{home}/train/events", person.token), 403)


def test_the_right_in_one_namespace_is_none_in_all(address: str, jobs: Jobs, person: Person) -> None:
    person.may("get,list", JOBS)
    assert "across all namespaces" in said(ask(address, "/v1/jobs", person.token), 403)
    assert '"default"' in said(ask(address, "/v1/jobs?namespace=default", person.token), 403)
    with person.everywhere("list", JOBS):
        wait_for("the right", lambda: ask(address, "/v1/jobs", person.token).status_code == 200)


def test_a_right_to_one_name_is_a_right_to_that_name(
    job_crds: Cluster, address: str, jobs: Jobs, person: Person
) -> None:
    home, role = person.namespace, f"{person.account}-named"
    named = ("--verb=get", f"--resource={JOBS}", "--resource-name=train")
    job_crds.kubectl("create", "role", role, *named, "-n", home)
    subject = f"--serviceaccount={home}:{person.account}"
    job_crds.kubectl("create", "rolebinding", role, f"--role={role}", subject, "-n", home)
    assert ask(address, f"/v1/jobs/{home}/train", person.token).status_code == 200
    assert "get" in said(ask(address, f"/v1/jobs/{home}/other", person.token), 403)


def test_the_history_names_who_the_token_belongs_to(address: str, jobs: Jobs, person: Person) -> None:
    person.may("get,patch", JOBS)
    home = person.namespace
    jobs.apply(job("paused"))
    jobs.wait("paused", "phase", "Running")
    path = f"/v1/jobs/{home}/paused/pause"
    headers = {"Authorization": f"Bearer {person.token}", "X-Jobledger-Actor": "mallory"}
    assert PLAIN.post(address + path, headers=headers, timeout=30).status_code == 200
    jobs.wait("paused", "phase", "Paused")
    text = ask(address, f"/v1/lives/{home}/paused/history", person.token).json()["text"]
    assert f"by {person.name}" in text
    assert "mallory" not in text


def test_a_watch_ends_when_its_right_is_taken_away(
    job_crds: Cluster, address: str, jobs: Jobs, person: Person
) -> None:
    home, role = person.namespace, f"{person.account}-watcher"
    job_crds.kubectl("create", "role", role, "--verb=watch", f"--resource={JOBS}", "-n", home)
    subject = f"--serviceaccount={home}:{person.account}"
    job_crds.kubectl("create", "rolebinding", role, f"--role={role}", subject, "-n", home)
    headers = {"X-Jobledger-Token": person.token}
    with PLAIN.stream("GET", f"{address}/v1/watch?namespace={home}", headers=headers, timeout=60) as stream:
        sent = (json.loads(line) for line in stream.iter_lines())
        assert next(sent)["type"] == "ADDED"
        job_crds.kubectl("delete", "rolebinding", role, "-n", home)
        last = list(sent)[-1]
    assert (last["type"], last["object"]["status"]) == ("ERROR", 403)
    assert f'"{person.name}" has no right to watch' in last["object"]["detail"]


def test_logs_come_through_for_those_who_may_read_them(
    address: str, jobs: Jobs, person: Person, tmp_path: Path
) -> None:
    person.may("get", JOBS).may("get", "pods/log")
    log = tmp_path / "log"
    log.write_text("2026-01-01T00:00:00.000000000Z stdout F step 1\n")
    (pod,) = jobs.children("train").values()
    shown = {"logs": [{"logsFile": str(log)}]}
    jobs.kubectl("apply", "-f", "-", input=kwok("Logs", pod["metadata"]["name"], shown))
    path = f"/v1/jobs/{person.namespace}/train/logs"
    wait_for("the log", lambda: ask(address, path, person.token).text == "step 1\n")


def kwok(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    meta = {"name": name}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}


def test_a_body_without_an_end_is_cut_off(address: str, jobs: Jobs, person: Person) -> None:
    def without_end() -> Iterator[bytes]:
        while True:
            yield b" " * (1 << 20)

    try:
        response = ask(address, "/v1/jobs", person.token, "POST", content=without_end())
    except httpx.WriteError:
        return  # the server has closed the connection before we had read its answer
    assert "larger than 3 MiB" in said(response, 422)


def test_a_life_that_is_over_is_shown_to_those_who_could_have_read_it(
    address: str, jobs: Jobs, person: Person
) -> None:
    jobs.apply(job("brief", replica_type("worker", 1, life={"run-seconds": 0})))
    jobs.wait("brief", "phase", "Succeeded")
    jobs.delete("brief", "foreground")
    path = f"/v1/lives/{person.namespace}/brief/why"
    assert said(ask(address, path, person.token), 403)
    person.may("get", JOBS)

    def answer() -> str:
        response = ask(address, path, person.token)
        return str(response.json().get("text", ""))

    assert "succeeded" in wait_for("the answer", answer)
