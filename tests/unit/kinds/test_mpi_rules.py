"""Rules MP1-MP8 of MPIJob, and the shared ones where this kind has its own paths."""

from typing import Any

import pytest

from tests.unit.kinds.build import Spec, notices, of_rule, texts
from tests.unit.kinds.mpi import (
    DEBUG,
    admit,
    container,
    old_launcher,
    old_spec,
    old_workers,
    spec,
    with_options,
    without,
    workers,
)

FORM = "spec: set either worker, or the deprecated mpiConfig and replicaSpecs"
CONTAINERS = "spec.worker.template.spec.containers"
OPTIONS = "spec.worker.extraMPIArgs"


def with_launcher(**resources: Any) -> Spec:
    """A job whose launcher has these resources."""
    return spec(launcher={"resources": resources})


def test_a_good_spec_has_nothing_wrong_and_nothing_suspicious() -> None:
    assert (texts(admit(spec())), notices(admit(spec()))) == ([], [])


# ---- shared rules -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "longest"), [(1, 54), (10, 54), (11, 53), (10_000, 51)])
def test_g2_leaves_room_for_the_digits_of_the_index(number: int, longest: int) -> None:
    for of in (spec(workers(number)), old_spec(old_launcher(), old_workers(replicas=number))):
        assert texts(admit(of, name="a" * longest)) == []
        assert [problem.rule for problem in admit(of, name="a" * (longest + 1)).problems] == ["G2"]


def test_g5_names_the_template_of_the_workers() -> None:
    assert texts(admit(spec(workers(2, container(image=""))))) == [f"{CONTAINERS}[0].image: Required value"]


def test_g6_compares_what_launcher_and_workers_ask_for() -> None:
    resources = {"requests": {"cpu": 2}, "limits": {"cpu": 1}}
    sentence = 'Invalid value: "2": must be less than or equal to cpu limit of 1'
    assert texts(admit(with_launcher(**resources))) == [f"spec.launcher.resources.requests: {sentence}"]
    admission = admit(spec(workers(2, container(resources=resources))))
    assert texts(admission) == [f"{CONTAINERS}[0].resources.requests: {sentence}"]


def test_g20_looks_into_the_launcher() -> None:
    admission = admit(with_launcher(limits={"cpu": "-1"}))
    sentence = 'Invalid value: "-1": must be greater than or equal to 0'
    assert texts(admission) == [f"spec.launcher.resources.limits[cpu]: {sentence}"]
    assert [problem.rule for problem in admission.problems] == ["G20"]


@pytest.mark.parametrize("path", ["debug.replicaSpecs", "pause.resumeSpecs"])
def test_g7_knows_launcher_and_worker_only(path: str) -> None:
    mode, _, field = path.partition(".")

    def asked(*types: str) -> list[str]:
        return texts(admit(spec(runMode={mode: {field: [{"type": type_} for type_ in types]}})))

    assert asked("launcher", "worker") == []
    text = f"spec.runMode.{path}: unknown or repeated replica type"
    assert asked("worker", "worker") == [text]
    assert asked("ps") == ([] if mode == "debug" else [text])


def test_g12_the_other_spelling_of_the_mount_path_is_taken() -> None:
    admission = admit(spec(ssh={"authMountPath": "/keys"}))
    assert admission.spec["ssh"] == {"sshAuthMountPath": "/keys"}
    message = "spec.ssh.authMountPath is deprecated, use spec.ssh.sshAuthMountPath"
    assert notices(admission) == [("DeprecatedField", message)]
    both = {"sshAuthMountPath": "/keys", "authMountPath": "/root/.ssh"}
    assert [problem.rule for problem in admit(spec(ssh=both)).problems] == ["G12"]


@pytest.mark.parametrize(
    ("new", "field"),
    [
        (spec(workers(3)), "worker.replicas"),
        (spec(workers(cmd=["./other"])), "worker.cmd"),
        (with_options("-N", "2"), "worker.extraMPIArgs"),
        (spec(workers(processesPerWorker=2)), "worker.extraMPIArgs"),
        (spec(workers(processRecovery={"enable": True})), "worker.extraMPIArgs"),
        (spec(mca={"btl": "self"}), "mca"),
        (spec(mpiHome="/usr"), "mpiHome"),
        (spec(ssh={"sshAuthMountPath": "/keys"}), "ssh.sshAuthMountPath"),
        (spec(ssh={"authMountPath": "/keys"}), "ssh.sshAuthMountPath"),
        (spec(ssh={"sshdPath": "/bin/sshd"}), "ssh.sshdPath"),
        (spec(scheduler={"t9kScheduler": {}}), "scheduler"),
    ],
)
def test_g17_keeps_everything_but_pause_and_clean_up(new: Spec, field: str) -> None:
    assert texts(admit(new, spec())) == [f"spec.{field} is immutable"]


