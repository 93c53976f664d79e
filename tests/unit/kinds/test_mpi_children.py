"""The objects of an MPIJob: the launch line, the hostfile, and what the launcher has of the workers' pod."""

from typing import Any

import pytest

from tests.unit.kinds.build import Spec, children, env, pod
from tests.unit.kinds.mpi import DEBUG, NAME, container, spec, state, with_options, workers

GPU: Spec = {"nvidia.com/gpu": 4}


def launcher(of: Spec, **more: Any) -> Spec:
    """The spec of the launcher's pod."""
    manifest: Spec = pod(state(of, **more), "launcher-0")["spec"]
    return manifest


def line(of: Spec, **more: Any) -> list[str]:
    """The launcher's command line."""
    (only,) = launcher(of, **more)["containers"]
    return [*only["command"], *only["args"]]


def hosts(of: Spec) -> str:
    """The hostfile."""
    (manifest,) = [child for child in children(state(of)) if child["kind"] == "ConfigMap"]
    return str(manifest["data"]["hostfile"])


def with_env(*entries: Spec, options: tuple[str, ...] = ()) -> Spec:
    """A job whose MPI container has these variables."""
    return spec(workers(2, container(env=list(entries)), extraMPIArgs=list(options)))


ALWAYS = ["-x", "PATH", "-x", "LD_LIBRARY_PATH"]


def test_the_shortest_line() -> None:
    assert line(spec()) == ["mpirun", "--hostfile", "/t9k/hostfile", *ALWAYS, "./walk"]


def test_the_home_of_open_mpi_is_where_mpirun_is_and_its_daemons_are() -> None:
    whole = line(spec(mpiHome="/opt/ompi/"))
    assert whole[:3] == ["/opt/ompi/bin/mpirun", "--prefix", "/opt/ompi/"]


def test_parameters_are_in_the_order_of_their_names() -> None:
    whole = line(spec(mca={"pml": "ob1", "btl": "^openib"}))
    assert whole[3:9] == ["--mca", "btl", "^openib", "--mca", "pml", "ob1"]


def test_variables_of_the_container_reach_the_processes_whatever_their_values_are_from() -> None:
    entries: list[Spec] = [
        {"name": "NCCL_DEBUG", "value": "INFO"},
        {"name": "PATH", "value": "/opt/bin"},
        {"name": "HOST", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "NCCL_DEBUG", "value": "WARN"},
    ]
    exported = ["-x", "NCCL_DEBUG", "-x", "PATH", "-x", "HOST", "-x", "LD_LIBRARY_PATH"]
    assert line(with_env(*entries))[3:-1] == exported


@pytest.mark.parametrize("value", ["PATH", "PATH=/opt/bin"])
def test_a_variable_that_the_user_s_options_export_is_not_exported_twice(value: str) -> None:
    whole = line(with_env({"name": "A", "value": "b"}, options=("-x", value)))
    assert whole[3:-1] == ["-x", "A", "-x", "LD_LIBRARY_PATH", "-x", value]


@pytest.mark.parametrize(
    ("options", "slots"),
    [
        ((), 1),
        (("-N", "3"), 3),
        (("--N", "3"), 3),
        (("-npernode", "2"), 2),
        (("--npernode", "2"), 2),
        (("--map-by", "ppr:5:node"), 5),
        (("-map-by", "ppr:5:node:PE=2"), 5),
        (("--map-by", "ppr:5:socket"), 1),
        (("--map-by", "node"), 1),
        (("-N", "many"), 1),
        (("-N", "0"), 1),
        (("-N",), 1),
        (("-np", "7"), 1),
        (("--npernode", "2", "-N", "3"), 2),
    ],
)
def test_slots_are_what_the_options_ask_for(options: tuple[str, ...], slots: int) -> None:
    assert hosts(with_options(*options)) == "".join(f"{NAME}-worker-{at} slots={slots}\n" for at in (0, 1))


def test_slots_are_gpus_where_no_option_says_how_many() -> None:
    with_gpus = container(resources={"limits": GPU})
    assert hosts(spec(workers(1, with_gpus))) == f"{NAME}-worker-0 slots=4\n"
    assert hosts(spec(workers(1, with_gpus, extraMPIArgs=["-N", "2"]))) == f"{NAME}-worker-0 slots=2\n"


def test_a_worker_runs_sshd_with_the_keys_and_without_the_hostfile() -> None:
    of = spec(workers(2, container(command=["x"], args=["y"])), ssh={"sshdPath": "/opt/sshd"})
    (only,) = pod(state(of), "worker-1")["spec"]["containers"]
    assert (only["command"], only["args"]) == (["/opt/sshd", "-D"], [])
    assert [mount["name"] for mount in only["volumeMounts"]] == ["ssh-auth"]


def test_pods_have_the_labels_that_users_of_mpi_jobs_look_for() -> None:
    for name, role in (("worker-0", None), ("launcher-0", "master")):
        labels = pod(state(spec()), name)["metadata"]["labels"]
        assert {labels["app"], labels["mpi-job"], labels["mpijob"]} == {NAME}
        assert labels.get("job-role") == role


def test_the_controller_s_labels_win_over_the_template_s() -> None:
    of = spec()
    of["worker"]["template"]["metadata"] = {"labels": {"app": "other", "team": "a"}}
    labels = pod(state(of), "launcher-0")["metadata"]["labels"]
    assert (labels["app"], labels["team"]) == (NAME, "a")


FULL: Spec = {
    "imagePullPolicy": "Always",
    "workingDir": "/code",
    "env": [{"name": "A", "value": "b"}],
    "envFrom": [{"configMapRef": {"name": "more"}}],
    "volumeMounts": [{"name": "code", "mountPath": "/code"}],
    "securityContext": {"privileged": True},
}


