"""What becomes of a pod with SSH keys on one machine."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from k8s_bridge.kubelet import notices
from k8s_bridge.kubelet.mounts import LocalVolume, Roots
from k8s_bridge.kubelet.podspec import Host, PodPlan, plan
from k8s_bridge.kubelet.values import Capacity
from k8s_bridge.port import Manifest
from statemachine.errors import Refused
from tests.unit.bridge.words import config_map, pod

VOLUMES = "/data/pods/p-1/volumes"
HOME = f"{VOLUMES}/ssh-auth"
ROOTS = Roots(VOLUMES, "/data/volumes/demo")
SERVICES = {"ds-worker-0": {22: 21000, 29500: 21001}, "ds-worker-1": {22: 21002, 29500: 21003}}
FIRST, SECOND = "127.82.8.1", "127.82.10.1"
KEYS = {"id_rsa": "private", "authorized_keys": "public", "config": "Host *\n"}
HOST = Host(
    env={"PATH": "/usr/bin", "HOME": "/home/ada"},
    which=lambda program, _path: f"/usr/bin/{program}",
    is_folder=lambda _: False,
    capacity=Capacity(8, 1 << 34),
    folder="/work",
    fallback="/opt/own/python",
)


def secret(**data: str) -> Manifest:
    encoded = {
        key.replace("_pub", ".pub"): base64.b64encode(value.encode()).decode() for key, value in data.items()
    }
    return {**config_map("ds-ssh"), "kind": "Secret", "data": encoded}


def planned(
    *words: str,
    at: str = "/root/.ssh",
    keys: dict[str, str] = KEYS,
    host: Host = HOST,
    pod_name: str = "ds-worker-0",
    **container: Any,
) -> PodPlan:
    mounts = [
        {"name": "ssh-auth", "mountPath": at},
        {"name": "hostfile", "mountPath": "/t9k/hostfile", "subPath": "hostfile"},
    ]
    volumes = [
        {"name": "ssh-auth", "secret": {"secretName": "ds-ssh", "defaultMode": 0o600}},
        {"name": "hostfile", "configMap": {"name": "ds-hostfile"}},
    ]
    main = {"name": "worker", "command": list(words) or ["run"], "volumeMounts": mounts, **container}
    raw = pod(name=pod_name, spec={"containers": [main, {"name": "side", "command": ["ds-worker-1"]}]})
    raw["spec"]["volumes"] = volumes
    raw["metadata"]["uid"] = "p-1"
    lines = "ds-worker-0 slots=2\nds-worker-1 slots=2\nelsewhere\n"
    objects = {"Secret": secret(**keys), "ConfigMap": config_map("ds-hostfile", hostfile=lines)}
    return plan(raw, host, ROOTS, SERVICES, lambda kind, _name: objects[kind])


def words(*said: str, **more: Any) -> list[str]:
    return list(planned("run", *said, **more).main[0].argv[1:])


def volume(pod_plan: PodPlan, name: str) -> LocalVolume:
    return next(volume for volume in pod_plan.volumes if volume.name == name)


def text(pod_plan: PodPlan, name: str, file: str) -> str:
    return (volume(pod_plan, name).files or {})[file].decode()


@pytest.mark.parametrize(
    ("said", "here"),
    [
        ("/usr/sbin/sshd", f"{HOME}/bin/sshd"),
        ("mkdir -p /run/sshd && /usr/sbin/sshd", f"mkdir -p {HOME}/run && {HOME}/bin/sshd"),
        ("mkdir -p /var/run/sshd", f"mkdir -p {HOME}/run"),
        ("/etc/ssh/sshd_config", "/etc/ssh/sshd_config"),
        ("cat /root/.ssh/config", f"cat {HOME}/.ssh/config"),
        (">/root/.deepspeed_env", f">{HOME}/.deepspeed_env"),
        ("/root/train.py", "/root/train.py"),
        ("--hostfile=/t9k/hostfile", f"--hostfile={VOLUMES}/hostfile.at-start/worker/hostfile"),
        ("ssh ds-worker-1 true", f"ssh {SECOND} true"),
        ("ssh ds-worker-1.demo.svc", f"ssh {SECOND}"),
        ("--include=ds-worker-1:0", f"--include={SECOND}:0"),
        ("ds-worker-1:29500", "127.0.0.1:21003"),
    ],
)
def test_paths_and_names_of_ssh_are_those_of_this_machine(said: str, here: str) -> None:
    assert words(said) == [here]


@pytest.mark.parametrize("path", ["/usr/bin", f"{HOME}/bin:/usr/bin"])
def test_a_wrapper_starts_the_program_of_the_machine_though_wrappers_are_there_already(path: str) -> None:
    """When a pod's files are written again, those of the first time come first on the PATH of its sessions."""
    programs = {
        f"{folder}/{name}" for folder in (f"{HOME}/bin", "/usr/bin") for name in ("ssh", "scp", "sshd")
    }

    def which(program: str, path: str) -> str | None:
        candidates = (f"{folder}/{program}" for folder in path.split(":"))
        return next((candidate for candidate in candidates if candidate in programs), None)

    own = {**HOST.env, "PATH": path}
    tools = volume(planned(host=replace(HOST, which=which, env=own)), "ssh-auth.home").files or {}
    for name in ("ssh", "scp", "sshd"):
        assert f'exec "/usr/bin/{name}" ' in tools[f"bin/{name}"].decode()


