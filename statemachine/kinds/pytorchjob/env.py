"""The environment that the controller gives to every container of a pod.

Source: kubeflow-pytorchjob.md, section 3.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from statemachine.ids import ReplicaName, split_replica
from statemachine.kinds.pytorchjob.ports import declared_port
from statemachine.kinds.pytorchjob.replica_types import (
    MASTER,
    WORKER,
    elastic_range,
    has_master,
    processes_per_node,
    total,
)
from statemachine.kinds.pytorchjob.spec import ElasticPolicy, PyTorchJobSpec
from statemachine.schema.layout import Container, Slot
from statemachine.schema.lookup import items, text
from statemachine.schema.manual import Variable

Pair = tuple[str, str]

MODES: Final = ("with a Master", "Workers only", "elasticPolicy")

ENV_SAYS: Final = (
    "Set in every container, in this order, behind your own variables; one of the same name is dropped."
)

ENV: Final = (
    Variable("PYTHONUNBUFFERED", ("1", "1", "1"), "output appears in the log at once"),
    Variable(
        "MASTER_PORT, PET_MASTER_PORT", ("port pytorchjob-port of the Master", "–", "–"), "port of the Master"
    ),
    Variable("MASTER_ADDR, PET_MASTER_ADDR", ("`<job>-master-0`", "–", "–"), "host of the Master"),
    Variable(
        "WORLD_SIZE",
        ("replicas × nprocPerNode, if that is a number", "–", "–"),
        "how many processes there are",
    ),
    Variable("RANK, PET_NODE_RANK", ("Master 0, Worker i: i + 1", "–", "–"), "which replica this one is"),
    Variable("PET_NPROC_PER_NODE", ("nprocPerNode", "nprocPerNode", "as well"), "processes per node"),
    Variable("PET_RDZV_ENDPOINT", ("–", "–", "`<rdzvHost>:<rdzvPort>`"), "where torchrun meets"),
    Variable("PET_RDZV_BACKEND", ("–", "–", "rdzvBackend"), "how torchrun meets"),
    Variable(
        "PET_NNODES",
        ("number of replicas", "number of replicas", "`<min>:<max>`"),
        "how many nodes there are",
    ),
    Variable(
        "PET_MAX_RESTARTS, PET_RDZV_ID, PET_RDZV_CONF, PET_STANDALONE",
        ("–", "–", "the fields of these names, if set"),
        "options of torchrun",
    ),
)
"""In the order in which they are set. With a Master, `elasticPolicy` adds to what is set anyway."""


def with_env(container: Container, generated: Sequence[Pair]) -> dict[str, Any]:
    """The container with generated variables after the user's; those of the same names go."""
    names = [name for name, _ in generated]
    own = [entry for _, entry in items(container, "env") if text(entry, "name") not in names]
    return {**container, "env": [*own, *({"name": name, "value": value} for name, value in generated)]}


def variables(
    job_name: str, spec: PyTorchJobSpec, slots: dict[str, Slot], replica: ReplicaName
) -> list[Pair]:
    """Names and values of what a replica's containers get, in order. `slots`: pod templates by replica type."""
    return list(_variables(job_name, spec, slots, replica))


def _variables(
    job_name: str, spec: PyTorchJobSpec, slots: dict[str, Slot], replica: ReplicaName
) -> Iterator[Pair]:
    yield "PYTHONUNBUFFERED", "1"
    processes = processes_per_node(spec)
    if has_master(spec):
        port = str(declared_port(slots.get(MASTER)))
        yield from (("MASTER_PORT", port), ("PET_MASTER_PORT", port))
        host = f"{job_name}-{MASTER}-0"
        yield from (("MASTER_ADDR", host), ("PET_MASTER_ADDR", host))
        per_node = int(processes) if processes is not None and processes.isdecimal() else 1
        yield "WORLD_SIZE", str(total(spec) * per_node)
        type_, index = split_replica(replica)
        rank = str(index + 1 if type_ == WORKER else index)
        yield from (("RANK", rank), ("PET_NODE_RANK", rank))
    if processes is not None:
        yield "PET_NPROC_PER_NODE", processes
    if spec.elastic_policy is None:
        yield "PET_NNODES", str(total(spec))
        return
    elastic = spec.elastic_policy
    host = f"{job_name}-{WORKER}-0" if elastic.rdzv_host is None else elastic.rdzv_host
    meeting_port = declared_port(slots.get(WORKER)) if elastic.rdzv_port is None else elastic.rdzv_port
    yield "PET_RDZV_ENDPOINT", f"{host}:{meeting_port}"
    yield "PET_RDZV_BACKEND", elastic.rdzv_backend
    fewest, most = elastic_range(spec)
    yield "PET_NNODES", f"{fewest}:{most}"
    yield from _options(elastic)


def _options(elastic: ElasticPolicy) -> Iterator[Pair]:
    """What torchrun gets only if the user said it."""
    if elastic.max_restarts is not None:
        yield "PET_MAX_RESTARTS", str(elastic.max_restarts)
    if elastic.n_proc_per_node is not None:
        yield "PET_NPROC_PER_NODE", str(elastic.n_proc_per_node)
    if elastic.rdzv_id is not None:
        yield "PET_RDZV_ID", elastic.rdzv_id
    if elastic.rdzv_conf:
        yield (
            "PET_RDZV_CONF",
            ",".join(f"{entry.key or ''}={entry.value or ''}" for entry in elastic.rdzv_conf),
        )
    if elastic.standalone:
        yield "PET_STANDALONE", ""
