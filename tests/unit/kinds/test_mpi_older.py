"""The older forms of an MPIJob: `mpiConfig` and `replicaSpecs`; `processesPerWorker` and `processRecovery`."""

import pytest

from tests.unit.kinds.build import Spec, notices, texts
from tests.unit.kinds.mpi import admit, container, old_launcher, old_spec, old_workers, spec, workers


def test_both_forms_are_the_same_job() -> None:
    resources = {"limits": {"cpu": 1}}
    mpi = {"mca": {"btl": "^openib"}, "home": "/opt", "extraArgs": ["-N", "3"], "script": ["./a", "1"]}
    rest = {"runPolicy": {"cleanUpWorkers": True}, "scheduler": {"t9kScheduler": {"queue": "q"}}}
    old = admit(old_spec(old_launcher(resources=resources), old_workers(4), mpi=mpi, **rest))
    new = admit(
        spec(
            workers(4, extraMPIArgs=["-N", "3"], cmd=["./a", "1"]),
            mca={"btl": "^openib"},
            mpiHome="/opt",
            launcher={"resources": resources},
            **rest,
        )
    )
    assert texts(old) == []
    assert (old.spec, old.plan) == (new.spec, new.plan)


def test_every_old_field_is_reported() -> None:
    mpi = {"mca": {"btl": "self"}, "home": "/opt", "extraArgs": ["-v"], "script": ["./walk"]}
    messages = [
        "spec.mpiConfig.mca is deprecated, use spec.mca",
        "spec.mpiConfig.home is deprecated, use spec.mpiHome",
        "spec.mpiConfig.extraArgs is deprecated, use spec.worker.extraMPIArgs",
        "spec.mpiConfig.script is deprecated, use spec.worker.cmd",
        "spec.replicaSpecs[0].template is deprecated, use spec.launcher",
        "spec.replicaSpecs[1] is deprecated, use spec.worker",
    ]
    said = [message for reason, message in notices(admit(old_spec(mpi=mpi))) if reason == "DeprecatedField"]
    assert said == messages


def test_neither_order_nor_a_missing_launcher_matters() -> None:
    whole = admit(old_spec()).spec
    assert admit(old_spec(old_workers(), old_launcher())).spec == whole
    assert admit(old_spec(old_workers())).spec == whole
    assert admit(old_spec(old_launcher(resources={}), old_workers())).plan is not None


def test_what_has_no_place_any_more_is_named() -> None:
    admission = admit(
        old_spec(old_launcher(command=["x"]), old_workers(restartPolicy="Never"), mpi={"np": 2})
    )
    at = "spec.replicaSpecs[0].template.spec.containers[0]"
    said = [message for reason, message in notices(admission) if reason == "ConfigIgnored"]
    assert said == [
        "spec.mpiConfig.np is ignored",
        f"{at}.image is ignored",
        f"{at}.command is ignored",
        "spec.replicaSpecs[1].restartPolicy is ignored",
    ]


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({"processesPerWorker": 3}, ["-N", "3"]),
        ({"processRecovery": {"enable": True, "limit": 5}}, ["--enable-recovery", "--max-restarts", "5"]),
        ({"processRecovery": {"enable": True}}, ["--enable-recovery"]),
        ({"processRecovery": {"enable": True, "limit": 0}}, ["--enable-recovery", "--max-restarts", "0"]),
        (
            {"processesPerWorker": 2, "processRecovery": {"enable": True}, "extraMPIArgs": ["-v"]},
            ["-N", "2", "--enable-recovery", "-v"],
        ),
    ],
)
def test_processes_of_a_worker_are_options_of_mpirun(more: Spec, options: list[str]) -> None:
    admission = admit(spec(workers(**more)))
    assert texts(admission) == []
    assert admission.spec == spec(workers(extraMPIArgs=options))
    olds = [name for name in ("processesPerWorker", "processRecovery") if name in more]
    message = "spec.worker.{} is deprecated, use spec.worker.extraMPIArgs"
    assert notices(admission) == [("DeprecatedField", message.format(name)) for name in olds]


@pytest.mark.parametrize(
    "more", [{"processRecovery": {"enable": False, "limit": 5}}, {"processesPerWorker": None}]
)
def test_what_is_switched_off_or_null_gives_no_option(more: Spec) -> None:
    assert admit(spec(workers(**more))).spec == spec()


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (
            old_spec(mpi={"script": "./walk"}),
            'spec.mpiConfig.script: Invalid value: "./walk": must be of type array',
        ),
        (
            old_spec(mpi={"mca": {"btl": 1}, "script": ["a"]}),
            "spec.mpiConfig.mca.btl: Invalid value: 1: must be of type string",
        ),
        (
            old_spec(old_launcher(), old_workers(0)),
            "spec.replicaSpecs[1].replicas: Invalid value: 0: must be greater than or equal to 1",
        ),
    ],
)
def test_wrong_values_are_named_where_they_were_written(broken: Spec, text: str) -> None:
    assert texts(admit(broken)) == [text]


def test_workers_without_a_template_are_refused() -> None:
    assert texts(admit(old_spec(old_launcher(), {"type": "worker"}))) == [
        "spec.worker.template: Required value"
    ]


@pytest.mark.parametrize("broken", [{"mpiConfig": 5}, {"replicaSpecs": {}}, {"replicaSpecs": [5, None]}])
def test_what_is_no_such_form_is_no_job(broken: Spec) -> None:
    assert admit({**old_spec(), **broken}).plan is None


def test_an_update_in_the_other_form_with_the_same_values_changes_nothing() -> None:
    admission = admit(spec(), admit(old_spec()).spec)
    assert (admission.problems, admission.changes) == ((), {})
    again = admit({**old_spec(), "runMode": {"pause": {"enabled": True}}}, spec())
    assert (again.problems, again.notices) == ((), ())
    assert again.changes == {"spec.runMode.pause.enabled": True}


def test_the_launcher_of_the_older_form_gets_no_gpus() -> None:
    admission = admit(old_spec(old_launcher(resources={"limits": {"nvidia.com/gpu": 1}}), old_workers()))
    message = 'spec.launcher.resources: "nvidia.com/gpu" is ignored: the launcher gets no devices'
    assert ("ConfigIgnored", message) in notices(admission)


def test_the_container_may_be_called_worker() -> None:
    item = old_workers()
    item["template"]["spec"]["containers"] = [container(name="worker")]
    assert texts(admit(old_spec(old_launcher(), item))) == []
