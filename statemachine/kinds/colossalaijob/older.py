"""The older form of a ColossalAIJob, `torchConfig` and `replicaSpecs`, as the present one.

Source: colossalaijob.md, section 1, "Older form".
"""

from collections.abc import Mapping
from typing import Any, Final

from statemachine.kinds.common.canonical import Rewritten
from statemachine.kinds.t9k.launcher import LAUNCHER, TYPES
from statemachine.kinds.t9k.older import Move, listed_types
from statemachine.kinds.t9k.workers import WORKER

OLD: Final = ("torchConfig", "replicaSpecs")

_FROM_TORCH_CONFIG: Final = {
    "procPerWorker": "worker.procPerWorker",
    "script": "worker.command",
    "torchArgs": "worker.torchArgs",
}
_FROM_CONTAINER: Final = ("image", "workingDir", "env", "resources")


def modern(raw: Mapping[str, Any]) -> Rewritten:
    """The spec in its present form. One that mixes the forms, or lacks half of one, is left to CA1."""
    listed = listed_types(raw)
    if not isinstance(raw.get("torchConfig"), Mapping) or any(raw.get(name) is not None for name in TYPES):
        return Rewritten(raw)
    if listed is None or len(listed) < len(TYPES):
        return Rewritten(raw)
    move = Move({LAUNCHER: {}, WORKER: {}})
    move.take_fields("spec.torchConfig", raw["torchConfig"], _FROM_TORCH_CONFIG)
    move.take_workers(*listed[WORKER])
    move.take_launcher(*listed[LAUNCHER], _FROM_CONTAINER)
    return move.rewritten({name: value for name, value in raw.items() if name not in OLD})
