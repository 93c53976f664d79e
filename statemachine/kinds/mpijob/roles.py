"""Who is who in an MPIJob: names, pod templates, the plan. Source: mpijob.md, sections 3 and 5."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.errors import InvariantBroken
from statemachine.ids import JobUid
from statemachine.kinds.common.contents import is_extended
from statemachine.kinds.mpijob.launch import processes_asked
from statemachine.kinds.mpijob.spec import MpiSpec, MpiWorker
from statemachine.kinds.t9k.kind import t9k_names
from statemachine.kinds.t9k.launcher import LAUNCHER, launcher_plan
from statemachine.kinds.t9k.workers import processes_by_gpu, worker_slots
from statemachine.schema.layout import Container, Layout, Slot
from statemachine.schema.lookup import entries, is_object, items, texts
from statemachine.spec import Plan

NAMES = t9k_names("MPIJob", "mj")

CONTAINERS: Final = ("mpi-worker", "worker")
"""Names of the container that MPI runs in, the best first. Source: MP2, spec R17."""

_DEFAULT_RESOURCES: Final = {
    "requests": {"cpu": "100m", "memory": "100Mi"},
    "limits": {"cpu": "200m", "memory": "200Mi"},
}
"""What mpirun itself needs. Source: section 3."""

_COPIED: Final = (
    *("name", "image", "imagePullPolicy", "workingDir", "env", "envFrom"),
    *("volumeMounts", "volumeDevices", "securityContext"),
)
"""What the launcher's container has of the workers'."""

_OF_DEVICES: Final = ("resources", "resourceClaims")
"""What a worker's pod asks for as a whole: not for the launcher."""


def _generated_env(_: Mapping[str, Any]) -> tuple[str, ...]:
    """None: mpirun sets what the processes need."""
    return ()


WORKERS = Layout(slots=worker_slots, training_names=CONTAINERS, generated_env=_generated_env)
"""For the rules about templates, which name paths that a user wrote."""


def launcher_slot(spec: Mapping[str, Any], workers: Slot) -> Slot:
    """The launcher's pod template: that of the workers with the MPI container alone, and without devices."""
    training = WORKERS.training(workers)
    pod = {
        name: value for name, value in entries(workers.template, "spec").items() if name not in _OF_DEVICES
    }
    if training is not None:
        pod["containers"] = [_container(training[1], entries(spec, "launcher.resources"))]
    if isinstance(pod.get("initContainers"), list):
        pod["initContainers"] = [_modest(container) for _, container in items(pod, "initContainers")]
    return Slot(LAUNCHER, workers.path, {**workers.template, "spec": pod})


def _container(training: Container, resources: Mapping[str, Any]) -> Container:
    container = {name: training[name] for name in _COPIED if name in training}
    return {**container, "resources": without_devices(resources) if resources else _DEFAULT_RESOURCES}


def _modest(container: Container) -> Container:
    if not is_object(container.get("resources")):
        return container
    return {**container, "resources": without_devices(container["resources"])}


def without_devices(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Requests and limits but those of GPUs and other devices."""
    return {
        where: {name: amount for name, amount in amounts.items() if not is_extended(name)}
        for where, amounts in resources.items()
        if where in ("requests", "limits") and is_object(amounts)
    }


def _slots(spec: Mapping[str, Any]) -> Iterator[Slot]:
    for workers in worker_slots(spec):
        yield launcher_slot(spec, workers)
        yield workers


LAYOUT = Layout(
    slots=_slots, training_names=CONTAINERS, generated_env=_generated_env, new_training=CONTAINERS[0]
)


def slots_per_worker(spec: Mapping[str, Any]) -> int:
    """Processes that a worker has room for: as mpirun's options say, else one for each GPU. Source: section 3."""
    asked = processes_asked(texts(spec, "worker.extraMPIArgs"))
    if asked is not None:
        return asked
    training = next((WORKERS.training(slot) for slot in worker_slots(spec)), None)
    return processes_by_gpu(training[1]) if training else 1


def worker(spec: MpiSpec) -> MpiWorker:
    """The workers of an admitted job: MP1 sees to it that there are any."""
    if spec.worker is None:
        raise InvariantBroken("a job without workers was admitted")
    return spec.worker


def plan(name: str, _uid: JobUid, spec: MpiSpec) -> Plan:
    """How the job is to be run: the launcher decides."""
    return launcher_plan(name, worker(spec).replicas, spec.run_policy, spec.run_mode)
