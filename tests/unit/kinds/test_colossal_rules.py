"""Rules CA1-CA8 of ColossalAIJob, and the shared ones where this kind has its own paths."""

from typing import Any

import pytest

from tests.unit.kinds.build import Spec, notices, of_rule, texts
from tests.unit.kinds.colossal import (
    DEBUG,
    admit,
    container,
    old_launcher,
    old_spec,
    old_workers,
    spec,
    with_torch_args,
    workers,
)

FORM = "spec: set either launcher and worker, or the deprecated torchConfig and replicaSpecs"
NOT_PASSED = "cannot be passed to colossalai run"
CONTAINERS = "spec.worker.template.spec.containers"


def without(whole: Spec, *names: str) -> Spec:
    """A spec that lacks some fields."""
    return {name: value for name, value in whole.items() if name not in names}


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


def test_g6_compares_what_the_launcher_asks_for() -> None:
    resources = {"requests": {"cpu": 2}, "limits": {"cpu": 1}}
    assert texts(admit(spec(launcher={"image": "a", "resources": resources}))) == [
        'spec.launcher.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'
    ]


def test_g6_compares_what_the_workers_ask_for() -> None:
    resources = {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
    admission = admit(spec(workers(2, container(resources=resources))))
    assert [problem.path for problem in of_rule(admission, "G6")] == [f"{CONTAINERS}[0].resources.requests"]


def test_g6_wants_objects_and_quantities_for_the_launcher() -> None:
    assert texts(admit(spec(launcher={"image": "a", "resources": {"limits": 5}}))) == [
        "spec.launcher.resources.limits: Invalid value: 5: must be of type object"
    ]
    assert texts(admit(spec(launcher={"image": "a", "resources": {"limits": {"cpu": "many"}}}))) == [
        'spec.launcher.resources.limits[cpu]: Invalid value: "many": must be a quantity such as 2, 500m or 4Gi'
    ]


@pytest.mark.parametrize("path", ["debug.replicaSpecs", "pause.resumeSpecs"])
def test_g7_knows_launcher_and_worker_only(path: str) -> None:
    mode, _, field = path.partition(".")

    def asked(*types: str) -> list[str]:
        return texts(admit(spec(runMode={mode: {field: [{"type": type_} for type_ in types]}})))

    assert asked("launcher", "worker") == []
    text = f"spec.runMode.{path}: unknown or repeated replica type"
    assert asked("worker", "worker") == [text]
    assert asked("ps") == ([] if mode == "debug" else [text])


def test_g18_warns_of_types_to_debug_that_there_are_not() -> None:
    ((reason, message),) = notices(admit(spec(runMode={"debug": {"replicaSpecs": [{"type": "ps"}]}})))
    assert (reason, message.partition(";")[0]) == (
        "DebugTypeIgnored",
        'runMode.debug.replicaSpecs: no replica type "ps"',
    )


def test_g12_the_other_spelling_of_the_mount_path_is_taken() -> None:
    admission = admit(spec(ssh={"sshAuthMountPath": "/keys"}))
    assert admission.spec["ssh"] == {"authMountPath": "/keys"}
    message = "spec.ssh.sshAuthMountPath is deprecated, use spec.ssh.authMountPath"
    assert notices(admission) == [("DeprecatedField", message)]
    both = {"sshAuthMountPath": "/keys", "authMountPath": "/root/.ssh"}
    assert [problem.rule for problem in admit(spec(ssh=both)).problems] == ["G12"]


@pytest.mark.parametrize(
    ("new", "field"),
    [
        (spec(workers(3)), "worker.replicas"),
        (spec(workers(procPerWorker=2)), "worker.procPerWorker"),
        (spec(workers(command=["other.py"])), "worker.command"),
        (spec(workers(torchArgs=["--max_restarts=1"])), "worker.torchArgs"),
        (spec(launcher={"image": "other"}), "launcher.image"),
        (spec(launcher={"image": "colossalai:1", "workingDir": "/w"}), "launcher.workingDir"),
        (spec(launcher={"image": "colossalai:1", "env": [{"name": "A"}]}), "launcher.env"),
        (spec(ssh={"authMountPath": "/keys"}), "ssh.authMountPath"),
        (spec(ssh={"sshAuthMountPath": "/keys"}), "ssh.authMountPath"),
        (spec(ssh={"sshdPath": "/bin/sshd"}), "ssh.sshdPath"),
        (spec(scheduler={"t9kScheduler": {}}), "scheduler"),
    ],
)
def test_g17_keeps_everything_but_pause_and_clean_up(new: Spec, field: str) -> None:
    assert texts(admit(new, spec())) == [f"spec.{field} is immutable"]


def test_g17_writing_a_default_is_no_change() -> None:
    new = spec(workers(procPerWorker=1), ssh={"authMountPath": "/root/.ssh", "sshdPath": "/usr/sbin/sshd"})
    assert texts(admit(new, spec())) == []


def test_clean_up_and_pause_may_change() -> None:
    new = spec(runPolicy={"cleanUpWorkers": True}, runMode={"pause": {"enabled": True}})
    admission = admit(new, spec())
    assert admission.changes == {"spec.runPolicy.cleanUpWorkers": True, "spec.runMode.pause.enabled": True}


def test_edits_of_resources_and_templates_are_reported_and_have_no_effect() -> None:
    new = spec(
        workers(2, container(image="other")),
        launcher={"image": "colossalai:1", "resources": {"limits": {"cpu": 1}}},
    )
    admission = admit(new, spec())
    assert admission.frozen == (
        "spec.launcher.resources",
        "spec.worker.template.spec.containers[0].image",
    )
    assert admission.spec == spec()


# ---- CA1-CA8 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        {},
        without(spec(), "launcher"),
        without(spec(), "worker"),
        without(old_spec(), "torchConfig"),
        without(old_spec(), "replicaSpecs"),
        {**spec(), "torchConfig": {"script": ["a.py"]}},
        {**spec(), "replicaSpecs": old_spec()["replicaSpecs"]},
        {**spec(), **old_spec()},
        old_spec(old_launcher()),
        old_spec(old_launcher(), old_workers(), old_workers()),
        old_spec(old_launcher(), old_workers(), {"type": "ps"}),
        old_spec(old_launcher(), old_workers(type="ps")),
    ],
)
def test_ca1_wants_one_form_and_the_whole_of_it(broken: Spec) -> None:
    assert [str(problem) for problem in of_rule(admit(broken), "CA1")] == [FORM]