@pytest.mark.parametrize(
    "said",
    [
        ("--master_addr=ds-worker-1", "--master_port=29500"),
        ("--master-addr", "ds-worker-1", "--master-port", "29500"),
        ("--master_port=29500", "--master_addr=ds-worker-1"),
        ("deepspeed --master_addr=ds-worker-1 --master_port=29500 train.py --master_portal=29500",),
    ],
)
def test_the_port_beside_the_masters_address_is_the_one_of_its_service(said: tuple[str, ...]) -> None:
    script = " ".join(words(*said))
    assert SECOND in script
    assert "21003" in script
    assert "portal=29500" in script or "29500" not in script


def test_a_master_of_another_name_keeps_its_port() -> None:
    said = ["--master_addr=10.0.0.1", "--master_port=29500"]
    assert words(*said) == said


def test_a_port_of_the_master_is_chosen_without_ssh_too() -> None:
    raw = pod(name="p", command=["run", "--master_addr=ds-worker-1", "--master_port=29500"])
    raw["metadata"]["uid"] = "p-1"
    pod_plan = plan(raw, HOST, ROOTS, SERVICES, lambda _kind, _name: None)
    assert pod_plan.main[0].argv[1:] == ("--master_addr=127.0.0.1", "--master_port=21003")
    assert pod_plan.ssh is None


def test_the_client_finds_every_worker_by_name_and_by_address() -> None:
    config = text(planned(), "ssh-auth", "config")
    assert f"Host ds-worker-1 ds-worker-1.demo ds-worker-1.demo.svc {SECOND}\n" in config
    assert "    HostName 127.0.0.1\n    Port 21002\n" in config
    assert config.endswith(KEYS["config"])


def test_the_hostfile_names_addresses() -> None:
    assert text(planned(), "hostfile", "hostfile") == f"{FIRST} slots=2\n{SECOND} slots=2\nelsewhere\n"


def test_the_server_listens_on_its_own_port_and_takes_the_jobs_keys_only() -> None:
    pod_plan = planned()
    config = text(pod_plan, "ssh-auth.home", "sshd_config").splitlines()
    assert "ListenAddress 127.0.0.1:21000" in config
    assert f'AuthorizedKeysFile "{HOME}/.ssh/authorized_keys"' in config
    assert {"UsePAM no", "PasswordAuthentication no", "StrictModes no"} <= set(config)
    assert [volume(pod_plan, "ssh-auth.home").mode(path) for path in ("bin/sshd", "sshd_config")] == [
        0o700,
        0o600,
    ]


