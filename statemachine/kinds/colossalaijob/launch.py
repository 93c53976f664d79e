"""The command line of the launcher. Source: colossalaijob.md, section 4."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from statemachine.kinds.t9k.hostfile import HOSTFILE_PATH

COMMAND: Final = ("colossalai",)
PORT: Final = 29500
"""Where the training processes meet, on the first worker."""

_OURS: Final = ("master_addr", "master_port", "nproc_per_node", "nnodes", "node_rank")


@dataclass(frozen=True, slots=True)
class TorchArg:
    """One option of torchrun: `index` in the list that it starts at, `value` None if it has none.

    `expressible`: the launcher program can hand it on.
    """

    index: int
    name: str
    value: str | None
    expressible: bool

    @property
    def rendered(self) -> str:
        """As `--extra_launch_args` has it."""
        return self.name if self.value is None else f"{self.name}={self.value}"


def torch_options(args: Sequence[str]) -> Iterator[TorchArg]:
    """The options in `torchArgs`: `--name=value`, `--name value` or `--name`.

    The launcher program splits its list at commas and each item at its only `=`, drops a value that is empty,
    and sets some options itself. A word that is neither an option nor a value is an inexpressible option.
    """
    at = 0
    while at < len(args):
        start, word = at, args[at]
        at += 1
        name, equals, value = word.removeprefix("--").partition("=")
        has_value = bool(equals)
        if word.startswith("--") and not equals and at < len(args) and not args[at].startswith("--"):
            value, has_value = args[at], True
            at += 1
        fine = word.startswith("--") and bool(name) and name.replace("-", "_") not in _OURS
        fine = fine and "," not in name + value and "=" not in value and bool(value or not has_value)
        yield TorchArg(start, name, value if has_value else None, fine)


def launch_args(processes: int, master: str, torch_args: Sequence[str], script: Sequence[str]) -> list[str]:
    """The arguments of `colossalai`: options, then the training script with its arguments."""
    extra = ",".join(arg.rendered for arg in torch_options(torch_args))
    return [
        "run",
        f"--nproc_per_node={processes}",
        f"--hostfile={HOSTFILE_PATH}",
        f"--master_addr={master}",
        f"--master_port={PORT}",
        *([f"--extra_launch_args={extra}"] if extra else []),
        *script,
    ]
