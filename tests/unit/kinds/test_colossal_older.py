"""The older form of a ColossalAIJob: `torchConfig` and `replicaSpecs`."""

import pytest

from tests.unit.kinds.build import Spec, notices, texts
from tests.unit.kinds.colossal import admit, container, old_launcher, old_spec, old_workers, spec, workers


def test_both_forms_are_the_same_job() -> None:
    env, resources = [{"name": "A", "value": "b"}], {"limits": {"cpu": 1}}
    launcher = {"image": "colossalai:1", "workingDir": "/w", "env": env, "resources": resources}
    torch = {"procPerWorker": 4, "script": ["a.py", "--x"], "torchArgs": ["--tee=3"]}
    rest = {"runPolicy": {"cleanUpWorkers": True}, "scheduler": {"t9kScheduler": {"queue": "q"}}}
    old = admit(old_spec(old_launcher(**launcher), old_workers(4), torch=torch, **rest))
    new = admit(
        spec(
            workers(4, procPerWorker=4, command=["a.py", "--x"], torchArgs=["--tee=3"]),
            launcher=launcher,
            **rest,
        )
    )
    assert texts(old) == []
    assert (old.spec, old.plan) == (new.spec, new.plan)


def test_every_old_field_is_reported() -> None:
    messages = [
        "spec.torchConfig.procPerWorker is deprecated, use spec.worker.procPerWorker",
        "spec.torchConfig.script is deprecated, use spec.worker.command",
        "spec.replicaSpecs[1] is deprecated, use spec.worker",
        "spec.replicaSpecs[0].template is deprecated, use spec.launcher",
    ]
    assert notices(admit(old_spec())) == [("DeprecatedField", message) for message in messages]


def test_the_order_of_the_types_does_not_matter() -> None:
    assert admit(old_spec(old_workers(), old_launcher())).spec == admit(old_spec()).spec


def test_the_launcher_is_the_container_of_that_name_or_else_the_first() -> None:
    named = old_launcher()
    named["template"]["spec"]["containers"].insert(0, {"name": "proxy", "image": "proxy:1"})
    assert admit(old_spec(named, old_workers())).spec["launcher"] == {"image": "colossalai:1"}
    first = old_launcher(name="main", image="first")
    assert admit(old_spec(first, old_workers())).spec["launcher"] == {"image": "first"}


def test_what_has_no_place_any_more_is_named() -> None:
    item = old_launcher(volumeMounts=[], imagePullPolicy="Always")
    item["replicas"], item["restartPolicy"] = 1, "Never"
    item["template"]["metadata"] = {"labels": {}}
    item["template"]["spec"]["volumes"] = []
    item["template"]["spec"]["containers"].append(container(name="proxy"))
    torch = {"script": ["a.py"], "backend": "nccl"}
    admission = admit(old_spec(item, old_workers(restartPolicy="OnFailure"), torch=torch))
    said = [message for reason, message in notices(admission) if reason == "ConfigIgnored"]
    pod = "spec.replicaSpecs[0].template.spec"
    assert said == [
        "spec.torchConfig.backend is ignored",
        "spec.replicaSpecs[1].restartPolicy is ignored",
        f"{pod}.containers[0].volumeMounts is ignored",
        f"{pod}.containers[0].imagePullPolicy is ignored",
        "spec.replicaSpecs[0].restartPolicy is ignored",
        "spec.replicaSpecs[0].template.metadata is ignored",
        f"{pod}.volumes is ignored",
        f"{pod}.containers[1] is ignored",
    ]


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (
            old_spec(torch={"procPerWorker": 0, "script": ["a.py"]}),
            "spec.torchConfig.procPerWorker: Invalid value: 0: must be greater than or equal to 1",
        ),
        (
            old_spec(torch={"script": "a.py"}),
            'spec.torchConfig.script: Invalid value: "a.py": must be of type array',
        ),
        (
            old_spec(old_launcher(), old_workers(0)),
            "spec.replicaSpecs[1].replicas: Invalid value: 0: must be greater than or equal to 1",
        ),
        (
            old_spec(old_launcher(workingDir=5), old_workers()),
            "spec.replicaSpecs[0].template.spec.containers[0].workingDir: Invalid value: 5: "
            "must be of type string",
        ),
    ],
)
def test_wrong_values_are_named_where_they_were_written(broken: Spec, text: str) -> None:
    assert texts(admit(broken)) == [text]


@pytest.mark.parametrize("item", [{"type": "launcher"}, {"type": "launcher", "template": {}}])
def test_a_launcher_without_a_container_has_no_image(item: Spec) -> None:
    assert texts(admit(old_spec(item, old_workers()))) == ["spec.launcher.image: Required value"]


def test_workers_without_a_template_are_refused() -> None:
    assert texts(admit(old_spec(old_launcher(), {"type": "worker"}))) == [
        "spec.worker.template: Required value"
    ]


@pytest.mark.parametrize("broken", [{"torchConfig": 5}, {"replicaSpecs": {}}, {"replicaSpecs": [5, None]}])
def test_what_is_no_such_form_is_no_job(broken: Spec) -> None:
    assert admit({**old_spec(), **broken}).plan is None


def test_an_update_in_the_other_form_with_the_same_values_changes_nothing() -> None:
    old = old_spec()
    del old["torchConfig"]["procPerWorker"]
    admission = admit(spec(), admit(old).spec)
    assert (admission.problems, admission.changes) == ((), {})
    again = admit({**old, "runMode": {"pause": {"enabled": True}}}, spec())
    assert (again.problems, again.notices) == ((), ())
    assert again.changes == {"spec.runMode.pause.enabled": True}
