"""A pod's manifest → what is run on this machine."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from k8s_bridge.kubelet import notices
from k8s_bridge.kubelet.containers import ContainerLaunch
from k8s_bridge.kubelet.expansion import expanded
from k8s_bridge.kubelet.mounts import Roots
from k8s_bridge.kubelet.podspec import Host, PodPlan, check, encode_secret, plan
from k8s_bridge.kubelet.values import Capacity, NotYet
from k8s_bridge.port import Manifest
from statemachine.errors import Refused
from tests.unit.bridge.words import config_map, pod

ROOTS = Roots("/data/pods/p-1/volumes", "/data/volumes/demo")
SERVICES = {"mnist-0": {23456: 21000}, "mnist-1": {23456: 21001, 8080: 21002}}


def nothing(_program: str, _path: str) -> str | None:
    return None


def everything(program: str, _path: str) -> str | None:
    return f"/usr/bin/{program}"


HOST = Host(
    env={"PATH": "/usr/bin", "HOME": "/home/ada"},
    which=everything,
    is_folder=lambda path: path == "/dev/shm",
    capacity=Capacity(cpus=8, memory=16 << 30),
    folder="/work",
    fallback="/opt/own/python",
)


def planned(
    container: dict[str, Any],
    *,
    objects: tuple[Manifest, ...] = (),
    host: Host = HOST,
    services: Mapping[str, Mapping[int, int]] = SERVICES,
    **spec: Any,
) -> PodPlan:
    raw = pod(name="mnist-1", spec={"containers": [{"name": "a", "command": ["run"], **container}], **spec})
    raw["metadata"] |= {"uid": "p-1"}
    raw["metadata"]["annotations"]["note"] = "hi"
    raw["spec"]["nodeName"] = "here"
    by_name = {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in objects}
    return plan(raw, host, ROOTS, services, lambda kind, name: by_name.get((kind, name)))


def launched(container: dict[str, Any], **more: Any) -> ContainerLaunch:
    return planned(container, **more).main[0]


def env(*entries: tuple[str, str], **more: Any) -> dict[str, str]:
    return launched({"env": [{"name": name, "value": value} for name, value in entries]}, **more).env


def value_from(source: dict[str, Any], **more: Any) -> str | None:
    container = {"env": [{"name": "X", "valueFrom": source}], **more.pop("container", {})}
    return launched(container, **more).env.get("X")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$(A)", "1"),
        ("$(A)$(B)x", "12x"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$(A) $((A))", "1 $((A))"),
        ("$()", "$()"),
        ("cost: 5$$", "cost: 5$"),
    ],
)
def test_references_are_expanded_as_the_kubelet_does(text: str, result: str) -> None:
    assert expanded(text, {"A": "1", "B": "2"}) == result


def test_command_and_args_are_one_line_with_references_expanded() -> None:
    container = {
        "command": ["python", "$(SCRIPT)"],
        "args": ["--lr=$(LR)"],
        "env": [{"name": "SCRIPT", "value": "train.py"}, {"name": "LR", "value": "0.1"}],
    }
    assert launched(container).argv == ("python", "train.py", "--lr=0.1")


def test_a_value_refers_only_to_variables_before_it() -> None:
    variables = env(("A", "$(B)"), ("B", "1"), ("C", "$(B)"))
    assert (variables["A"], variables["C"]) == ("$(B)", "1")


def test_a_process_gets_the_base_its_own_variables_and_its_marker() -> None:
    assert launched({"env": [{"name": "HOME", "value": "/x"}]}).env == {
        "PATH": "/usr/bin",
        "HOME": "/x",
        "HOSTNAME": "mnist-1",
        "JOBLEDGER_CONTAINER_ID": "p-1/a",
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "mnist-1"),
        ("metadata.namespace", "demo"),
        ("metadata.uid", "p-1"),
        ("metadata.labels['replica-type']", "worker"),
        ("metadata.annotations['note']", "hi"),
        ("metadata.labels['none']", ""),
        ("spec.nodeName", "here"),
        ("status.podIP", "127.0.0.1"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_field_references(path: str, value: str) -> None:
    assert value_from({"fieldRef": {"fieldPath": path}}) == value


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(Refused, match="unknown"):
        value_from({"fieldRef": {"fieldPath": "spec.unknown"}})


@pytest.mark.parametrize(
    ("ref", "value"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "limits.cpu", "divisor": "1m"}, "1500"),
        ({"resource": "limits.memory", "divisor": "1Mi"}, "512"),
        ({"resource": "requests.memory", "divisor": "1Mi"}, "512"),
        ({"resource": "requests.cpu", "divisor": "1m"}, "500"),
    ],
)
def test_resource_references(ref: dict[str, str], value: str) -> None:
    resources = {"limits": {"cpu": "1500m", "memory": "512Mi"}, "requests": {"cpu": "0.5"}}
    assert value_from({"resourceFieldRef": ref}, container={"resources": resources}) == value


def test_a_limit_that_is_not_set_is_what_the_machine_has() -> None:
    assert value_from({"resourceFieldRef": {"resource": "limits.cpu"}}) == "8"


SECRET: Manifest = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "keys", "namespace": "demo"},
    "data": {"token": base64.b64encode(b"s3cret").decode()},
}


def test_values_come_from_config_maps_and_secrets() -> None:
    settings = config_map(lr="0.1")
    from_map = {"configMapKeyRef": {"name": "settings", "key": "lr"}}
    from_secret = {"secretKeyRef": {"name": "keys", "key": "token"}}
    assert value_from(from_map, objects=(settings,)) == "0.1"
    assert value_from(from_secret, objects=(SECRET,)) == "s3cret"


@pytest.mark.parametrize("objects", [(), (config_map(other="1"),)])
def test_an_optional_value_that_is_missing_is_not_set(objects: tuple[Manifest, ...]) -> None:
    ref = {"name": "settings", "key": "lr", "optional": True}
    assert value_from({"configMapKeyRef": ref}, objects=objects) is None


@pytest.mark.parametrize("objects", [(), (config_map(other="1"),)])
def test_a_pod_waits_for_a_value_that_is_missing(objects: tuple[Manifest, ...]) -> None:
    with pytest.raises(NotYet, match="settings"):
        value_from({"configMapKeyRef": {"name": "settings", "key": "lr"}}, objects=objects)


def test_env_from_gives_all_keys_with_prefix_and_loses_against_env() -> None:
    container = {
        "env": [{"name": "P_a", "value": "own"}],
        "envFrom": [
            {"configMapRef": {"name": "settings"}, "prefix": "P_"},
            {"secretRef": {"name": "none", "optional": True}},
        ],
    }
    variables = launched(container, objects=(config_map(a="1", b="2"),)).env
    assert (variables["P_a"], variables["P_b"]) == ("own", "2")


def test_string_data_of_a_secret_becomes_data() -> None:
    secret = {**SECRET, "stringData": {"token": "new"}}
    encode_secret(secret)
    assert secret["data"] == {"token": base64.b64encode(b"new").decode()}
    assert "stringData" not in secret


# ---- names and ports -------------------------------------------------------------------------------------


def test_the_pair_of_address_and_port_becomes_one_of_this_machine() -> None:
    variables = env(("MASTER_ADDR", "mnist-0"), ("MASTER_PORT", "23456"), ("WORLD_SIZE", "23456"))
    assert (variables["MASTER_ADDR"], variables["MASTER_PORT"]) == ("127.0.0.1", "21000")
    assert variables["WORLD_SIZE"] == "23456"


def test_a_port_stands_for_the_service_of_its_own_prefix() -> None:
    variables = env(("A_HOST", "mnist-1"), ("A_PORT", "8080"), ("B_HOST", "elsewhere"), ("B_PORT", "8080"))
    assert (variables["A_PORT"], variables["B_PORT"]) == ("21002", "8080")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("mnist-0:23456", "127.0.0.1:21000"),
        ("--rdzv_endpoint=mnist-1:23456", "--rdzv_endpoint=127.0.0.1:21001"),
        ("http://mnist-1:8080/metrics", "http://127.0.0.1:21002/metrics"),
        ("mnist-0.demo.svc.cluster.local:23456", "127.0.0.1:21000"),
        ('{"ps": ["mnist-0:23456", "mnist-1:23456"]}', '{"ps": ["127.0.0.1:21000", "127.0.0.1:21001"]}'),
        ("mnist-0:9999", "127.0.0.1:9999"),
        ("ping mnist-0", "ping 127.0.0.1"),
        ("mnist-00:23456", "mnist-00:23456"),
        ("my-mnist-0", "my-mnist-0"),
        ("/logs/mnist-0/out", "/logs/mnist-0/out"),
        ("mnist-0.example.com", "mnist-0.example.com"),
        ("$(ADDR):23456", "127.0.0.1:21000"),
        ("$(ADDR):$(MASTER_PORT)", "127.0.0.1:21000"),
        ("$$(ADDR):23456", "$(ADDR):23456"),
    ],
)
def test_service_names_in_arguments(text: str, result: str) -> None:
    entries = [("ADDR", "mnist-0"), ("MASTER_ADDR", "mnist-0"), ("MASTER_PORT", "23456")]
    container = {"args": [text], "env": [{"name": name, "value": value} for name, value in entries]}
    assert launched(container).argv[1] == result


def test_a_pods_own_name_by_field_reference_stays() -> None:
    assert value_from({"fieldRef": {"fieldPath": "metadata.name"}}) == "mnist-1"


def test_without_services_nothing_is_rewritten() -> None:
    assert env(("A", "mnist-0:23456"), services={})["A"] == "mnist-0:23456"


@pytest.mark.parametrize(("endpoint", "serves"), [("mnist-1:23456", "true"), ("mnist-0:23456", "false")])
def test_torchrun_learns_who_serves_the_rendezvous(endpoint: str, serves: str) -> None:
    variables = launched({"command": ["torchrun"], "args": [f"--rdzv_endpoint={endpoint}"]}).env
    assert variables["PET_RDZV_CONF"] == f"is_host={serves}"
    assert variables["PET_LOCAL_ADDR"] == "127.0.0.1"


def test_what_the_user_says_about_the_rendezvous_stands() -> None:
    args = ["--rdzv-endpoint", "mnist-1:23456", "--rdzv-conf", "timeout=5"]
    assert "PET_RDZV_CONF" not in launched({"command": ["torchrun"], "args": args}).env


# ---- programs --------------------------------------------------------------------------------------------


def test_torchrun_that_is_not_there_is_run_as_a_module() -> None:
    host = replace(HOST, which=lambda program, path: None if program == "torchrun" else f"{path}/{program}")
    assert launched({"command": ["torchrun", "t.py"]}, host=host).argv == (
        "python3",
        "-m",
        "torch.distributed.run",
        "t.py",
    )


def test_a_machine_without_python_on_the_path_uses_the_fallback() -> None:
    host = replace(HOST, which=nothing)
    assert launched({"command": ["python", "t.py"]}, host=host).argv == ("/opt/own/python", "t.py")


@pytest.mark.parametrize("command", ["mpirun", "/opt/ompi/bin/mpirun"])
def test_a_program_that_this_machine_lacks_is_named_with_what_to_install(command: str) -> None:
    with pytest.raises(Refused) as refused:
        launched({"command": [command]}, host=replace(HOST, which=nothing))
    assert f'container "a" starts {command}, which this machine does not have; install Open MPI' in str(
        refused.value
    )
    assert launched({"command": [command]}).argv == (command,)


def test_a_python_that_was_chosen_is_used_and_its_programs_come_first() -> None:
    launch = launched({"command": ["python3", "t.py"]}, host=replace(HOST, python="/venv/bin/python"))
    assert launch.argv == ("/venv/bin/python", "t.py")
    assert launch.env["PATH"] == "/venv/bin:/usr/bin"


def test_processes_start_in_the_working_directory_or_the_machines() -> None:
    assert launched({}).folder == "/work"
    assert launched({"workingDir": "/src"}).folder == "/src"


def test_a_container_without_a_command_is_refused() -> None:
    with pytest.raises(Refused, match=r"spec.containers\[0\].command: Required value") as refused:
        check(pod(spec={"containers": [{"name": "a", "image": "x", "args": ["b"]}]}))
    assert refused.value.status == 422


def test_a_container_name_that_is_no_label_is_refused() -> None:
    with pytest.raises(Refused, match="DNS label"):
        check(pod(spec={"containers": [{"name": "../a", "command": ["b"]}]}))


# ---- volumes ---------------------------------------------------------------------------------------------


def mounted(volume: dict[str, Any], path: str = "/mnt/data", **mount: Any) -> PodPlan:
    container = {
        "workingDir": f"{path}/src",
        "args": [path, f"--out={path}/x", f"{path}2", f"/a{path}", f"$(HOME){path}"],
        "env": [{"name": "DATA", "value": f"{path}/in:{path}"}],
        "volumeMounts": [{"name": "v", "mountPath": path, **mount}],
    }
    return planned(container, volumes=[{"name": "v", **volume}], objects=(config_map(lr="0.1"), SECRET))


def test_a_mount_path_becomes_the_folder_wherever_it_stands_as_a_path() -> None:
    launch = mounted({"emptyDir": {}}).main[0]
    here = "/data/pods/p-1/volumes/v"
    assert launch.folder == f"{here}/src"
    assert launch.argv[1:] == (here, f"--out={here}/x", "/mnt/data2", "/a/mnt/data", "$(HOME)/mnt/data")
    assert launch.env["DATA"] == f"{here}/in:{here}"
    assert launch.env["JOBLEDGER_MOUNT_V"] == here


def test_a_claim_is_a_folder_of_its_name_shared_by_all_pods() -> None:
    pod_plan = mounted({"persistentVolumeClaim": {"claimName": "mnist"}})
    assert pod_plan.volumes[0].path == "/data/volumes/demo/mnist"


def test_a_host_path_mounted_at_itself_is_left_alone() -> None:
    pod_plan = mounted({"hostPath": {"path": "/mnt/data/"}})
    assert pod_plan.main[0].argv[1] == "/mnt/data"
    assert not notices.moved(pod_plan.mounts)


def test_shared_memory_is_left_alone_where_the_machine_has_it() -> None:
    launch = mounted({"emptyDir": {"medium": "Memory"}}, "/dev/shm").main[0]
    assert launch.argv[1] == "/dev/shm"


def test_a_sub_path_is_below_the_folder() -> None:
    here = "/data/pods/p-1/volumes/v"
    assert mounted({"emptyDir": {}}, subPath="a/b").main[0].argv[1] == f"{here}/a/b"
    assert mounted({"emptyDir": {}}, subPathExpr="x-$(DATA)").mounts[0].here.startswith(f"{here}/x-")


def test_a_sub_path_that_leads_out_is_refused() -> None:
    with pytest.raises(Refused, match="relative path"):
        mounted({"emptyDir": {}}, subPath="../../etc")


def test_a_volume_mounted_twice_is_offered_by_each_path() -> None:
    mounts = [{"name": "v", "mountPath": f"/{name}", "subPath": name} for name in ("in", "out")]
    launch = launched({"volumeMounts": mounts}, volumes=[{"name": "v", "emptyDir": {}}])
    assert launch.env["JOBLEDGER_MOUNT_V"].endswith("/v/in")
    assert launch.env["JOBLEDGER_MOUNT_V_OUT"].endswith("/v/out")


def test_the_longest_mount_path_wins() -> None:
    mounts = [{"name": "a", "mountPath": "/d"}, {"name": "b", "mountPath": "/d/cache"}]
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]
    launch = launched({"volumeMounts": mounts, "args": ["/d/cache/x", "/d/y"]}, volumes=volumes)
    assert [argument.rpartition("volumes/")[2] for argument in launch.argv[1:]] == ["b/x", "a/y"]


def test_config_maps_and_secrets_are_files() -> None:
    assert mounted({"configMap": {"name": "settings"}}).volumes[0].files == {"lr": b"0.1"}
    secret = mounted({"secret": {"secretName": "keys", "items": [{"key": "token", "path": "a/b"}]}}).volumes[
        0
    ]
    assert secret.files == {"a/b": b"s3cret"}
    assert secret.private


def test_downward_api_items_are_files() -> None:
    items = [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]
    assert mounted({"downwardAPI": {"items": items}}).volumes[0].files == {"name": b"mnist-1"}


def test_a_pod_waits_for_a_config_map_that_is_missing() -> None:
    with pytest.raises(NotYet):
        mounted({"configMap": {"name": "other"}})


def test_a_volume_that_no_machine_has_is_refused() -> None:
    with pytest.raises(Refused, match="a local run has no nfs"):
        check(pod(spec={"volumes": [{"name": "v", "nfs": {"server": "a", "path": "/"}}]}))


def test_what_is_ignored_is_said_in_one_sentence() -> None:
    said = notices.ignored(pod(spec={"nodeSelector": {"a": "b"}}))
    assert said.endswith("ignored here: image, nodeSelector")
