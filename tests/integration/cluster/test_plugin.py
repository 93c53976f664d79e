"""`kubectl jobledger` as people with different rights type it, against a real API server and a real controller.

The port-forward ends in a simulated pod, whose node passes it on. The API server proxies to addresses of pods only,
and to none of the loopback interface: what is behind its proxy is left to `tests/unit/plugin/test_ways.py`.
"""

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Cluster, ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type
from tests.support.cluster_people import ANY, JOBS, Person

pytestmark = pytest.mark.integration


# ---- a cluster with a controller ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(job_crds: Cluster) -> Iterator[str]:
    """The namespace of the jobs."""
    with job_crds.namespace("plugin") as name:
        yield name


@pytest.fixture(scope="module")
def port(job_crds: Cluster, home: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Where a controller of that namespace answers."""
    folder = tmp_path_factory.mktemp("plugin")
    options = ("--namespaces", home, "--listen", "127.0.0.1:0")
    with ControllerProcess(job_crds, folder, *options) as controller:
        wait_for("the controller", lambda: "working" in controller.said, within=240)
        match = re.search(r"http://\S+:(\d+)", controller.said)
        assert match is not None
        yield int(match[1])
        controller.stop()


@pytest.fixture(scope="module")
def jobs(job_crds: Cluster, home: str, port: int) -> Jobs:
    """`train` runs, `done` has succeeded, `gone` has succeeded and is deleted."""
    jobs = Jobs(job_crds, home)
    brief = replica_type("worker", 1, life={"run-seconds": 0})
    jobs.apply(job("train", replica_type("worker", 2)), job("done", brief), job("gone", brief))
    jobs.wait("train", "phase", "Running")
    jobs.wait("done", "phase", "Succeeded")
    jobs.wait("gone", "phase", "Succeeded")
    jobs.delete("gone", "foreground")
    return jobs


@pytest.fixture(scope="module")
def reader(job_crds: Cluster, home: str, tmp_path_factory: pytest.TempPathFactory) -> Person:
    """Somebody who may see jobs, their events and logs, and change nothing."""
    person = Person(job_crds, home, "reader", tmp_path_factory.mktemp("reader"))
    return person.may("get,list,watch", f"{JOBS},pods,events").may("get", "pods/log")


@pytest.fixture(scope="module")
def writer(job_crds: Cluster, home: str, tmp_path_factory: pytest.TempPathFactory) -> Person:
    """Somebody who may change jobs, too."""
    return Person(job_crds, home, "writer", tmp_path_factory.mktemp("writer")).may("get,list,patch", JOBS)


@pytest.fixture
def nobody(job_crds: Cluster, home: str, tmp_path: Path) -> Person:
    """Somebody without any right."""
    return Person(job_crds, home, f"nobody-{time.monotonic_ns()}", tmp_path)


def out(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def err(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The one sentence on standard error."""
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith("jobledger: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("jobledger: ").rstrip("\n")


# ---- in the name of the user -------------------------------------------------------------------------------


def test_get_lists_jobs_of_the_contexts_namespace_as_the_command_line_does(
    jobs: Jobs, reader: Person
) -> None:
    titles, *rows = [line.split() for line in out(reader.asks("get")).splitlines()]
    assert titles == ["NAME", "KIND", "PHASE", "RUNNING", "RESTARTS", "AGE"]
    columns = {name: (kind, phase, running) for name, kind, phase, running, *_ in rows}
    assert columns["train"] == ("PyTorchTrainingJob", "Running", "2/2")
    assert columns["done"][1] == "Succeeded"
    assert "gone" not in columns


def test_get_takes_names_phases_and_forms(jobs: Jobs, reader: Person) -> None:
    assert "train" not in out(reader.asks("get", "--phase", "Succeeded"))
    one = json.loads(out(reader.asks("get", "train", "-o", "json")))
    assert one["status"] == jobs.status("train")
    assert out(reader.asks("get", "train", "-o", "yaml")).startswith(
        "apiVersion: batch.tensorstack.dev/v1beta1\n"
    )


def test_all_namespaces_need_the_right_in_all(jobs: Jobs, reader: Person) -> None:
    assert "at the cluster scope" in err(reader.asks("get", "-A"), 1)
    with reader.everywhere("list", JOBS):
        wait_for("the right", lambda: reader.asks("get", "-A").returncode == 0)
        titles, *rows = out(reader.asks("get", "-A")).splitlines()
    assert titles.startswith("NAMESPACE ")
    assert any(row.split()[:2] == [reader.namespace, "train"] for row in rows)


def test_a_namespace_of_others_is_forbidden_in_a_sentence(jobs: Jobs, reader: Person) -> None:
    said = err(reader.asks("get", "-n", "default"), 1)
    assert f'User "{reader.name}" cannot list resource "' in said
    said = err(reader.asks("get", "train", "-n", "default"), 1)
    assert f'User "{reader.name}" cannot get resource "' in said


def test_an_unknown_name_is_answered_with_the_nearest(jobs: Jobs, reader: Person) -> None:
    said = err(reader.asks("get", "trian"), 2)
    assert said == f'no job "trian" in namespace "{jobs.namespace}"; did you mean "train"?'
    assert "`kubectl jobledger get -A`" in err(reader.asks("describe", "xxxxxxxx"), 2)


def test_describe_shows_conditions_replicas_and_events(jobs: Jobs, reader: Person) -> None:
    wanted = ("Phase:      Running", "All pods are running normally.", "worker-1", "Created")

    def missing() -> list[str]:
        said = out(reader.asks("describe", "train"))
        return [text for text in wanted if text not in said]

    wait_for("it shows all of these", lambda: not missing(), 60)


def test_a_watch_goes_on_until_ctrl_c(jobs: Jobs, reader: Person) -> None:
    command = reader.command("get", "--watch")
    with subprocess.Popen(
        command,
        env={**reader.environment(), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("NAME ")
        jobs.apply(job("watched"))
        assert any(line.startswith("watched ") for line in watching.stdout)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 130
        assert watching.stderr is not None
        assert watching.stderr.read() == ""


def test_pausing_and_resuming_need_the_right_and_tell_the_history_who_it_was(
    jobs: Jobs, reader: Person, writer: Person, port: int
) -> None:
    jobs.apply(job("held"))
    jobs.wait("held", "phase", "Running")
    assert 'cannot patch resource "pytorchtrainingjobs"' in err(reader.asks("pause", "held"), 1)
    said = out(writer.asks("pause", "held"))
    assert said == "held is being paused; `kubectl jobledger resume held` lets it go on\n"
    jobs.wait("held", "phase", "Paused")
    assert out(writer.asks("resume", "held")) == "held is being resumed\n"
    jobs.wait("held", "phase", "Running")
    history = out(writer.asks("history", "held", "--server", f"http://127.0.0.1:{port}"))
    assert f"by {writer.name} with kubectl jobledger pause" in history


def test_a_finished_job_is_not_paused(jobs: Jobs, writer: Person) -> None:
    for verb, done in (("pause", "paused"), ("resume", "resumed")):
        said = err(writer.asks(verb, "done"), 1)
        assert said == f'job "done" cannot be {done}: it has ended (Succeeded)'


def test_pausing_what_is_not_there_names_the_nearest(jobs: Jobs, writer: Person) -> None:
    assert 'did you mean "train"?' in err(writer.asks("pause", "trains"), 2)
    assert "there is no job kind" in err(writer.asks("pause", "train", "--kind", "PyTorchJop"), 2)


# ---- logs --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def logged(simulated: ControlPlane, jobs: Jobs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the log files of `train`'s replicas, named after them."""
    folder = tmp_path_factory.mktemp("logs")
    for replica, pod in jobs.children("train").items():
        file = folder / replica
        file.write_text(f"2026-01-01T00:00:00.000000000Z stdout F {replica} says hello\n")
        jobs.kubectl(
            "apply", "-f", "-", input=kwok("Logs", pod, {"logs": [{"logsFile": str(file), "follow": True}]})
        )
    return folder


def kwok(kind: str, pod: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    meta = {name: pod["metadata"][name] for name in ("name", "namespace")}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}


def test_logs_are_those_of_the_primary_of_a_replica_or_of_all(
    jobs: Jobs, reader: Person, logged: Path
) -> None:
    wait_for("a log", lambda: reader.asks("logs", "train").stdout == "worker-0 says hello\n")
    other = ("logs", "train", "-r", "worker-1")
    wait_for("the other's", lambda: reader.asks(*other).stdout)
    assert out(reader.asks(*other)) == "worker-1 says hello\n"
    assert out(reader.asks("logs", "train", "--all")).splitlines() == [
        "[worker-0] worker-0 says hello",
        "[worker-1] worker-1 says hello",
    ]


def test_what_has_no_log_is_a_sentence(jobs: Jobs, reader: Person, writer: Person, logged: Path) -> None:
    assert "it has worker-0, worker-1" in err(reader.asks("logs", "train", "-r", "worker-7"), 2)
    assert "it has pytorch" in err(reader.asks("logs", "train", "-c", "sidecar"), 2)
    assert 'cannot list resource "pods"' in err(writer.asks("logs", "train"), 1)


def test_following_shows_what_is_written_until_ctrl_c(jobs: Jobs, reader: Person, logged: Path) -> None:
    with subprocess.Popen(
        reader.command("logs", "train", "-f"), env=reader.environment(), stdout=subprocess.PIPE, text=True
    ) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "worker-0 says hello\n"
        with (logged / "worker-0").open("a") as file:
            file.write("2026-01-01T00:00:01.000000000Z stdout F and goodbye\n")
        assert following.stdout.readline() == "and goodbye\n"
        following.send_signal(signal.SIGINT)
        assert following.wait(60) == 130


# ---- the controller's answers ------------------------------------------------------------------------------


def test_why_and_history_come_from_an_address(jobs: Jobs, reader: Person, port: int) -> None:
    server = ("--server", f"http://127.0.0.1:{port}")
    assert "The job is running" in out(reader.asks("why", "train", *server))
    head, first, *_ = out(reader.asks("history", "train", *server)).splitlines()
    assert head.split() == ["SEQ", "TIME", "PHASE", "SEEN", "DECIDED"]
    assert "JobAdmitted" in first
    entries = json.loads(out(reader.asks("history", "train", "-o", "json", "--seq", "1", *server)))
    assert [entry["seq"] for entry in entries] == [1]
    assert json.loads(out(reader.asks("why", "train", "-o", "json", *server)))["phase"] == "Running"


def test_lives_that_are_over_are_still_shown(jobs: Jobs, reader: Person, port: int) -> None:
    server = ("--server", f"http://127.0.0.1:{port}")
    done = reader.asks("why", f"{jobs.namespace}/gone", *server)
    assert "succeeded" in out(done)
    assert "(deleted since, at " in done.stderr
    uid = json.loads(out(reader.asks("why", "gone", "-o", "json", *server)))["job"]["uid"]
    assert "succeeded" in out(reader.asks("why", uid[:13], *server))


def test_questions_that_are_none_are_sentences(jobs: Jobs, reader: Person, port: int) -> None:
    server = ("--server", f"http://127.0.0.1:{port}")
    assert 'did you mean "train"?' in err(reader.asks("why", "trains", *server), 2)
    assert "names no entries" in err(reader.asks("history", "train", "--seq", "x", *server), 2)
    assert "is no moment" in err(reader.asks("why", "train", "--at", "x", *server), 2)


def test_the_controller_shows_nothing_that_the_api_server_would_not(
    jobs: Jobs, nobody: Person, reader: Person, port: int
) -> None:
    server = ("--server", f"http://127.0.0.1:{port}")
    for verb in ("why", "history"):
        said = err(nobody.asks(verb, "train", *server), 1)
        assert said == f'"{nobody.name}" has no right to get {ANY} in namespace "{jobs.namespace}"'
    assert '"default"' in err(reader.asks("why", "train", "-n", "default", *server), 1)


def test_a_token_that_is_none_is_said_by_the_controller(jobs: Jobs, reader: Person, port: int) -> None:
    server = ("--server", f"http://127.0.0.1:{port}")
    said = err(reader.asks("why", "train", "--token-file", "-", *server, input="garbage\n"), 2)
    assert said.startswith("the controller does not accept your token: ")


# ---- the ways to it ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forwarded(simulated: ControlPlane, port: int) -> Iterator[str]:
    """A namespace whose Service `jobledger` is a simulated pod: forwards get through, the proxy does not."""
    with simulated.namespace("forwarded") as name:
        pod = controller_pod(name)
        forward = {"forwards": [{"ports": [8080], "target": {"address": "127.0.0.1", "port": port}}]}
        given = [service(name, selector=pod["metadata"]["labels"]), pod, kwok("PortForward", pod, forward)]
        simulated.kubectl("create", "-f", "-", input=given)
        simulated.kubectl("wait", "pod/jobledger", "-n", name, "--for=condition=Ready", "--timeout=90s")
        yield name


def controller_pod(namespace: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": "jobledger"}
    container = {"name": "main", "image": "none", "ports": [{"name": "http", "containerPort": 8080}]}
    meta = {"name": "jobledger", "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


def service(namespace: str, selector: dict[str, str] | None = None) -> dict[str, Any]:
    spec = {"ports": [{"name": "http", "port": 8080}], "selector": selector}
    meta = {"name": "jobledger", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


def test_by_a_port_forward_where_the_proxy_is_closed(jobs: Jobs, reader: Person, forwarded: str) -> None:
    place = ("--controller-namespace", forwarded)
    said = err(reader.asks("why", "train", *place), 3)
    assert "can be reached neither through the API server" in said
    assert "nor by a port-forward" in said
    reader.may("create", "pods/portforward", forwarded).may("get,list", "pods,services", forwarded)
    wait_for("the right", lambda: reader.asks("why", "train", *place).returncode == 0)
    assert "JobAdmitted" in out(reader.asks("history", "train", "--via", "port-forward", *place))
    assert left_behind(forwarded) == []


def test_the_proxy_takes_a_right_and_a_controller_that_is_ready(
    jobs: Jobs, reader: Person, forwarded: str
) -> None:
    """As far as the API server goes here: it proxies to no loopback address, and there is no other."""
    asked = ("why", "train", "--via", "proxy", "--controller-namespace", forwarded)
    assert 'cannot get resource "services/proxy"' in err(reader.asks(*asked), 3)
    reader.may("get", "services/proxy", forwarded)
    wait_for("the API server to look", lambda: "there is no service" in reader.asks(*asked).stderr)


def left_behind(namespace: str) -> list[str]:
    """Command lines of port-forwards into the namespace that still run."""
    commands = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "port-forward" in words and f"--namespace={namespace}" in words:
            commands.append(" ".join(words))
    return commands


def test_without_a_controller_it_says_where_one_was_looked_for(jobs: Jobs, reader: Person, home: str) -> None:
    reader.may("get", "services/proxy", home)

    def said() -> str:
        return reader.asks("why", "train", "--controller-namespace", home).stderr

    wanted = f'there is no service "jobledger" in namespace "{home}"'
    wait_for("the sentence", lambda: wanted in said())
