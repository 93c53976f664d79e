"""The older forms of an MPIJob: `mpiConfig` with `replicaSpecs`, and processes of a worker, as the present one.

Source: mpijob.md, section 1, "Older forms".
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.kinds.common.canonical import Rewritten, deprecated
from statemachine.kinds.t9k.older import Move, listed_types
from statemachine.kinds.t9k.workers import WORKER
from statemachine.rulebook import Notice
from statemachine.schema.fields import INT32_MAX
from statemachine.schema.lookup import is_object

OLD: Final = ("mpiConfig", "replicaSpecs")

PRESENT: Final = ("worker", "launcher", "mca", "mpiHome")
"""What the older form says in its own way."""

_FROM_MPI_CONFIG: Final = {
    "mca": "mca",
    "home": "mpiHome",
    "extraArgs": "worker.extraMPIArgs",
    "script": "worker.cmd",
}
_PROCESSES: Final = "processesPerWorker"
_RECOVERY: Final = "processRecovery"
_OPTIONS: Final = "extraMPIArgs"


def modern(raw: Mapping[str, Any]) -> Rewritten:
    """The spec in its present form. One that mixes the forms, or lacks half of one, is left to MP1."""
    return _with_options(_of_types(raw))


def _of_types(raw: Mapping[str, Any]) -> Rewritten:
    """The spec without `mpiConfig` and `replicaSpecs`."""
    listed = listed_types(raw)
    if not is_object(raw.get("mpiConfig")) or any(raw.get(name) is not None for name in PRESENT):
        return Rewritten(raw)
    if listed is None or WORKER not in listed:
        return Rewritten(raw)
    move = Move({WORKER: {}})
    move.take_fields("spec.mpiConfig", raw["mpiConfig"], _FROM_MPI_CONFIG)
    for type_, (path, item) in listed.items():
        if type_ == WORKER:
            move.take_workers(path, item)
        else:
            move.take_launcher(path, item, ("resources",))
    return move.rewritten({name: value for name, value in raw.items() if name not in (*OLD, *PRESENT)})


def _with_options(form: Rewritten) -> Rewritten:
    """The spec with `processesPerWorker` and `processRecovery` of the workers as options of mpirun.

    Values that make no options are left where they are: the model refuses them there.
    """
    worker = form.spec.get(WORKER)
    if not is_object(worker) or not any(name in worker for name in (_PROCESSES, _RECOVERY)):
        return form
    options = worker.get(_OPTIONS)
    own = [] if options is None else options
    processes, recovery = worker.get(_PROCESSES), worker.get(_RECOVERY)
    if not _are_words(own) or not _is_number(processes, 1) or not _is_recovery(recovery):
        return form
    words = [*_started(processes), *_recovered(recovery), *own]
    rest = {name: value for name, value in worker.items() if name not in (_PROCESSES, _RECOVERY, _OPTIONS)}
    moved = {**rest, _OPTIONS: words} if words or options is not None else rest
    notices = (*form.notices, *_reported(worker))
    return Rewritten({**form.spec, WORKER: moved}, notices, form.renamed)


def _are_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_number(value: object, least: int) -> bool:
    """The value is a number of this size, or absent."""
    return value is None or (type(value) is int and least <= value <= INT32_MAX)


def _is_recovery(value: object) -> bool:
    if not is_object(value):
        return value is None
    return isinstance(value.get("enable", False), bool) and _is_number(value.get("limit"), 0)


def _started(processes: int | None) -> list[str]:
    return [] if processes is None else ["-N", str(processes)]


def _recovered(recovery: Mapping[str, Any] | None) -> list[str]:
    if recovery is None or not recovery.get("enable"):
        return []
    limit = recovery.get("limit")
    return ["--enable-recovery", *([] if limit is None else ["--max-restarts", str(limit)])]


def _reported(worker: Mapping[str, Any]) -> Iterator[Notice]:
    for name in (_PROCESSES, _RECOVERY):
        if worker.get(name) is not None:
            yield deprecated(f"spec.{WORKER}.{name}", f"spec.{WORKER}.{_OPTIONS}")
