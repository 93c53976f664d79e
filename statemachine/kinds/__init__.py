"""The job kinds that jobledger knows. A new kind is a folder here and one line in `KINDS`."""

import difflib
from collections.abc import Mapping

from statemachine.errors import Problem, SpecInvalid
from statemachine.ids import ReplicaName, replica_name, whole_number
from statemachine.kind import Kind, Names, OptInSettings
from statemachine.kinds.beamjob import KIND as BEAM_JOB
from statemachine.kinds.colossalaijob import KIND as COLOSSALAI_JOB
from statemachine.kinds.deepspeedjob import KIND as DEEPSPEED_JOB
from statemachine.kinds.genericjob import KIND as GENERIC_JOB
from statemachine.kinds.mpijob import KIND as MPI_JOB
from statemachine.kinds.pytorchjob import KIND as PYTORCH_JOB
from statemachine.kinds.pytorchtrainingjob import KIND as PYTORCH_TRAINING_JOB
from statemachine.kinds.tensorflowtrainingjob import KIND as TENSORFLOW_TRAINING_JOB
from statemachine.kinds.xgboosttrainingjob import KIND as XGBOOST_TRAINING_JOB
from statemachine.schema.problems import shown

__all__ = [
    "KINDS",
    "KNOWN",
    "OPT_IN",
    "PRIMARY_LABELS",
    "REPLICA_LABELS",
    "SERVED",
    "UnknownKind",
    "kind_of",
    "meant_by",
    "names_of",
    "replica_of",
]

KINDS: tuple[Kind, ...] = (
    PYTORCH_TRAINING_JOB,
    DEEPSPEED_JOB,
    COLOSSALAI_JOB,
    MPI_JOB,
    TENSORFLOW_TRAINING_JOB,
    XGBOOST_TRAINING_JOB,
    GENERIC_JOB,
    BEAM_JOB,
    PYTORCH_JOB,
)
"""Every kind, in the order of spec R1."""

KNOWN: tuple[str, ...] = tuple(kind.names.kind for kind in KINDS)
"""The kinds' names, in the same order."""

SERVED: tuple[Names, ...] = tuple(names for kind in KINDS for names in (kind.names, *kind.aliases))
"""Every name under which an API server serves a kind, aliases behind the kind that they stand for."""

OPT_IN: tuple[tuple[Kind, type[OptInSettings]], ...] = tuple(
    (kind, kind.opt_in) for kind in KINDS if kind.opt_in is not None
)
"""The kinds that are managed only where they are switched on, and what each lets configure."""

REPLICA_LABELS: tuple[tuple[str, str], ...] = tuple(
    dict.fromkeys(pair for kind in KINDS for pair in kind.replica_labels)
)
"""Pairs of labels that say which replica a pod is, by type and index."""

PRIMARY_LABELS: tuple[tuple[str, str], ...] = tuple(dict.fromkeys(kind.primary_label for kind in KINDS))
"""Labels, and their values, of pods of primaries."""

_BY_NAME = {(names.api_version, names.kind): kind for kind in KINDS for names in (kind.names, *kind.aliases)}


def _spellings() -> dict[str, tuple[Names, ...]]:
    spellings: dict[str, tuple[Names, ...]] = {}
    for kind in KINDS:
        served = (kind.names, *kind.aliases)
        for names in served:
            for word in (names.kind.lower(), names.plural, names.singular, *names.short):
                spellings.setdefault(word, served)
    return spellings


_SPELLED = _spellings()
_ALIASES = {alias.kind: (alias,) for kind in KINDS for alias in kind.aliases}


class UnknownKind(SpecInvalid):
    """A manifest is of a kind that jobledger does not handle."""


def kind_of(api_version: str, kind: str) -> Kind:
    """The kind of a manifest, which may say an alias.

    Raises:
        UnknownKind: there is no such kind; the problem names the nearest that there is.
    """
    known = _BY_NAME.get((api_version, kind))
    if known is None:
        raise UnknownKind([_unknown(api_version, kind)])
    return known


def replica_of(labels: Mapping[str, object]) -> ReplicaName | None:
    """Which replica a pod with these labels is. None: they do not say."""
    for type_label, index_label in REPLICA_LABELS:
        type_, index = labels.get(type_label), whole_number(labels.get(index_label))
        if isinstance(type_, str) and type_ and index is not None:
            return replica_name(type_, index)
    return None


def meant_by(word: str) -> tuple[Names, ...]:
    """The names under which objects of the kind are served that a user calls so, as `kubectl` lets users call it.

    That is by kind, plural, singular or short name, in any case; an alias spelled as it is means itself alone. Empty:
    there is no such kind.
    """
    return _ALIASES.get(word) or _SPELLED.get(word.lower(), ())


def names_of(api_version: str, kind: str) -> Names:
    """The names by which an API server serves objects of this kind, which may be an alias.

    Raises:
        UnknownKind: there is no such kind.
    """
    known = kind_of(api_version, kind)
    return next(names for names in (known.names, *known.aliases) if names.kind == kind)


def _unknown(api_version: str, kind: str) -> Problem:
    versions = [known.names.api_version for known in KINDS if known.names.kind == kind]
    if versions:
        supported = ", ".join(shown(version) for version in versions)
        return Problem(
            "", "apiVersion", f"Unsupported value: {shown(api_version)}: supported values: {supported}"
        )
    near = difflib.get_close_matches(kind.lower(), [name.lower() for name in KNOWN], n=1, cutoff=0.5)
    hint = next((f'; did you mean "{name}"?' for name in KNOWN if name.lower() in near), "")
    supported = ", ".join(shown(name) for name in KNOWN)
    return Problem("", "kind", f"Unsupported value: {shown(kind)}: supported values: {supported}{hint}")
