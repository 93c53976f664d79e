"""Children of a GenericJob: pods with variables replaced, Services if asked for."""

from typing import Any

import pytest

from statemachine.kinds.genericjob.variables import Variables
from tests.unit.kinds.build import children, env, pod, template
from tests.unit.kinds.generic import DEBUG, HTTP, NAME, container, replicas, spec, state

OWN = Variables("job", "worker", 3, {"worker": 4, "ps": 1}, {"http": 2222})


def kinds_and_names(of: dict[str, Any]) -> list[str]:
    """`<kind>/<name>` of all children, in order."""
    return [f"{child['kind']}/{child['metadata']['name']}" for child in children(state(of))]


# ---- variables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(type)-$(rank)", "worker-3"),
        ("$(replicas[ps])/$(replicas[worker])", "1/4"),
        ("$(service.ps[0].host):$(service.port[http])", "job-ps-0:2222"),
        ("$(service.worker[3].host)", "job-worker-3"),
        ("$(service.worker[4].host)", "$(service.worker[4].host)"),
        ("$(HOME)$(Rank)$( rank)$(rank", "$(HOME)$(Rank)$( rank)$(rank"),
        ("$$(rank) $$$(rank) $$$$(rank)", "$$(rank) $$3 $$$$(rank)"),
        ("$$$$$(rank)", "$$$$3"),
        ("$($(rank))", "$(3)"),
        ("", ""),
    ],
)
def test_variables_are_replaced_and_nothing_else(text: str, expanded: str) -> None:
    assert OWN.expanded(text) == expanded


def test_without_services_there_are_no_hosts_and_no_ports() -> None:
    alone = Variables("job", "worker", 3, {"worker": 4}, None)
    assert list(alone.unresolved("$(service.worker[0].host) $(service.port[http]) $(replicas[worker])")) == [
        "service.worker[0].host",
        "service.port[http]",
    ]


def test_variables_are_replaced_in_every_container() -> None:
    item = replicas(
        "worker",
        2,
        container(command=["run", "$(rank)"], args=["$(type)"]),
        {"name": "side", "image": "i", "env": [{"name": "A", "value": "$(rank)"}]},
    )
    item["template"]["spec"]["initContainers"] = [{"name": "fetch", "image": "i", "args": ["$(rank)"]}]
    made = pod(state(spec(item)), "worker-1")["spec"]
    assert made["containers"][0]["command"] == ["run", "1"]
    assert made["containers"][0]["args"] == ["worker"]
    assert made["containers"][1]["env"] == [{"name": "A", "value": "1"}]
    assert made["initContainers"][0]["args"] == ["1"]


def test_variables_are_replaced_nowhere_else() -> None:
    reference = {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    item = replicas("worker", 1, container(workingDir="$(rank)", env=[reference, {"name": "C"}]))
    made = pod(state(spec(item)))["spec"]["containers"][0]
    assert (made["workingDir"], made["env"]) == ("$(rank)", [reference, {"name": "C"}])


def test_variables_are_replaced_in_what_run_modes_start() -> None:
    debug = {"enabled": True, "replicaSpecs": [{"type": "worker", "command": ["wait", "$(rank)"]}]}
    made = pod(state(spec(runMode={"debug": debug})), "worker-1")["spec"]["containers"][0]
    assert (made["command"], made["args"]) == (["wait", "1"], [])


# ---- pods --------------------------------------------------------------------------------------------------------


def test_pods_have_the_labels_of_all_kinds_and_none_is_the_primary() -> None:
    labels = pod(state(spec()), "worker-1")["metadata"]["labels"]
    assert labels == {
        "tensorstack.dev/owner-name": NAME,
        "tensorstack.dev/owner-kind": "GenericJob",
        "tensorstack.dev/component": "genericjob",
        "tensorstack.dev/component-type": "user",
        "replica-type": "worker",
        "replica-index": "1",
        "genericjob": NAME,
        "genericjob-replica": f"{NAME}-worker-1",
    }
    assert all("job-role" not in child["metadata"]["labels"] for child in children(state(spec())))


def test_nothing_is_added_to_the_environment() -> None:
    made = pod(state(spec(replicas("worker", 1, container(env=[{"name": "A", "value": "b"}])))))
    assert env(made) == {"A": "b"}
    assert "env" not in pod(state(spec()))["spec"]["containers"][0]


def test_the_controller_restarts_pods_not_the_kubelet() -> None:
    item = {"type": "worker", "template": template(container(), restartPolicy="Always")}
    assert pod(state(spec(item)))["spec"]["restartPolicy"] == "Never"


def test_debug_starts_the_first_container_in_its_own_way() -> None:
    item = replicas("worker", 1, container(livenessProbe={"exec": {}}), container(name="side"))
    first, second = pod(state(spec(item, **DEBUG)))["spec"]["containers"]
    assert (first["command"], first["args"]) == (["sleep", "inf"], [])
    assert "livenessProbe" not in first
    assert second == container(name="side")


def test_resumed_pods_start_in_their_own_way() -> None:
    resume = {"type": "worker", "skipInitContainer": True, "args": ["--resume", "$(rank)"]}
    item = replicas("worker", 2)
    item["template"]["spec"]["initContainers"] = [{"name": "fetch", "image": "i"}]
    of = spec(item, replicas("ps", 1), runMode={"pause": {"resumeSpecs": [resume]}})
    resumed = state(of, resumed=True)
    made = pod(resumed, "worker-1")["spec"]
    assert made["containers"][0]["args"] == ["--resume", "1"]
    assert not made.get("initContainers")
    assert "args" not in pod(resumed, "ps-0")["spec"]["containers"][0]
    assert "args" not in pod(state(of), "worker-1")["spec"]["containers"][0]


# ---- Services ----------------------------------------------------------------------------------------------------


def test_without_a_service_there_are_pods_only() -> None:
    assert kinds_and_names(spec(replicas("ps", 1))) == [f"Pod/{NAME}-ps-0"]


def test_every_replica_has_a_service_of_its_name() -> None:
    of = spec(replicas("ps", 1), replicas("worker", 1), **HTTP)
    names = [f"{NAME}-ps-0", f"{NAME}-worker-0"]
    assert kinds_and_names(of) == [f"{kind}/{name}" for kind in ("Service", "Pod") for name in names]
    service = children(state(of))[1]
    assert service["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {
            "tensorstack.dev/owner-name": NAME,
            "tensorstack.dev/owner-kind": "GenericJob",
            "replica-type": "worker",
            "replica-index": "0",
        },
        "ports": [{"name": "http", "port": 2222}],
    }


def test_ports_are_as_they_were_given() -> None:
    port = {"name": "a", "port": 80, "targetPort": "web", "protocol": "UDP", "appProtocol": "h2"}
    assert children(state(spec(service={"ports": [port]})))[0]["spec"]["ports"] == [port]


def test_services_without_ports_are_names_only() -> None:
    assert "ports" not in children(state(spec(service={})))[0]["spec"]
