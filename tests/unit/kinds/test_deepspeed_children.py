"""The objects of a DeepSpeedJob, point by point; whole jobs are in `tests/golden/`."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from statemachine.kinds import kind_of
from statemachine.kinds.deepspeedjob.launch import script
from statemachine.kinds.deepspeedjob.roles import slots_per_worker
from statemachine.owned import SSH_KEYS
from tests.unit.kinds.build import API, Spec, children, env, pod, pods, template
from tests.unit.kinds.deepspeed import DEBUG, ELASTIC, KIND, RUN, container, spec, state, worker

LINE = "exec deepspeed --hostfile=/t9k/hostfile --master_addr=gpt-worker-0 --master_port=29500"
SSHD = ["/usr/sbin/sshd", "-D"]


def trains(of: Spec, replica: str = "worker-0", *, resumed: bool = False) -> dict[str, Any]:
    """A pod's training container."""
    containers: dict[str, Any] = pod(state(of, resumed=resumed), replica)["spec"]["containers"][0]
    return containers


def launched(of: Spec, *, resumed: bool = False) -> str:
    """The last line of worker-0's script."""
    made = trains(of, resumed=resumed)
    assert made["command"][:2] == ["/bin/sh", "-c"]
    assert made["args"] == []
    return str(made["command"][2]).splitlines()[-1]


def hosts(of: Spec) -> str:
    """The hostfile."""
    return str(
        next(child["data"]["hostfile"] for child in children(state(of)) if child["kind"] == "ConfigMap")
    )


# ---- section 3 ------------------------------------------------------------------------------------------------


def test_children_come_in_the_order_of_creation() -> None:
    job = state(spec(scheduler={"t9kScheduler": {}}))
    assert [(child["kind"], child["metadata"]["name"]) for child in children(job)] == [
        ("PodGroup", "gpt"),
        ("Secret", "gpt-ssh"),
        ("ConfigMap", "gpt-hostfile"),
        ("Service", "gpt-pods"),
        ("Pod", "gpt-worker-0"),
        ("Pod", "gpt-worker-1"),
    ]


def ports(of: Spec) -> list[int]:
    """The ports of the Service."""
    (ports_there,) = (child["spec"]["ports"] for child in children(state(of)) if child["kind"] == "Service")
    return [port["port"] for port in ports_there]


@pytest.mark.parametrize("words", [["--master_port", "29501"], ["--master_port=1", "--master_port=29501"]])
def test_the_master_s_port_may_be_the_user_s(words: list[str]) -> None:
    of = spec(config={**RUN, "otherArgs": ["--force_multi", *words]})
    host = "exec deepspeed --hostfile=/t9k/hostfile --master_addr=gpt-worker-0"
    assert launched(of) == f"{host} --force_multi {' '.join(words)} train.py"
    assert ports(of) == [22, 29501]


def test_the_master_s_port_is_the_usual_one_unless_said() -> None:
    assert ports(spec()) == [22, 29500]
    custom = {"customCommand": "run", "otherArgs": ["--master_port=1"]}
    assert ports(spec(config=custom)) == [22, 29500]