def test_g17_writing_a_default_is_no_change() -> None:
    new = spec(
        workers(processRecovery={"enable": False}),
        ssh={"sshAuthMountPath": "/root/.ssh", "sshdPath": "/usr/sbin/sshd"},
    )
    assert texts(admit(new, spec())) == []


def test_clean_up_and_pause_may_change() -> None:
    new = spec(runPolicy={"cleanUpWorkers": True}, runMode={"pause": {"enabled": True}})
    admission = admit(new, spec())
    assert admission.changes == {"spec.runPolicy.cleanUpWorkers": True, "spec.runMode.pause.enabled": True}


def test_edits_of_resources_and_templates_are_reported_and_have_no_effect() -> None:
    new = spec(workers(2, container(image="other")), launcher={"resources": {"limits": {"cpu": 1}}})
    admission = admit(new, spec())
    assert admission.frozen == ("spec.worker.template.spec.containers[0].image", "spec.launcher.resources")
    assert admission.spec == spec()


def test_g19_workers_are_bounded() -> None:
    (problem,) = admit(spec(workers(10_001))).problems
    assert (problem.rule, str(problem)) == (
        "G19",
        "spec.worker.replicas: Invalid value: 10001: must be less than or equal to 10000",
    )


def test_r10_resume_specs_mean_nothing_in_debug_mode() -> None:
    mode = {**DEBUG["runMode"], "pause": {"resumeSpecs": [{"type": "worker"}]}}
    assert [reason for reason, _ in notices(admit(spec(runMode=mode)))] == ["ResumeSpecsIgnored"]


# ---- MP1-MP8 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        {},
        without(old_spec(), "mpiConfig"),
        without(old_spec(), "replicaSpecs"),
        {**spec(), "mpiConfig": {"script": ["./walk"]}},
        {**spec(), "replicaSpecs": old_spec()["replicaSpecs"]},
        {**spec(), **old_spec()},
        {**old_spec(), "mca": {}},
        {**old_spec(), "mpiHome": "/usr"},
        {**old_spec(), "launcher": {}},
        old_spec(old_launcher()),
        old_spec(old_launcher(), old_launcher(), old_workers()),
        old_spec(old_workers(), old_workers()),
        old_spec(old_launcher(), old_workers(), {"type": "ps"}),
        old_spec(old_launcher(), old_workers(type="ps")),
    ],
)
def test_mp1_wants_one_form_and_the_whole_of_it(broken: Spec) -> None:
    assert [str(problem) for problem in of_rule(admit(broken), "MP1")] == [FORM]


def test_mp1_a_null_is_no_form() -> None:
    assert texts(admit({**spec(), "mpiConfig": None, "replicaSpecs": None})) == []
    assert texts(admit({**old_spec(), "worker": None, "mca": None})) == []


@pytest.mark.parametrize("name", ["mpi-worker", "worker"])
def test_mp2_wants_a_container_for_mpi(name: str) -> None:
    sidecar = container(name="main")
    assert texts(admit(spec(workers(2, sidecar)))) == [
        f'{CONTAINERS}: a container named "mpi-worker" is required'
    ]
    assert texts(admit(spec(workers(2, sidecar, container(name=name))))) == []


@pytest.mark.parametrize("command", [None, []])
def test_mp3_wants_a_program(command: Any) -> None:
    lacking = workers(cmd=command)
    assert texts(admit(spec(lacking))) == ["spec.worker.cmd: Required value"]
    assert texts(admit(spec(lacking, **DEBUG))) == []


@pytest.mark.parametrize("field", ["sshAuthMountPath", "sshdPath"])
def test_mp4_paths_of_ssh_are_absolute(field: str) -> None:
    assert texts(admit(spec(ssh={field: "usr/sbin/sshd"}))) == [f"spec.ssh.{field}: must be an absolute path"]