def test_ca1_a_null_is_no_form() -> None:
    assert texts(admit({**spec(), "torchConfig": None, "replicaSpecs": None})) == []


def test_ca2_wants_a_container_called_worker() -> None:
    sidecar = container(name="proxy")
    assert texts(admit(spec(workers(2, sidecar)))) == [
        f'{CONTAINERS}: a container named "worker" is required'
    ]
    assert texts(admit(spec(workers(2, sidecar, container())))) == []


@pytest.mark.parametrize("command", [None, []])
def test_ca3_wants_a_training_script(command: Any) -> None:
    lacking = workers(command=command)
    assert texts(admit(spec(lacking))) == ["spec.worker.command: Required value"]
    assert texts(admit(spec(lacking, **DEBUG))) == []


def test_ca3_refuses_words_that_are_no_strings() -> None:
    assert texts(admit(spec(workers(command=["train.py", 5])))) == [
        "spec.worker.command[1]: Invalid value: 5: must be of type string"
    ]


@pytest.mark.parametrize(
    ("first", "suspicious"), [("train.py", False), ("-m", False), ("python", True), ("./run.sh", True)]
)
def test_ca4_warns_of_what_the_launcher_program_refuses(first: str, suspicious: bool) -> None:
    message = "spec.worker.command[0] should be a .py file or -m"
    expected = [("CommandSuspicious", message)] if suspicious else []
    assert notices(admit(spec(workers(command=[first, "x"])))) == expected


@pytest.mark.parametrize(
    ("args", "bad"),
    [
        ([], []),
        (["--max_restarts=3", "--rdzv_id", "7"], []),
        (["--no-python"], []),
        (["--no-python", "--max_restarts", "3"], []),
        (["a"], [0]),
        (["--tee=3", "x"], [1]),
        (["--a", "b", "c"], [2]),
        (["-m"], [0]),
        (["--"], [0]),
        (["--a=b,c"], [0]),
        (["--a,b"], [0]),
        (["--a", "b,c"], [0]),
        (["--a=b=c"], [0]),
        (["--a", "b=c"], [0]),
        (["--a="], [0]),
        (["--a", ""], [0]),
        (["--master_addr=h"], [0]),
        (["--tee=1", "--master-port", "1"], [1]),
        (["--nproc_per_node=2", "--nnodes=1", "--node_rank", "0"], [0, 1, 2]),
        (["--nnodes_x=1"], []),
    ],
)
def test_ca5_refuses_what_the_launcher_program_cannot_hand_on(args: list[str], bad: list[int]) -> None:
    expected = [f"spec.worker.torchArgs[{index}]: {NOT_PASSED}" for index in bad]
    assert texts(admit(with_torch_args(*args))) == expected


