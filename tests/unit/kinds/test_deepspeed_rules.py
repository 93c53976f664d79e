"""Rules DS1-DS11 of DeepSpeedJob, and what of the shared ones looks different there."""

from typing import Any

import pytest

from statemachine.kinds.deepspeedjob.options import options
from tests.unit.kinds.build import Spec, merged, notices, template, texts
from tests.unit.kinds.deepspeed import (
    DEBUG,
    ELASTIC,
    RUN,
    admit,
    container,
    spec,
    with_args,
    worker,
)

ONE = "spec.config.run: exactly one of python, module, exec must be set"
ARGS = "spec.config.otherArgs"
AT = "spec.worker.template.spec"


def test_a_whole_job_is_accepted() -> None:
    admission = admit(spec())
    assert (texts(admission), notices(admission)) == ([], [])
    assert admission.spec == {key: spec()[key] for key in ("worker", "config")}


# ---- the shared rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "longest"),
    [
        (spec(worker(10)), 54),
        (spec(worker(11)), 53),
        (spec(worker(10_000)), 51),
        (spec(worker(1), elastic={"enabled": True, "minReplicas": 1, "maxReplicas": 101}), 52),
        (spec(worker(101), **ELASTIC), 54),
    ],
)
def test_g2_leaves_room_for_the_digits_of_a_worker(of: Spec, longest: int) -> None:
    assert texts(admit(of, name="a" * longest)) == []
    assert texts(admit(of, name="a" * (longest + 1))) == [
        "metadata.name is too long: the name of a replica would exceed 63 characters"
    ]


def test_g5_and_g6_look_into_the_worker_s_template() -> None:
    resources = {"requests": {"cpu": 4}, "limits": {"cpu": 2}}
    assert texts(admit(spec(worker(1, container(resources=resources, image=""))))) == [
        f"{AT}.containers[0].image: Required value",
        f'{AT}.containers[0].resources.requests: Invalid value: "4": must be less than or equal to cpu limit of 2',
    ]


@pytest.mark.parametrize("types", [["ps"], ["worker", "worker"]])
def test_g7_knows_workers_only(types: list[str]) -> None:
    entries = [{"type": type_} for type_ in types]
    assert texts(admit(spec(runMode={"pause": {"resumeSpecs": entries}}))) == [
        "spec.runMode.pause.resumeSpecs: unknown or repeated replica type"
    ]
    assert texts(admit(spec(runMode={"pause": {"resumeSpecs": [{"type": "worker"}]}}))) == []


def test_g12_slots_have_an_older_spelling() -> None:
    admission = admit(spec(config={**RUN, "slotPerWorker": 2}))
    assert admission.spec["config"]["slotsPerWorker"] == 2
    assert notices(admission) == [
        ("DeprecatedField", "spec.config.slotPerWorker is deprecated, use spec.config.slotsPerWorker")
    ]
    both = {**RUN, "slotPerWorker": 2, "slotsPerWorker": 3}
    text = "spec.config.slotPerWorker is a deprecated alias of spec.config.slotsPerWorker; set only one"
    assert texts(admit(spec(config=both))) == [text]
    assert texts(admit(spec(config={**both, "slotPerWorker": 3}))) == []


def test_g12_a_string_is_split_as_a_shell_would() -> None:
    admission = admit(spec(config={"run": {"module": "train.main --name 'a b'"}}))
    assert admission.spec["config"]["run"] == {"module": ["train.main", "--name", "a b"]}
    assert notices(admission) == []