def test_mp4_the_home_of_open_mpi_is_absolute() -> None:
    assert texts(admit(spec(mpiHome="usr"))) == ["spec.mpiHome: must be an absolute path"]
    old = old_spec(mpi={"home": "usr", "script": ["./walk"]})
    assert texts(admit(old)) == ["spec.mpiConfig.home: must be an absolute path"]


@pytest.mark.parametrize(
    "option",
    ["--hostfile", "-hostfile", "--machinefile", "-machinefile", "-H", "-host", "--host", "--host=a"],
)
def test_mp5_the_hosts_are_the_controller_s(option: str) -> None:
    sentence = f'{OPTIONS}: "{option}" is set by the controller'
    assert texts(admit(with_options("-N", "1", option, "x"))) == [sentence]


def test_mp5_says_a_repeated_option_once_and_takes_all_others() -> None:
    admission = admit(with_options("-H", "a", "-H", "b", "--host", "c"))
    assert texts(admission) == [
        f'{OPTIONS}: "{option}" is set by the controller' for option in ("-H", "--host")
    ]
    assert texts(admit(with_options("--hostfiles", "-h", "-np", "4"))) == []


@pytest.mark.parametrize("field", [{"command": ["python"]}, {"args": ["x"]}])
def test_mp6_warns_of_a_command_that_has_no_effect(field: Spec) -> None:
    message = 'command of container "mpi-worker" is ignored, it runs sshd'
    assert notices(admit(spec(workers(2, container(**field))))) == [("CommandIgnored", message)]


@pytest.mark.parametrize(
    ("path", "keys", "taken"),
    [
        ("/root/.ssh", None, True),
        ("/root/.ssh/keys", None, True),
        ("/keys", "/keys", True),
        ("/root/.ssh", "/keys", False),
        ("/t9k/hostfile", None, True),
        ("/workspace", None, False),
    ],
)
def test_mp7_the_controller_s_mounts_are_not_the_user_s(path: str, keys: str | None, taken: bool) -> None:
    more = {"ssh": {"sshAuthMountPath": keys}} if keys else {}
    worker = workers(2, container(volumeMounts=[{"name": "v", "mountPath": path}]))
    worker["template"]["spec"]["volumes"] = [{"name": "v"}]
    sentence = f'{CONTAINERS}[0].volumeMounts[0].mountPath: "{path}" is reserved by the controller'
    assert texts(admit(spec(worker, **more))) == ([sentence] if taken else [])


def test_mp7_the_controller_s_volumes_are_not_the_user_s() -> None:
    worker = workers()
    worker["template"]["spec"]["volumes"] = [{"name": "ssh-auth"}, {"name": "data"}, {"name": "hostfile"}]
    path = "spec.worker.template.spec.volumes"
    assert texts(admit(spec(worker))) == [
        f'{path}[0].name: "ssh-auth" is reserved by the controller',
        f'{path}[2].name: "hostfile" is reserved by the controller',
    ]


def test_mp8_warns_of_devices_for_the_launcher() -> None:
    gpu = {"nvidia.com/gpu": 1}
    admission = admit(with_launcher(requests=gpu, limits={**gpu, "cpu": 1, "rdma/hca": 1}))
    sentence = 'spec.launcher.resources: "{}" is ignored: the launcher gets no devices'
    assert texts(admission) == []
    assert notices(admission) == [
        ("ConfigIgnored", sentence.format(name)) for name in ("nvidia.com/gpu", "rdma/hca")
    ]


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"mca": {"btl": 5}}, "spec.mca.btl: Invalid value: 5: must be of type string"),
        ({"mca": ["btl"]}, 'spec.mca: Invalid value: "array": must be of type object'),
        (
            {"worker": workers(cmd="./walk")},
            'spec.worker.cmd: Invalid value: "./walk": must be of type array',
        ),
        (
            {"worker": workers(processesPerWorker=0)},
            "spec.worker.processesPerWorker: Invalid value: 0: must be greater than or equal to 1",
        ),
        (
            {"worker": workers(processRecovery={"enable": "yes"})},
            'spec.worker.processRecovery.enable: Invalid value: "yes": must be of type boolean',
        ),
        (
            {"worker": workers(processesPerWorker=2, extraMPIArgs=["-v", 5])},
            "spec.worker.extraMPIArgs[1]: Invalid value: 5: must be of type string",
        ),
    ],
)
def test_values_of_wrong_types_are_named_where_they_are(broken: Spec, sentence: str) -> None:
    assert texts(admit(spec(**broken) if "worker" not in broken else broken)) == [sentence]
