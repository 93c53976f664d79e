"""Rules about `otherArgs` of a DeepSpeedJob, the further options of deepspeed: DS3-DS6.

Source: deepspeedjob.md, section 2.
"""

import re
from collections.abc import Iterator
from typing import Final

from statemachine.errors import Problem
from statemachine.kinds.deepspeedjob.launch import MASTER_PORT, PORT_OPTION, SSH_PORT
from statemachine.kinds.deepspeedjob.options import options
from statemachine.kinds.deepspeedjob.roles import most_workers
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.lookup import text, texts

_SOURCE: Final = "deepspeedjob.md, section 2"

_ELSEWHERE = {
    "--no_local_rank": "localRank",
    "--autotuning": "autotune",
    "--module": "run",
    "--no_python": "run",
}

_OURS = (
    *("--hostfile", "-H", "--master_addr", "--num_nodes"),
    *("--include", "-i", "--exclude", "-e"),
)

_NOT_WITH_PDSH = ("--save_pid", "--enable_each_rank_log", "--bind_cores_to_rank", "--bind_core_list")


def _options(draft: Draft) -> list[tuple[str, str]]:
    return list(options(texts(draft.spec, "config.otherArgs")))


def _said(id_: str, sentence: str) -> Problem:
    return Problem(id_, "spec.config.otherArgs", sentence)


def _conflicting(draft: Draft) -> Iterator[Problem]:
    for name, _ in _options(draft):
        if name in _ELSEWHERE:
            yield _said("DS3", f'"{name}" conflicts with spec.config.{_ELSEWHERE[name]}')


CONFLICTS = Rule(
    "DS3",
    Layer.CONTROLLER,
    says="`otherArgs` has none of " + ", ".join(f"`{option}`" for option in _ELSEWHERE),
    text='spec.config.otherArgs: "<opt>" conflicts with spec.config.<localRank or autotune or run>',
    check=_conflicting,
    source=_SOURCE,
)


def _set_by_us(draft: Draft) -> Iterator[Problem]:
    for name, _ in _options(draft):
        if name in _OURS:
            yield _said("DS4", f'"{name}" is set by the controller')


CONTROLLERS = Rule(
    "DS4",
    Layer.CONTROLLER,
    says="`otherArgs` has none of " + ", ".join(f"`{option}`" for option in _OURS),
    text='spec.config.otherArgs: "<opt>" is set by the controller',
    check=_set_by_us,
    source=_SOURCE,
)


def _strange_port(draft: Draft) -> Iterator[Problem]:
    if text(draft.spec, "config.customCommand"):
        return
    for name, value in _options(draft):
        if name == PORT_OPTION and not _is_free_port(value):
            yield _said("DS4", f'{name} "{value}" {_A_PORT}')


def _is_free_port(word: str) -> bool:
    return re.fullmatch("[1-9][0-9]{0,4}", word) is not None and SSH_PORT != int(word) <= 65535


_A_PORT = f"must be a port from 1 to 65535, and not {SSH_PORT}, which is SSH's"

PORT = Rule(
    "DS4",
    Layer.CONTROLLER,
    says=f"`{PORT_OPTION}` in `otherArgs` is a port; it takes the place of {MASTER_PORT} everywhere",
    text=f'spec.config.otherArgs: {PORT_OPTION} "<x>" {_A_PORT}',
    check=_strange_port,
    source=_SOURCE,
)


def _strange_launcher(draft: Draft) -> Iterator[Problem]:
    for name, value in _options(draft):
        if name == "--launcher" and value.lower() != "pdsh":
            yield _said("DS5", f'launcher "{value}" is not supported, only pdsh')


LAUNCHER = Rule(
    "DS5",
    Layer.CONTROLLER,
    says="`--launcher` in `otherArgs` is pdsh",
    text='spec.config.otherArgs: launcher "<x>" is not supported, only pdsh',
    check=_strange_launcher,
    source=_SOURCE,
)


def _unsupported(draft: Draft) -> Iterator[Problem]:
    for name, _ in _options(draft):
        if name in _NOT_WITH_PDSH and most_workers(draft.spec) > 1:
            yield _said("DS6", f'"{name}" is not supported with more than one worker')


ONE_WORKER = Rule(
    "DS6",
    Layer.CONTROLLER,
    says="with more than one worker, `otherArgs` has none of "
    + ", ".join(f"`{option}`" for option in _NOT_WITH_PDSH),
    text='spec.config.otherArgs: "<opt>" is not supported with more than one worker',
    check=_unsupported,
    source=_SOURCE,
)
