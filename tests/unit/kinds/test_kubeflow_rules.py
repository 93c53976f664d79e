"""Which PyTorchJobs are accepted: K1-K17, KX1 and KX2, one test a rule at least.

Source: kubeflow-pytorchjob.md, section 2.
"""

from typing import Any

import pytest

from statemachine.kinds.pytorchjob.gang import OTHER_SCHEDULER, other_scheduler
from tests.unit.kinds.build import Spec, merged, notices, of_rule, texts
from tests.unit.kinds.kubeflow import (
    admit,
    container,
    env,
    plan,
    replica,
    scheduling,
    spec,
    template,
    types,
    workers_only,
)

INSIDE = "spec.pytorchReplicaSpecs[Worker].template.spec.containers"


def refused(of: Any, *sentences: str, old: Spec | None = None, name: str = "mnist") -> None:
    """The spec has these things wrong, and no others."""
    assert texts(admit(of, old, name)) == list(sentences)


@pytest.mark.parametrize("name", ["1a", "a.b", "A", "a-", ""])
def test_k1_the_name_is_a_dns_label(name: str) -> None:
    refused(spec(), "metadata.name: should match: a DNS-1035 label", name=name)


TOO_LONG = "metadata.name is too long: the name of a replica would exceed 63 characters"


@pytest.mark.parametrize(
    ("of", "longest"),
    [
        (spec({"Master": replica()}), 54),
        (workers_only(10), 54),
        (workers_only(11), 53),
        (workers_only(100), 53),
        (workers_only(101), 52),
        (workers_only(10_000), 51),
        (workers_only(2, elasticPolicy={"maxReplicas": 11}), 53),
        (workers_only(11, elasticPolicy={"minReplicas": 2, "maxReplicas": 4}), 53),
    ],
)
def test_k1_the_name_leaves_room_for_the_digits_that_are_needed(of: Spec, longest: int) -> None:
    assert admit(of, name="a" * longest).problems == ()
    refused(of, TOO_LONG, name="a" * (longest + 1))


def test_k1_a_job_is_not_scaled_beyond_what_its_name_leaves_room_for() -> None:
    old, name = workers_only(10), "a" * 54
    assert admit(workers_only(4), old, name).problems == ()
    refused(workers_only(11), TOO_LONG, old=old, name=name)


def test_k2_there_is_a_replica_type() -> None:
    refused(spec({}), "spec.pytorchReplicaSpecs: Required value: must be required")
    refused({}, "spec.pytorchReplicaSpecs: Required value")


def test_k3_types_are_master_and_worker() -> None:
    refused(
        spec(types(Chief=replica())),
        'spec.pytorchReplicaSpecs[Chief]: Unsupported value: "Chief": supported values: "Master", "Worker"',
    )


@pytest.mark.parametrize("second", ["worker", "WORKER"])
def test_k3_no_type_is_there_twice(second: str) -> None:
    admission = admit(spec({"wOrker": replica(), second: replica()}))
    sentence = f'[{second}]: Unsupported value: "{second}": supported values: "Master", "Worker"'
    assert texts(admission) == [f"spec.pytorchReplicaSpecs{sentence}"]


def test_keys_in_any_case_are_rewritten() -> None:
    admission = admit(spec({"MASTER": replica(), "worker": replica(3)}))
    assert list(admission.spec["pytorchReplicaSpecs"]) == ["Master", "Worker"]
    assert (texts(admission), notices(admission)) == ([], [])


def test_the_canonical_spec_has_no_defaults_in_it() -> None:
    given = spec(elasticPolicy={"minReplicas": 1}, runPolicy={})
    assert admit(given).spec == given


def test_a_problem_is_at_the_key_that_the_user_wrote() -> None:
    of = {"worker": replica(restartPolicy="Sometimes")}
    (problem,) = admit(spec(of)).problems
    assert problem.path == "spec.pytorchReplicaSpecs.worker.restartPolicy"


@pytest.mark.parametrize("of", [{"spec": {"containers": []}}, {"spec": {}}, {}])
def test_k4_a_type_has_containers(of: Spec) -> None:
    refused(spec({"Worker": {"template": of}}), f"{INSIDE}: Required value: must be specified")