@pytest.mark.parametrize(
    ("run", "text"),
    [
        ("a 'b", 'spec.config.run.python: Invalid value: "a \'b": a quote is not closed'),
        (5, "spec.config.run.python: Invalid value: 5: must be of type array"),
        (["a", 5], "spec.config.run.python[1]: Invalid value: 5: must be of type string"),
    ],
)
def test_a_program_is_words(run: Any, text: str) -> None:
    assert texts(admit(spec(config={"run": {"python": run}}))) == [text]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"worker": worker(3)}, "worker.replicas"),
        ({"worker": worker(2, restartPolicy="Never")}, "worker.restartPolicy"),
        ({"config": {**RUN, "slotsPerWorker": 2}}, "config.slotsPerWorker"),
        ({"config": {"run": {"python": ["other.py"]}}}, "config.run"),
        ({"config": {"run": {"exec": ["train.py"]}}}, "config.run"),
        ({"config": {**RUN, "localRank": False}}, "config.localRank"),
        ({"config": {**RUN, "autotune": "run"}}, "config.autotune"),
        ({"config": {**RUN, "otherArgs": ["--no_ssh_check"]}}, "config.otherArgs"),
        ({"config": {**RUN, "customCommand": "true"}}, "config.customCommand"),
        ({"disableCustomEnv": True}, "disableCustomEnv"),
        ({"scheduler": {"t9kScheduler": {}}}, "scheduler"),
    ],
)
def test_g17_keeps_everything_but_what_may_change(change: dict[str, Any], field: str) -> None:
    admission = admit(merged(spec(), **change), spec())
    assert texts(admission) == [f"spec.{field} is immutable"]
    assert admission.changes == {}


def test_g17_is_not_broken_by_another_spelling() -> None:
    old = spec(config={"slotPerWorker": 1, "run": {"python": "train.py --lr 1"}})
    new = spec(
        config={
            "slotsPerWorker": 1,
            "run": {"python": ["train.py", "--lr", "1"]},
            "localRank": True,
            "autotune": "none",
        },
        disableCustomEnv=False,
    )
    admission = admit(new, old)
    assert (texts(admission), admission.changes) == ([], {})


def test_the_run_policy_and_the_wished_scale_may_change() -> None:
    old = spec(**ELASTIC)
    admission = admit(
        merged(old, elastic={**ELASTIC["elastic"], "expectedReplicas": 2}, runPolicy={"backoffLimit": 5}), old
    )
    assert texts(admission) == []
    assert admission.changes == {"spec.elastic.expectedReplicas": 2, "spec.runPolicy.backoffLimit": 5}


# ---- DS1-DS11 -------------------------------------------------------------------------------------------------


def test_ds1_one_program_and_no_more() -> None:
    assert texts(admit(spec(config={"run": {"python": ["a.py"], "exec": ["b"]}}))) == [ONE]
    assert texts(admit(spec(config={"run": {"python": ["a.py"], "module": []}}))) == [ONE]
    assert texts(admit(spec(config={}))) == [ONE]
    assert texts(admit(spec(config={"run": {}}))) == [ONE]
    for name in ("python", "module", "exec"):
        assert texts(admit(spec(config={"run": {name: ["a"]}}))) == []


def test_ds1_nothing_need_be_run_with_a_command_or_in_debug() -> None:
    assert texts(admit(spec(config={"customCommand": "make train"}))) == []
    assert texts(admit(spec(config={}, **DEBUG))) == []


def test_ds1_config_is_needed_but_in_debug() -> None:
    bare = {"worker": worker()}
    assert texts(admit(bare)) == ["spec.config: Required value"]
    assert texts(admit({**bare, **DEBUG})) == []


@pytest.mark.parametrize("name", ["python", "module", "exec"])
@pytest.mark.parametrize("nothing", [[], "", "  "])
def test_ds2_the_program_is_not_empty(name: str, nothing: Any) -> None:
    config = {"run": {name: nothing}}
    assert texts(admit(spec(config=config))) == [f"spec.config.run.{name}: Required value"]
    assert texts(admit(spec(config=config, **DEBUG))) == []