def test_the_launcher_is_the_workers_pod_with_the_mpi_container_alone() -> None:
    mpi = container(
        **FULL,
        resources={"limits": GPU},
        ports=[{"containerPort": 1}],
        readinessProbe={"exec": {"command": ["true"]}},
        lifecycle={"preStop": {"exec": {"command": ["true"]}}},
    )
    of = spec(workers(2, {"name": "proxy", "image": "proxy:1"}, mpi))
    of["worker"]["template"]["spec"] |= {"volumes": [{"name": "code"}], "nodeSelector": {"a": "b"}}
    manifest = launcher(of)
    (only,) = manifest["containers"]
    assert {name: only[name] for name in FULL if name not in ("env", "volumeMounts")} == {
        name: value for name, value in FULL.items() if name not in ("env", "volumeMounts")
    }
    assert [variable["name"] for variable in only["env"]] == ["PYTHONUNBUFFERED", "A"]
    assert [mount["name"] for mount in only["volumeMounts"]] == ["code", "ssh-auth", "hostfile"]
    assert [volume["name"] for volume in manifest["volumes"]] == ["code", "ssh-auth", "hostfile"]
    assert manifest["nodeSelector"] == {"a": "b"}
    assert not {"ports", "readinessProbe", "lifecycle"} & {*only}
    assert only["resources"] == {
        "requests": {"cpu": "100m", "memory": "100Mi"},
        "limits": {"cpu": "200m", "memory": "200Mi"},
    }


def test_no_part_of_the_launcher_asks_for_devices() -> None:
    claim: Spec = {"claims": [{"name": "gpu"}]}
    of = spec(
        workers(2, container(resources={"limits": GPU, **claim})),
        launcher={"resources": {"limits": {"cpu": 2, **GPU}, "requests": GPU}},
    )
    fetch: Spec = {"name": "fetch", "image": "fetch:1", "resources": {"limits": {"cpu": 1, **GPU}, **claim}}
    of["worker"]["template"]["spec"] |= {
        "initContainers": [fetch, {"name": "plain", "image": "fetch:1"}],
        "resourceClaims": [{"name": "gpu"}],
        "resources": {"limits": {"cpu": 8}},
    }
    manifest = launcher(of)
    assert manifest["containers"][0]["resources"] == {"limits": {"cpu": 2}, "requests": {}}
    assert manifest["initContainers"][0]["resources"] == {"limits": {"cpu": 1}}
    assert manifest["initContainers"][1] == {"name": "plain", "image": "fetch:1"}
    assert not {"resourceClaims", "resources"} & {*manifest}
    whole = pod(state(of), "worker-0")["spec"]
    assert whole["resourceClaims"]
    assert whole["initContainers"][0] == fetch


def test_the_user_s_unbuffered_output_stays() -> None:
    of = spec(workers(2, container(env=[{"name": "PYTHONUNBUFFERED", "value": "0"}])))
    assert env(pod(state(of), "launcher-0")) == {"PYTHONUNBUFFERED": "0"}


def test_debug_has_the_launcher_sleep_and_the_workers_wait() -> None:
    of = spec(**DEBUG, ssh={"sshdPath": "/opt/sshd"})
    assert line(of) == ["sleep", "inf"]
    (only,) = pod(state(of), "worker-0")["spec"]["containers"]
    assert only["command"] == ["/opt/sshd", "-D"]


def test_debug_commands_are_the_user_s_and_init_containers_may_be_skipped() -> None:
    entries = [
        {"type": "launcher", "command": ["bash"], "skipInitContainer": True},
        {"type": "worker", "command": ["top"]},
    ]
    of = spec(runMode={"debug": {"enabled": True, "replicaSpecs": entries}})
    of["worker"]["template"]["spec"]["initContainers"] = [{"name": "fetch", "image": "fetch:1"}]
    assert line(of) == ["bash"]
    assert "initContainers" not in launcher(of)
    worker = pod(state(of), "worker-0")["spec"]
    assert (worker["containers"][0]["command"], len(worker["initContainers"])) == (["top"], 1)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"args": ["./other"]}, ["mpirun", "--hostfile", "/t9k/hostfile", *ALWAYS, "./other"]),
        ({"command": ["bash", "-c"], "args": ["true"]}, ["bash", "-c", "true"]),
        ({"command": ["bash"]}, ["bash"]),
    ],
)
def test_resume_specs_hold_once_a_pause_has_ended(entry: Spec, expected: list[str]) -> None:
    of = spec(runMode={"pause": {"resumeSpecs": [{"type": "launcher", **entry}]}})
    assert line(of)[-1] == "./walk"
    assert line(of, resumed=True) == expected


def test_resume_specs_of_workers_replace_sshd() -> None:
    of = spec(runMode={"pause": {"resumeSpecs": [{"type": "worker", "command": ["/opt/sshd", "-De"]}]}})
    (only,) = pod(state(of, resumed=True), "worker-0")["spec"]["containers"]
    assert (only["command"], only["args"]) == (["/opt/sshd", "-De"], [])


def test_only_the_workers_are_in_the_pod_group() -> None:
    job = state(spec(scheduler={"t9kScheduler": {"queue": "q", "priority": 50}}))
    (group,) = [child["spec"] for child in children(job) if child["kind"] == "PodGroup"]
    assert group == {"minMember": 2, "queue": "q", "priority": 50}
    label = "scheduler.tensorstack.dev/group-name"
    assert label in pod(job, "worker-0")["metadata"]["labels"]
    assert label not in pod(job, "launcher-0")["metadata"]["labels"]