@pytest.mark.parametrize("image", [{}, {"image": ""}, {"image": None}])
def test_k5_a_container_has_an_image(image: Spec) -> None:
    side = {"name": "side", **image}
    refused(
        spec({"Worker": replica(1, container(), side)}),
        f"{INSIDE}[1].image: Required value: must be required",
    )


def test_k5_arguments_are_strings() -> None:
    refused(
        spec({"Worker": replica(1, container(args=["--epochs", 5]))}),
        f"{INSIDE}[0].args[1]: Invalid value: 5: must be of type string",
    )


def test_k5_no_container_is_called_like_the_one_that_waits_for_the_master() -> None:
    own = {"name": "init-pytorch", "image": "i"}
    unique = "must be unique in the pod, also beside what the controller adds"
    refused(
        spec({"Master": replica(), "Worker": replica(1, container(), own)}),
        f'{INSIDE}[1].name: Invalid value: "init-pytorch": {unique}',
    )
    refused(spec({"Worker": replica(1, container(), own)}))


def test_k6_a_container_is_called_pytorch() -> None:
    refused(
        spec({"Worker": replica(1, {"name": "python", "image": "i"})}),
        f"{INSIDE}: Required value: must have at least one container with name pytorch",
    )


@pytest.mark.parametrize("number", [0, 2, -1])
def test_k7_there_is_one_master(number: int) -> None:
    sentence = "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1"
    refused(spec({"Master": replica(number)}), sentence)


def test_k7_a_master_that_says_nothing_is_one() -> None:
    assert [type_.scale for type_ in plan(spec({"master": replica()})).types] == [1]


@pytest.mark.parametrize("number", [0, -1])
def test_k8_there_is_a_worker(number: int) -> None:
    sentence = "spec.pytorchReplicaSpecs[Worker].replicas: Forbidden: must be at least 1"
    refused(workers_only(number), sentence)


@pytest.mark.parametrize(
    ("of", "path"),
    [
        (workers_only(10_001), "spec.pytorchReplicaSpecs.Worker.replicas"),
        (workers_only(elasticPolicy={"maxReplicas": 10_001}), "spec.elasticPolicy.maxReplicas"),
        (
            workers_only(elasticPolicy={"minReplicas": 10_001}),
            "spec.elasticPolicy.minReplicas",
        ),
    ],
)
def test_g19_replicas_are_bounded(of: Spec, path: str) -> None:
    refused(of, f"{path}: Invalid value: 10001: must be less than or equal to 10000")


def test_g19_master_and_workers_are_bounded_together() -> None:
    sentence = "Invalid value: 10001: a job has at most 10000 replicas"
    refused(spec({"Master": replica(), "Worker": replica(10_000)}), f"spec.pytorchReplicaSpecs: {sentence}")
    refused(workers_only(10_000))


def test_k9_an_elastic_job_has_workers() -> None:
    refused(
        spec({"Master": replica()}, elasticPolicy={}),
        "spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy is used",
    )


def test_k10_processes_per_node_stand_in_one_place() -> None:
    refused(
        workers_only(nprocPerNode="2", elasticPolicy={"nProcPerNode": 2}),
        "spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode",
    )


def test_k11_the_old_number_of_processes_is_deprecated() -> None:
    admission = admit(workers_only(elasticPolicy={"nProcPerNode": 2}))
    sentence = "spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead"
    assert (texts(admission), notices(admission)) == ([], [("DeprecatedField", sentence)])


def test_k12_managers_are_two() -> None:
    (problem,) = admit(spec(runPolicy={"managedBy": "me"})).problems
    assert (problem.rule, str(problem)) == (
        "K12",
        'spec.runPolicy.managedBy: Unsupported value: "me": supported values: '
        '"kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"',
    )