@pytest.mark.parametrize("field", [{"command": ["python"]}, {"args": ["x"]}])
def test_ca6_warns_of_a_command_that_has_no_effect(field: Spec) -> None:
    message = 'command of container "worker" is ignored, it runs sshd'
    assert notices(admit(spec(workers(2, container(**field))))) == [("CommandIgnored", message)]


@pytest.mark.parametrize("field", ["authMountPath", "sshdPath"])
def test_ca7_paths_are_absolute(field: str) -> None:
    assert texts(admit(spec(ssh={field: "usr/sbin/sshd"}))) == [f"spec.ssh.{field}: must be an absolute path"]


@pytest.mark.parametrize(
    ("path", "keys", "taken"),
    [
        ("/root/.ssh", None, True),
        ("/root/.ssh/", None, True),
        ("/root/.ssh/keys", None, True),
        ("/root/.ssh2", None, False),
        ("/keys", "/keys", True),
        ("/root/.ssh", "/keys", False),
        ("/t9k/hostfile", None, True),
        ("/workspace", None, False),
    ],
)
def test_ca7_the_controller_s_mounts_are_not_the_user_s(path: str, keys: str | None, taken: bool) -> None:
    mounts = [{"name": "v", "mountPath": path}]
    more = {"ssh": {"authMountPath": keys}} if keys else {}
    expected = f'{CONTAINERS}[0].volumeMounts[0].mountPath: "{path}" is reserved by the controller'
    worker = workers(2, container(volumeMounts=mounts))
    worker["template"]["spec"]["volumes"] = [{"name": "v"}]
    admission = admit(spec(worker, **more))
    assert texts(admission) == ([expected] if taken else [])


def test_ca7_the_controller_s_volumes_are_not_the_user_s() -> None:
    worker = workers()
    worker["template"]["spec"]["volumes"] = [{"name": "ssh-auth"}, {"name": "data"}, {"name": "hostfile"}]
    path = "spec.worker.template.spec.volumes"
    assert texts(admit(spec(worker))) == [
        f'{path}[0].name: "ssh-auth" is reserved by the controller',
        f'{path}[2].name: "hostfile" is reserved by the controller',
    ]


@pytest.mark.parametrize("launcher", [{}, {"image": ""}])
def test_ca8_wants_an_image_of_the_launcher(launcher: Spec) -> None:
    assert texts(admit(spec(launcher=launcher))) == ["spec.launcher.image: Required value"]


def test_r10_resume_specs_mean_nothing_in_debug_mode() -> None:
    mode = {**DEBUG["runMode"], "pause": {"resumeSpecs": [{"type": "worker"}]}}
    assert [reason for reason, _ in notices(admit(spec(runMode=mode)))] == ["ResumeSpecsIgnored"]


def test_g19_workers_are_bounded() -> None:
    (problem,) = admit(spec(workers(10_001))).problems
    assert (problem.rule, str(problem)) == (
        "G19",
        "spec.worker.replicas: Invalid value: 10001: must be less than or equal to 10000",
    )


@pytest.mark.parametrize(
    ("launcher", "sentence"),
    [
        ({"image": "a b"}, 'image: Invalid value: "a b": must not contain blanks'),
        ({"env": [{"name": "A=B"}]}, "env[0].name: Invalid value: \"A=B\": must not contain '=' or NUL"),
        (
            {"env": [{"name": "A", "value": "\0"}]},
            'env[0].value: Invalid value: "\\u0000": must not contain NUL',
        ),
        (
            {"resources": {"limits": {"cpu": "-1"}}},
            'resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
    ],
)
def test_g20_looks_into_the_launcher(launcher: Spec, sentence: str) -> None:
    admission = admit(spec(launcher={"image": "a", **launcher}))
    assert texts(admission) == [f"spec.launcher.{sentence}"]
    assert [problem.rule for problem in admission.problems] == ["G20"]