def test_every_child_has_the_four_labels_and_its_owner() -> None:
    for child in children(state(spec(scheduler={"t9kScheduler": {}}))):
        labels = child["metadata"]["labels"]
        assert labels["tensorstack.dev/owner-name"] == "gpt"
        assert labels["tensorstack.dev/owner-kind"] == KIND
        assert labels["tensorstack.dev/component"] == "deepspeedjob"
        assert labels["tensorstack.dev/component-type"] == "user"
        (owner,) = child["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["controller"]) == (KIND, True)


def test_the_secret_holds_nothing_but_says_what_is_made_for_it() -> None:
    (child,) = [child for child in kind_of(API, KIND).children(state(spec())) if child.kind == "Secret"]
    assert child.generates == SSH_KEYS
    assert not child.mutable
    assert set(child.build()) == {"apiVersion", "kind", "metadata", "type"}


def test_the_hostfile_has_a_line_a_worker() -> None:
    assert hosts(spec(worker(2))) == "gpt-worker-0 slots=1\ngpt-worker-1 slots=1\n"
    assert hosts(spec(worker(9), config={**RUN, "slotsPerWorker": 2}, **ELASTIC)) == "gpt-worker-0 slots=2\n"


@pytest.mark.parametrize(
    ("limits", "slots"),
    [({"nvidia.com/gpu": "4"}, 4), ({"nvidia.com/gpu": 0}, 1), ({}, 1)],
)
def test_slots_are_the_gpus_unless_said(limits: dict[str, Any], slots: int) -> None:
    workers = worker(1, {"name": "sidecar", "image": "i"}, container(resources={"limits": limits}))
    assert hosts(spec(workers)) == f"gpt-worker-0 slots={slots}\n"
    assert hosts(spec(workers, config={**RUN, "slotsPerWorker": 3})) == "gpt-worker-0 slots=3\n"


def test_a_worker_has_a_slot_although_its_job_was_admitted_with_half_a_gpu() -> None:
    half = worker(1, container(resources={"limits": {"nvidia.com/gpu": "500m"}}))
    assert slots_per_worker(spec(half)) == 1


def test_keys_and_hostfile_are_mounted_after_the_user_s_own() -> None:
    own = {"name": "code", "mountPath": "/code"}
    pods_ = template(container(volumeMounts=[own]), volumes=[{"name": "code", "emptyDir": {}}])
    made = pod(state(spec({"replicas": 1, "template": pods_})))["spec"]
    assert made["volumes"] == [
        {"name": "code", "emptyDir": {}},
        {"name": "ssh-auth", "secret": {"secretName": "gpt-ssh", "defaultMode": 0o600}},
        {"name": "hostfile", "configMap": {"name": "gpt-hostfile"}},
    ]
    assert made["containers"][0]["volumeMounts"] == [
        own,
        {"name": "ssh-auth", "mountPath": "/root/.ssh", "readOnly": True},
        {"name": "hostfile", "mountPath": "/t9k/hostfile", "subPath": "hostfile"},
    ]


def test_only_the_training_container_changes() -> None:
    sidecar = {"name": "sidecar", "image": "i"}
    made = pod(state(spec(worker(1, sidecar, container()))))["spec"]["containers"]
    assert made[0] == sidecar
    assert {"command", "args", "env", "volumeMounts"} <= set(made[1])


def test_no_variable_is_added_but_for_the_buffer() -> None:
    own = [{"name": "LR", "value": "1"}]
    assert env(pod(state(spec(worker(1, container(env=own)))))) == {"PYTHONUNBUFFERED": "1", "LR": "1"}


def test_worker_0_is_the_master() -> None:
    manifests = pods(state(spec(worker(3))))
    assert [manifest["metadata"]["labels"].get("job-role") for manifest in manifests.values()] == [
        "master",
        None,
        None,
    ]


def test_the_group_is_as_large_as_the_fewest_workers() -> None:
    queue = {"scheduler": {"t9kScheduler": {"queue": "gpu"}}}
    assert children(state(spec(worker(3), **queue)))[0]["spec"]["minMember"] == 3
    elastic = {"elastic": {"enabled": True, "minReplicas": 2, "maxReplicas": 5, "expectedReplicas": 4}}
    job = state(spec(worker(3), **queue, **elastic))
    assert children(job)[0]["spec"]["minMember"] == 2
    assert len(pods(job)) == 4


# ---- section 4 ------------------------------------------------------------------------------------------------


def test_the_other_workers_serve_ssh() -> None:
    made = trains(spec(worker(2, container(command=["sleep"], args=["9"]))), "worker-1")
    assert (made["command"], made["args"]) == (SSHD, [])


def test_the_script_is_this_one() -> None:
    assert script(["deepspeed", "a b"], ["LR", "TOKEN"]).splitlines() == [
        "mkdir -p /run/sshd && /usr/sbin/sshd",
        "newline='",
        "'",
        "for name in LR TOKEN; do",
        '    eval "value=\\${$name-} found=\\${$name+yes}"',
        "    case $found$value in",
        "    '' | *\"$newline\"*) ;;",
        '    *) printf \'%s=%s\\n\' "$name" "$value" ;;',
        "    esac",
        "done >/root/.deepspeed_env",
        "while read -r host slots; do",
        "    tries=0",
        '    until ssh -o BatchMode=yes -o ConnectTimeout=2 "$host" true </dev/null; do',
        "        tries=$((tries + 1))",
        '        if [ "$tries" -ge 150 ]; then',
        '            echo "$host does not answer over SSH" >&2',
        "            exit 138",
        "        fi",
        "        sleep 2",
        "    done",
        "done </t9k/hostfile",
        "exec deepspeed 'a b'",
    ]


def test_without_custom_env_no_file_is_written() -> None:
    assert ".deepspeed_env" not in trains(spec(disableCustomEnv=True))["command"][2]
    assert ": >/root/.deepspeed_env" in trains(spec())["command"][2].splitlines()


def test_names_that_no_shell_can_export_stay_where_they_are() -> None:
    own = [{"name": name, "value": "1"} for name in ("A", "b.c", "_D", "A", "$(touch x)")]
    assert "for name in A _D; do" in trains(spec(worker(1, container(env=own))))["command"][2].splitlines()


@pytest.mark.parametrize(
    ("config", "end"),
    [
        (RUN, " train.py"),
        ({"run": {"python": "/t9k/mnt/train.py"}}, " /t9k/mnt/train.py"),
        ({"run": {"exec": ["./go", "a b"]}}, " --no_python ./go 'a b'"),
        (
            {
                "run": {"module": ["train.main", "--lr", "0.1"]},
                "localRank": False,
                "otherArgs": ["--no_ssh_check"],
            },
            " --no_local_rank --module --no_ssh_check train.main --lr 0.1",
        ),
        (
            {"run": {"python": ["train.py", "cfg.yml"]}, "autotune": "tune"},
            " --autotuning=tune train.py cfg.yml",
        ),
        (
            {**RUN, "localRank": False, "autotune": "run", "run": {"exec": ["x"]}},
            " --no_local_rank --autotuning=run --no_python x",
        ),
    ],
)
def test_the_launch_line_is_in_order(config: Spec, end: str) -> None:
    assert launched(spec(config=config)) == LINE + end


def test_a_custom_command_replaces_the_line() -> None:
    made = trains(spec(config={**RUN, "customCommand": "cd /x && ./go 'a'"}))["command"][2]
    assert made.endswith("\nexec sh -c 'cd /x && ./go '\"'\"'a'\"'\"''")
    assert "/usr/sbin/sshd" in made


def resume(**entry: Any) -> Spec:
    """A run mode whose resumeSpecs have one entry for `worker`."""
    return {"runMode": {"pause": {"enabled": True, "resumeSpecs": [{"type": "worker", **entry}]}}}


def test_resume_args_replace_those_of_the_program() -> None:
    of = spec(config={"run": {"module": ["train.main", "--lr", "1"]}}, **resume(args=["--resume"]))
    assert launched(of, resumed=True) == f"{LINE} --module train.main --resume"
    assert trains(of, "worker-1", resumed=True)["command"] == SSHD


def test_a_resume_command_replaces_everything() -> None:
    init = template(container(), initContainers=[container(name="init")])
    of = spec(
        {"replicas": 2, "template": init},
        **resume(command=["/usr/bin/sshd"], args=["-d"], skipInitContainer=True),
    )
    for replica in ("worker-0", "worker-1"):
        made = pod(state(of, resumed=True), replica)["spec"]
        assert (made["containers"][0]["command"], made["containers"][0]["args"]) == (
            ["/usr/bin/sshd"],
            ["-d"],
        )
        assert "initContainers" not in made


def test_resume_specs_may_just_skip_init_containers() -> None:
    init = template(container(), initContainers=[container(name="init")])
    of = spec({"replicas": 2, "template": init}, **resume(skipInitContainer=True))
    for replica in ("worker-0", "worker-1"):
        assert "initContainers" not in pod(state(of, resumed=True), replica)["spec"]
    assert launched(of, resumed=True) == f"{LINE} train.py"


def test_debug_runs_a_server_on_every_worker() -> None:
    of = spec(worker(2, container(livenessProbe={}, args=["x"])), config={"run": {"python": []}}, **DEBUG)
    for replica in ("worker-0", "worker-1"):
        made = trains(of, replica)
        assert (made["command"], made["args"]) == (SSHD, [])
        assert "livenessProbe" not in made
        assert [mount["name"] for mount in made["volumeMounts"]] == ["ssh-auth", "hostfile"]


def test_debug_needs_no_config() -> None:
    of = {"worker": worker(1), **DEBUG}
    assert trains(of)["command"] == SSHD
    assert hosts(of) == "gpt-worker-0 slots=1\n"


# ---- the script, run for real ---------------------------------------------------------------------------------

SSH = """#!/bin/sh
echo "$*" >>calls
for each; do
    case $each in {down}) exit 255 ;; esac
done
"""


def run_script(tmp_path: Path, text: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run it with its paths below `tmp_path`, and with programs that only note that they were called."""
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    down = more.pop("down", "nobody")
    for name, body in {
        "ssh": SSH.format(down=down),
        "sleep": '#!/bin/sh\necho "sleep $*" >>calls\n',
        "sshd": "#!/bin/sh\necho sshd >>calls\n",
        "deepspeed": '#!/bin/sh\necho "deepspeed $*" >>calls\nexit 7\n',
    }.items():
        (programs / name).write_text(body, encoding="utf-8")
        (programs / name).chmod(0o755)
    (tmp_path / "hostfile").write_text("gpt-worker-0 slots=1\ngpt-worker-1 slots=1\n", encoding="utf-8")
    for path, here in {
        "/usr/sbin/sshd": "sshd",
        "/run/sshd": str(tmp_path / "run"),
        "/root/.deepspeed_env": "deepspeed_env",
        "/t9k/hostfile": "hostfile",
    }.items():
        text = text.replace(path, here)
    return subprocess.run(
        ["/bin/sh", "-c", text],
        cwd=tmp_path,
        env={"PATH": f"{programs}:/usr/bin:/bin", **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_script_waits_for_the_workers_and_becomes_the_launcher(tmp_path: Path) -> None:
    ended = run_script(tmp_path, script(["deepspeed", "train.py"], []))
    assert (ended.returncode, ended.stderr) == (7, "")
    options = "-o BatchMode=yes -o ConnectTimeout=2"
    assert (tmp_path / "calls").read_text(encoding="utf-8").splitlines() == [
        "sshd",
        f"{options} gpt-worker-0 true",
        f"{options} gpt-worker-1 true",
        "deepspeed train.py",
    ]
    assert (tmp_path / "deepspeed_env").read_text(encoding="utf-8") == ""


def test_the_script_gives_up_on_a_worker_that_never_answers(tmp_path: Path) -> None:
    ended = run_script(tmp_path, script(["deepspeed"], None), down="gpt-worker-1")
    assert (ended.returncode, ended.stderr) == (138, "gpt-worker-1 does not answer over SSH\n")
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert sum("gpt-worker-1" in call for call in calls) == 150
    assert calls.count("sleep 2") == 149
    assert "deepspeed" not in calls
    assert not (tmp_path / "deepspeed_env").exists()


def test_the_script_hands_values_on_as_they_are(tmp_path: Path) -> None:
    values = {"LR": "0.1", "EMPTY": "", "QUOTED": "a 'b' \"c\" $d `e` \\n", "LINES": "a\nb", "ENDS": "a\n"}
    names = ["QUOTED", "LR", "LINES", "ABSENT", "EMPTY", "ENDS"]
    run_script(tmp_path, script(["deepspeed"], names), **values)
    assert (tmp_path / "deepspeed_env").read_text(encoding="utf-8").splitlines() == [
        f"QUOTED={values['QUOTED']}",
        "LR=0.1",
        "EMPTY=",
    ]