@pytest.mark.parametrize("old", [{}, {"managedBy": "kubeflow.org/training-operator"}])
def test_k13_the_manager_stays(old: Spec) -> None:
    new = spec(runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"})
    refused(new, "spec.runPolicy.managedBy: field is immutable", old=spec(runPolicy=old))


@pytest.mark.parametrize("old", [{}, {"queue": "a"}])
def test_k13_the_queue_stays(old: Spec) -> None:
    new = spec(**scheduling(queue="b"))
    sentence = "spec.runPolicy.schedulingPolicy.queue is immutable"
    refused(new, sentence, old=spec(**scheduling(**old)))


def test_k13_the_usual_queue_may_be_said() -> None:
    assert admit(spec(**scheduling(queue="default")), spec()).problems == ()


def test_k14_the_most_are_not_fewer_than_the_fewest() -> None:
    refused(
        workers_only(elasticPolicy={"minReplicas": 3, "maxReplicas": 2}),
        "spec.elasticPolicy.maxReplicas: must not be smaller than minReplicas",
    )


@pytest.mark.parametrize(
    ("policy", "path"),
    [
        ({"activeDeadlineSeconds": 0}, "activeDeadlineSeconds"),
        ({"backoffLimit": -1}, "backoffLimit"),
        ({"ttlSecondsAfterFinished": -1}, "ttlSecondsAfterFinished"),
        ({"schedulingPolicy": {"minAvailable": -1}}, "schedulingPolicy.minAvailable"),
    ],
)
def test_k15_numbers_are_not_negative(policy: Spec, path: str) -> None:
    (problem,) = of_rule(admit(spec(runPolicy=policy)), "K15")
    assert problem.path == f"spec.runPolicy.{path}"


def test_k15_an_elastic_job_has_a_worker_at_least() -> None:
    (problem,) = of_rule(admit(workers_only(elasticPolicy={"minReplicas": 0})), "K15")
    assert str(problem) == (
        "spec.elasticPolicy.minReplicas: Invalid value: 0: must be greater than or equal to 1"
    )


def test_k15_who_was_admitted_with_fewer_may_change_all_else() -> None:
    old = workers_only(elasticPolicy={"minReplicas": 0, "maxReplicas": 3})
    admission = admit(merged(old, runPolicy={"suspend": True}), old)
    assert (texts(admission), admission.changes) == ([], {"spec.runPolicy.suspend": True})


@pytest.mark.parametrize(
    ("option", "shown", "allowed"),
    [
        ({"value": "1"}, '""', "a key must not be empty"),
        ({"key": "", "value": "1"}, '""', "a key must not be empty"),
        ({"key": "a=b"}, '"a=b"', "must not contain ',', '=' or NUL"),
        ({"key": "a,b"}, '"a,b"', "must not contain ',', '=' or NUL"),
        ({"key": "a", "value": "1,b=2"}, '"1,b=2"', "must not contain ',', '=' or NUL"),
        ({"key": "a", "value": "x\0"}, '"x\\u0000"', "must not contain ',', '=' or NUL"),
    ],
)
def test_k16_options_of_the_rendezvous_can_be_distinguished(option: Spec, shown: str, allowed: str) -> None:
    good = {"key": "timeout", "value": "900"}
    admission = admit(workers_only(elasticPolicy={"rdzvConf": [good, option]}))
    assert texts(admission) == [f"spec.elasticPolicy.rdzvConf[1]: Invalid value: {shown}: {allowed}"]
    assert [problem.rule for problem in admission.problems] == ["K16"]


def test_k16_an_option_of_the_rendezvous_may_have_no_value() -> None:
    of = workers_only(elasticPolicy={"rdzvConf": [{"key": "is_host"}, {"key": "read_timeout", "value": ""}]})
    assert texts(admit(of)) == []


def test_k17_variables_that_the_controller_sets_are_named() -> None:
    own = [{"name": name, "value": "x"} for name in ("MASTER_ADDR", "LR", "RANK", "PET_NNODES", "RANK")]
    side = {"name": "side", "image": "i", "env": [{"name": "PYTHONUNBUFFERED", "value": "0"}]}
    admission = admit(spec({"Master": replica(), "Worker": replica(1, container(env=own), side)}))
    assert (texts(admission), notices(admission)) == (
        [],
        [
            ("EnvOverridden", f'env "{name}" of container "{of}" is replaced by the controller')
            for name, of in (
                ("MASTER_ADDR", "pytorch"),
                ("RANK", "pytorch"),
                ("PET_NNODES", "pytorch"),
                ("PYTHONUNBUFFERED", "side"),
            )
        ],
    )


def test_k17_who_has_no_master_may_set_what_only_a_master_brings() -> None:
    own = [{"name": name, "value": "x"} for name in ("MASTER_ADDR", "WORLD_SIZE", "PET_RDZV_ID")]
    of = {"Worker": replica(1, container(env=own))}
    assert notices(admit(spec(of))) == []
    (notice,) = notices(admit(spec(of, elasticPolicy={"rdzvId": "7"})))
    assert notice == (
        "EnvOverridden",
        'env "PET_RDZV_ID" of container "pytorch" is replaced by the controller',
    )


@pytest.mark.parametrize(
    "of",
    [
        spec(),
        workers_only(),
        workers_only(elasticPolicy={}),
        workers_only(
            elasticPolicy={
                "maxRestarts": 1,
                "nProcPerNode": 2,
                "rdzvId": "7",
                "rdzvConf": [{"key": "a", "value": "b"}],
                "standalone": True,
            }
        ),
        spec(elasticPolicy={}, nprocPerNode="4"),
    ],
)
def test_k17_knows_every_variable_that_is_set(of: Spec) -> None:
    names = [name for name, _ in env(of, "worker-0")]
    own = [{"name": name, "value": "x"} for name in names]
    of["pytorchReplicaSpecs"]["Worker"] = replica(1, container(env=own))
    messages = [message for reason, message in notices(admit(of)) if reason == "EnvOverridden"]
    assert [message.split('"')[1] for message in messages] == list(dict.fromkeys(names))


def test_kx1_a_template_s_restart_policy_is_overwritten() -> None:
    of = {"Worker": {"template": template(restartPolicy="Always")}}
    assert notices(admit(spec(of))) == [
        (
            "SetPodTemplateRestartPolicy",
            "Restart policy in pod template will be overwritten by restart policy in replica spec",
        )
    ]


@pytest.mark.parametrize("old", [{"Worker": replica(2)}, {"Master": replica()}])
def test_kx2_replica_types_neither_come_nor_go(old: Spec) -> None:
    sentence = "spec.pytorchReplicaSpecs: Forbidden: replica types cannot be added or taken away"
    refused(spec(), sentence, old=spec(old))
    refused(spec(old), sentence, old=spec())


def test_kx2_a_key_in_another_case_is_the_same_type() -> None:
    admission = admit(spec({"master": replica(), "WORKER": replica(2)}), spec())
    assert (texts(admission), admission.changes) == ([], {})


@pytest.mark.parametrize("word", ["auto", "cpu", "gpu", "8"])
def test_processes_per_node_are_a_word_or_a_number(word: str) -> None:
    assert admit(spec(nprocPerNode=word)).problems == ()
    assert [problem.path for problem in admit(spec(nprocPerNode=f"{word}x")).problems] == [
        "spec.nprocPerNode"
    ]


def test_almost_everything_may_change() -> None:
    new = spec(
        types(4, Master=replica(None, container(image="train:2"), restartPolicy="Never")),
        nprocPerNode="2",
        elasticPolicy={"maxReplicas": 5},
        runPolicy={"suspend": True, "backoffLimit": 3, "schedulingPolicy": {"minAvailable": 2}},
    )
    admission = admit(new, spec())
    assert (texts(admission), admission.spec, admission.frozen) == ([], new, ())
    assert admission.changes is not None
    assert admission.changes["spec.pytorchReplicaSpecs.Worker.replicas"] == 4
    assert admit(merged(new, elasticPolicy=None), new).changes == {"spec.elasticPolicy": None}


@pytest.mark.parametrize(
    ("gang", "own", "warned"),
    [
        ("none", "own", []),
        ("volcano", "volcano", []),
        ("volcano", "own", [OTHER_SCHEDULER]),
        ("scheduler-plugins", "volcano", [OTHER_SCHEDULER]),
    ],
)
def test_a_template_with_another_scheduler_than_the_gang_s_is_reported(
    gang: str, own: str, warned: list[Any]
) -> None:
    of = spec({"Worker": {"template": template(schedulerName=own)}})
    assert list(other_scheduler(admit(of).spec, gang)) == warned