@pytest.mark.parametrize(
    ("word", "option", "field"),
    [
        ("--no_local_rank", "--no_local_rank", "localRank"),
        ("--autotuning=run", "--autotuning", "autotune"),
        ("--autotuning", "--autotuning", "autotune"),
        ("--autot=run", "--autotuning", "autotune"),
        ("--module", "--module", "run"),
        ("--no_python", "--no_python", "run"),
    ],
)
def test_ds3_other_fields_are_not_set_twice(word: str, option: str, field: str) -> None:
    assert texts(admit(with_args("--force_multi", word))) == [
        f'{ARGS}: "{option}" conflicts with spec.config.{field}'
    ]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--hostfile=/h"], "--hostfile"),
        (["--hostfile", "/h"], "--hostfile"),
        (["-H", "/h"], "-H"),
        (["-H/h"], "-H"),
        (["--master_addr=a"], "--master_addr"),
        (["--num_nodes=1"], "--num_nodes"),
        (["--include", "a"], "--include"),
        (["-i", "a"], "-i"),
        (["--exclude=a"], "--exclude"),
        (["-e=a"], "-e"),
    ],
)
def test_ds4_hosts_are_the_controller_s(words: list[str], option: str) -> None:
    assert texts(admit(with_args(*words))) == [f'{ARGS}: "{option}" is set by the controller']


@pytest.mark.parametrize("words", [["--master_port", "29501"], ["--master_port=1"], ["--master_po=65535"]])
def test_ds4_the_master_s_port_is_the_user_s_to_set(words: list[str]) -> None:
    assert texts(admit(with_args(*words))) == []


@pytest.mark.parametrize("word", ["0", "65536", "22", "-1", "x", "", "029500", "$(PORT)"])
def test_ds4_the_master_s_port_is_a_port(word: str) -> None:
    must = "must be a port from 1 to 65535, and not 22, which is SSH's"
    assert texts(admit(with_args(f"--master_port={word}"))) == [f'{ARGS}: --master_port "{word}" {must}']
    assert texts(admit(spec(config={"customCommand": "a", "otherArgs": [f"--master_port={word}"]}))) == []


def test_ds4_lets_all_other_options_pass() -> None:
    good = [
        "--no_ssh_check",
        "--num_gpus=2",
        "--ssh_port",
        "2222",
        "--launcher_args",
        "-e x",
        "--elastic_training",
    ]
    assert texts(admit(with_args(*good))) == []


@pytest.mark.parametrize("words", [["--launcher", "openmpi"], ["--launcher=openmpi"]])
def test_ds5_only_pdsh_starts_processes(words: list[str]) -> None:
    assert texts(admit(with_args(*words))) == [f'{ARGS}: launcher "openmpi" is not supported, only pdsh']


@pytest.mark.parametrize("words", [["--launcher", "pdsh"], ["--launcher=PDSH"]])
def test_ds5_pdsh_may_be_said(words: list[str]) -> None:
    assert texts(admit(with_args(*words))) == []


def test_ds5_a_launcher_is_named() -> None:
    assert texts(admit(with_args("--launcher"))) == [f'{ARGS}: launcher "" is not supported, only pdsh']


@pytest.mark.parametrize(
    "word", ["--save_pid", "--enable_each_rank_log=d", "--bind_cores_to_rank", "--bind_core_list=1"]
)
def test_ds6_what_pdsh_lacks_needs_a_single_worker(word: str) -> None:
    option = word.partition("=")[0]
    text = f'{ARGS}: "{option}" is not supported with more than one worker'
    assert texts(admit(with_args(word))) == [text]
    assert texts(admit(with_args(word, replicas=1))) == []
    assert texts(admit(with_args(word, replicas=1, **ELASTIC))) == [text]


@pytest.mark.parametrize(
    "ignored", [RUN, {"otherArgs": ["--force_multi"]}, {"autotune": "run"}, {"localRank": False}]
)
def test_ds7_warns_of_what_a_command_makes_void(ignored: dict[str, Any]) -> None:
    message = "spec.config.customCommand is set; other config fields except slotsPerWorker are ignored"
    admission = admit(spec(config={"customCommand": "true", **ignored}))
    assert (texts(admission), notices(admission)) == ([], [("ConfigIgnored", message)])
    alone = {"customCommand": "true", "slotsPerWorker": 2, "autotune": "none", "localRank": True}
    assert notices(admit(spec(config=alone))) == []


