"""The command line of the training container. Source: pytorchtrainingjob.md, section 4."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from statemachine.kinds.pytorchtrainingjob.spec import PyTorchTrainingSpec


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where the replicas of a job meet: the rendezvous `id`, the master's address, the number of replicas."""

    id: str
    host: str
    port: int
    replicas: int


def torchrun_args(
    spec: PyTorchTrainingSpec, meeting: Meeting, type_: str, script: Sequence[str]
) -> list[str]:
    """The arguments of torchrun: generated options, then extraOptions, then the script with its arguments.

    A generated option that extraOptions names as well, with `_` or `-`, is left out.
    """
    extra = spec.torchrun_config.extra_options or []
    named = [option.partition("=")[0].replace("-", "_") for option in extra if option.startswith("--")]
    generated = [
        f"--{name}={value}" for name, value in _options(spec, meeting, type_) if f"__{name}" not in named
    ]
    return [*generated, *extra, *script]


def _options(spec: PyTorchTrainingSpec, meeting: Meeting, type_: str) -> Iterator[tuple[str, object]]:
    """Names and values of the generated options, in order."""
    torchrun, elastic = spec.torchrun_config, spec.elastic
    yield "nnodes", f"{elastic.min_replicas}:{elastic.max_replicas}" if elastic.enabled else meeting.replicas
    if torchrun.proc_per_node is not None:
        yield "nproc_per_node", torchrun.proc_per_node
    yield "rdzv_id", meeting.id
    yield "rdzv_backend", torchrun.rdzv_backend
    if torchrun.rdzv_backend == "c10d":
        yield "rdzv_endpoint", f"{meeting.host}:{meeting.port}"
    if torchrun.max_restarts is not None:
        yield "max_restarts", torchrun.max_restarts
    yield "role", type_