def test_what_comes_over_ssh_has_the_machines_environment_and_nothing_of_the_pods() -> None:
    env = [{"name": "TOKEN", "value": "s3cret"}]
    host = replace(HOST, env={**HOST.env, "LANG": 'a "b" \\c'})
    config = text(planned(env=env, host=host), "ssh-auth.home", "sshd_config")
    assert "s3cret" not in config
    assert f'"PATH={HOME}/bin:/usr/bin"' in config
    assert '"LANG=a \\"b\\" \\\\c"' in config
    assert '"JOBLEDGER_CONTAINER_ID=p-1/worker"' in config


def test_programs_find_the_keys_at_home_and_the_users_packages_where_they_are() -> None:
    env = planned().main[0].env
    assert (env["HOME"], env["PATH"]) == (HOME, f"{HOME}/bin:/usr/bin")
    assert (env["PYTHONUSERBASE"], env["XDG_CACHE_HOME"]) == ("/home/ada/.local", "/home/ada/.cache")


def test_a_path_and_a_home_of_the_user_are_kept_behind_the_wrappers() -> None:
    env = planned(env=[{"name": "PATH", "value": "/opt/bin"}, {"name": "HOME", "value": "/h"}]).main[0].env
    assert (env["PATH"], env["HOME"]) == (f"{HOME}/bin:/opt/bin", "/h")


def test_containers_without_the_keys_are_as_they_were() -> None:
    side = planned().main[1]
    assert side.argv == ("127.0.0.1",)
    assert (side.env["HOME"], side.env["PATH"]) == ("/home/ada", "/usr/bin")


def test_a_launcher_without_a_service_has_a_client_only() -> None:
    pod_plan = planned(pod_name="ds-launcher")
    files = volume(pod_plan, "ssh-auth.home").files or {}
    assert sorted(files) == ["bin/scp", "bin/ssh", "bin/sshd"]
    assert "nobody could reach an SSH server" in text(pod_plan, "ssh-auth.home", "bin/sshd")


def test_a_secret_that_holds_no_keys_is_a_volume_like_any_other() -> None:
    pod_plan = planned("/usr/sbin/sshd", "/root/.ssh/token", keys={"token": "x"})
    assert pod_plan.main[0].argv == ("/usr/sbin/sshd", f"{HOME}/token")
    assert pod_plan.ssh is None


def test_keys_may_be_mounted_elsewhere() -> None:
    arguments = words(
        "/home/u/.ssh/id_rsa", "/home/u/.deepspeed_env", "/root/.deepspeed_env", at="/home/u/.ssh"
    )
    assert arguments == [f"{HOME}/.ssh/id_rsa", f"{HOME}/.deepspeed_env", "/root/.deepspeed_env"]


def lacking(program: str) -> Callable[[str, str], str | None]:
    return lambda wanted, _path: None if wanted == program else f"/usr/bin/{wanted}"


def test_a_machine_without_sshd_says_so_before_anything_starts() -> None:
    host = replace(HOST, which=lacking("sshd"))
    with pytest.raises(Refused, match='container "worker" starts sshd, which this machine does not have'):
        planned("/usr/sbin/sshd", "-D", host=host)
    assert planned("true", host=host).main


def test_it_is_said_that_ssh_stays_on_the_machine() -> None:
    assert notices.ssh(planned().ssh).startswith("SSH stays on this machine")
    assert notices.ssh(None) == ""


def test_waiting_until_a_name_can_be_looked_up_takes_no_program() -> None:
    """What Workers of a PyTorchJob do before they start (kubeflow-pytorchjob.md, section 3)."""
    script = "for i in $(seq 100); do if nslookup ds-worker-0; then break; fi; nslookup example.org; done"
    assert words(script) == [script.replace("nslookup ds-worker-0", f": {FIRST}")]