@pytest.mark.parametrize(
    "path", ["/root/.ssh", "/root/.ssh/", "/root/.ssh/keys", "/t9k/hostfile", "/root/.deepspeed_env"]
)
def test_ds8_paths_are_reserved(path: str) -> None:
    mounts = [{"name": "code", "mountPath": "/t9k/mnt"}, {"name": "code", "mountPath": path}]
    pods = template(container(volumeMounts=mounts), volumes=[{"name": "code"}])
    admission = admit(spec({"replicas": 1, "template": pods}))
    where = f"{AT}.containers[0].volumeMounts[1].mountPath"
    assert texts(admission) == [f'{where}: "{path}" is reserved by the controller']


def test_ds8_paths_beside_them_are_free_and_so_are_other_containers() -> None:
    mounts = [{"name": "code", "mountPath": path} for path in ("/root", "/root/.sshd", "/t9k", "/t9k/hosts")]
    sidecar = {"name": "sidecar", "image": "i", "volumeMounts": [{"name": "code", "mountPath": "/root/.ssh"}]}
    pods = template(container(volumeMounts=mounts), sidecar, volumes=[{"name": "code"}])
    assert texts(admit(spec({"replicas": 1, "template": pods}))) == []


@pytest.mark.parametrize("name", ["ssh-auth", "hostfile"])
def test_ds8_volume_names_are_reserved(name: str) -> None:
    pods = template(container(), volumes=[{"name": "code"}, {"name": name}])
    admission = admit(spec({"replicas": 1, "template": pods}))
    assert texts(admission) == [f'{AT}.volumes[1].name: "{name}" is reserved by the controller']


@pytest.mark.parametrize(
    ("elastic", "text"),
    [
        ({"enabled": True}, "spec.elastic: minReplicas and maxReplicas are required"),
        ({"minReplicas": 3, "maxReplicas": 2}, "spec.elastic: must satisfy 1 <= minReplicas <= maxReplicas"),
        (
            {"minReplicas": 1, "maxReplicas": 2, "expectedReplicas": 3},
            "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas",
        ),
    ],
)
def test_ds9_bounds_the_scale(elastic: dict[str, Any], text: str) -> None:
    admission = admit(spec(elastic=elastic))
    assert texts(admission) == [text]
    assert {problem.rule for problem in admission.problems} == {"DS9"}


def test_ds9_keeps_the_range() -> None:
    old = spec(**ELASTIC)
    for name, value in (("minReplicas", 2), ("maxReplicas", 4), ("enabled", False)):
        admission = admit(
            merged(old, elastic={**ELASTIC["elastic"], name: value, "expectedReplicas": 2}), old
        )
        assert texts(admission) == [f"spec.elastic.{name} is immutable"]


def test_ds10_elastic_jobs_are_not_tuned() -> None:
    text = "spec.elastic: cannot be combined with config.autotune"
    assert texts(admit(spec(config={**RUN, "autotune": "tune"}, **ELASTIC))) == [text]
    assert texts(admit(spec(config={**RUN, "autotune": "none"}, **ELASTIC))) == []


def test_ds11_warns_of_variables_of_several_lines() -> None:
    env = [{"name": "A", "value": "x\ny"}, {"name": "B", "value": "x"}]
    of = spec(worker(1, container(env=env)))
    assert notices(admit(of)) == [("EnvNotForwarded", 'env "A" spans several lines and is not forwarded')]
    assert notices(admit(merged(of, disableCustomEnv=True))) == []


def test_g19_workers_are_bounded() -> None:
    (problem,) = admit(spec(worker(10_001))).problems
    assert (problem.rule, str(problem)) == (
        "G19",
        "spec.worker.replicas: Invalid value: 10001: must be less than or equal to 10000",
    )


@pytest.mark.parametrize(
    ("word", "name"),
    [("--master_p=1", "--master_port"), ("--mas=1", "--mas"), ("--unheard_of=1", "--unheard_of")],
)
def test_a_beginning_of_an_option_stands_for_the_only_one_that_begins_so(word: str, name: str) -> None:
    assert list(options([word])) == [(name, "1")]
