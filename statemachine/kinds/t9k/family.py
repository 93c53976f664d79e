"""A `ModelKind` with what all kinds of group `batch.tensorstack.dev` have, unless one says otherwise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from statemachine.kind import LifeRule, Placement
from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.t9k.kind import debugging, t9k_placement
from statemachine.kinds.t9k.life import FIXED_WHEN_FINISHED, LIFE, is_retryable, keeps
from statemachine.kinds.t9k.objects import (
    MASTER_LABEL,
    OWNER_KIND,
    OWNER_NAME,
    POD_GROUP,
    REPLICA_LABELS,
)
from statemachine.kinds.t9k.status import recorded
from statemachine.observations import Recorded
from statemachine.owned import Child, Owned
from statemachine.schema.fields import SpecPart
from statemachine.state import JobState

S = TypeVar("S", bound=SpecPart)


@dataclass(frozen=True, kw_only=True)
class T9kKind(ModelKind[S]):
    """See `ModelKind`. Source: spec R3, R8, R9, R10, R13."""

    child_label: str = OWNER_KIND
    name_label: str = OWNER_NAME
    replica_labels: tuple[tuple[str, str], ...] = REPLICA_LABELS
    primary_label: tuple[str, str] = MASTER_LABEL
    lifecycle: tuple[LifeRule, ...] = LIFE
    read_status: Callable[[Mapping[str, Any]], Recorded | None] = recorded
    keep: Callable[[JobState, Child], bool] = keeps
    retryable: Callable[[int], bool] = is_retryable
    fixed: tuple[str, ...] = FIXED_WHEN_FINISHED
    owns: tuple[Owned, ...] = (POD_GROUP,)
    placement: Callable[[Mapping[str, Any]], Placement] = t9k_placement
    debugging: Callable[[Mapping[str, Any]], bool] = debugging
