"""The actor of a change of a job object, as far as its metadata has it. Pure.

An API server keeps for every field the name of the program that wrote it last (`managedFields`), which a client
chooses. The user is known where an admission policy guards our annotations (`actor_policy`): then these name the user
whom the API server knew. Times of `managedFields` are whole seconds, and scaling has none, so the actor is the owner
of the changed fields, not the last writer.

Source: Kubernetes, server-side apply (field management); ADR 0023.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

from statemachine.ids import whole_number
from statemachine.observations import ActorSource, JobGone, JobObserved, Observation
from statemachine.timestamps import instant

ACTOR: Final = "jobledger.dev/actor"
"""Annotation on jobs: the author of the spec."""

ACTOR_OF: Final = "jobledger.dev/actor-of"
"""Annotation on jobs: the generation of the spec that the named author wrote."""

DELETED_BY: Final = "jobledger.dev/deleted-by"
"""Annotation on jobs: who asked for the deletion; the author of the spec need not be the same."""

OWN_MANAGERS: Final = frozenset({"jobledger", "kubectl-jobledger"})
"""Field managers of our own clients, which state the user for whom they act."""

_HASH: Final = 8
"""The bytes of the digest of one field."""

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)

Path = tuple[str, ...]


class Actor(NamedTuple):
    """Who is behind a change, and how that is known."""

    name: str = ""
    source: ActorSource = ActorSource.RECORDED


@dataclass(frozen=True, slots=True)
class _Manager:
    """An entry of `managedFields`. Without a time it may have written at any time."""

    name: str
    fields: Mapping[str, Any]
    at: datetime | None
    scales: bool

    def owns(self, path: Path, *, around: bool = False) -> bool:
        """The manager wrote the field last; with `around`, also an object around it that it owns as a whole.

        A manager that made an object, and lost all fields in it to others, still owns the object, but no field.
        """
        node: Any = self.fields
        for step in path:
            node = node.get(f"f:{step}") if isinstance(node, Mapping) else None
            if node is None:
                return False
            if not node and around:
                return True
        return True


def digest(raw: Mapping[str, Any]) -> bytes:
    """The data that `named` needs later: eight bytes for the generation, each field of the spec, each label."""
    return _generation(raw) + b"".join(sorted(_hash(path, value) for path, value in _fields(raw)))


def named(
    observation: Observation, raw: Mapping[str, Any], before: bytes | None, since: datetime | None
) -> Observation:
    """The observation of a job object with its actor.

    `before` is the digest of the object when it was last reported, None if it was not. `since`: from when on the
    policy has guarded the annotations of such objects, None if it does not.
    """
    match observation:
        case JobObserved(terminating_since=None):
            actor = _actor(raw, before, since)
        case JobObserved() | JobGone():
            actor = _deleter(raw, since)
        case _:
            return observation
    return observation.changed(actor=actor.name, actor_source=actor.source)


def _deleter(raw: Mapping[str, Any], since: datetime | None) -> Actor:
    """Who asked for the deletion, as our front states it; other deletions have no known actor."""
    name = _annotation(raw, DELETED_BY)
    managers = _managers(raw)
    if not (name and managers):
        return Actor(name)
    path = ("metadata", "annotations", DELETED_BY)
    wrote = max((manager.at or _NEVER for manager in managers if manager.owns(path)), default=_NEVER)
    is_guarded = since is not None and wrote >= since
    return Actor(name, ActorSource.VERIFIED if is_guarded else ActorSource.STATED)


def _actor(raw: Mapping[str, Any], before: bytes | None, since: datetime | None) -> Actor:
    stated, managers = _annotation(raw, ACTOR), _managers(raw)
    if not managers:  # a local cluster does not keep them
        return Actor(stated)
    is_new = before is None or before[:_HASH] != _generation(raw)
    changed = _changed(raw, before)
    of_spec = [path for path in changed if path[0] == "spec"]
    is_claimed = bool(stated) and is_new and _annotation(raw, ACTOR_OF) == str(_counted(raw))
    if is_claimed and since is not None and _last_write(managers, of_spec) >= since:
        return Actor(stated, ActorSource.VERIFIED)
    first = before is None and _counted(raw) <= 1
    manager = _manager(managers, of_spec or changed, first=first)
    if stated and manager.name in OWN_MANAGERS and not manager.scales:
        return Actor(stated, ActorSource.STATED)
    return Actor(manager.name, ActorSource.MANAGER)


def _last_write(managers: Sequence[_Manager], changed: Sequence[Path]) -> datetime:
    """When a manager that the policy can name last wrote the spec; it cannot name those that scale."""
    owners = _owners(managers, changed) or _owners(managers, changed, around=True)
    wrote = [manager for _, manager in owners] if changed else managers
    return max((manager.at or _NEVER for manager in wrote if not manager.scales), default=_NEVER)


def _manager(managers: Sequence[_Manager], changed: Sequence[Path], *, first: bool) -> _Manager:
    """The owner of the changed fields: of several the newest, then the one that owns least. `first`: a new object."""
    owners = _owners(managers, changed) or _owners(managers, changed, around=True)
    if not owners:  # removed fields have no owner any more
        return max(managers, key=lambda manager: (manager.at or _NEVER, _names_the_actor(manager)))
    if first:
        return max(owners, key=lambda owner: owner[0])[1]
    return max(owners, key=lambda owner: (owner[1].at or _newest(owners), -_size(owner[1].fields)))[1]


def _owners(
    managers: Sequence[_Manager], changed: Sequence[Path], *, around: bool = False
) -> list[tuple[int, _Manager]]:
    """The managers that own some of the fields, each with the number of them."""
    owned = [(sum(manager.owns(path, around=around) for path in changed), manager) for manager in managers]
    return [(count, manager) for count, manager in owned if count]


def _newest(owners: Sequence[tuple[int, _Manager]]) -> datetime:
    """The time of a manager without one: it may have been the last."""
    return max((manager.at for _, manager in owners if manager.at is not None), default=_LATEST)


def _names_the_actor(manager: _Manager) -> bool:
    return manager.owns(("metadata", "annotations", ACTOR))


def _size(fields: Mapping[str, Any]) -> int:
    return sum(1 + _size(inner) for inner in fields.values() if isinstance(inner, Mapping))


def _managers(raw: Mapping[str, Any]) -> list[_Manager]:
    """The managers that wrote more than the status."""
    entries = _within(raw, "metadata", "managedFields")
    mappings = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
    return [
        _Manager(
            _text(entry.get("manager")),
            fields if isinstance(fields := entry.get("fieldsV1"), Mapping) else {},
            instant(entry.get("time")),
            entry.get("subresource") == "scale",
        )
        for entry in mappings
        if entry.get("subresource") in (None, "", "scale")
    ]


def _changed(raw: Mapping[str, Any], before: bytes | None) -> list[Path]:
    """The fields that differ from `before`; without it, all of the spec."""
    if before is None:
        return [path for path, _ in _fields(raw) if path[0] == "spec"]
    old = {before[at : at + _HASH] for at in range(_HASH, len(before), _HASH)}
    return [path for path, value in _fields(raw) if _hash(path, value) not in old]


def _fields(raw: Mapping[str, Any]) -> Iterator[tuple[Path, object]]:
    """The fields of the spec, and the labels. A list is one field, as that of replicas."""
    yield from _leaves(("spec",), raw.get("spec") or None)
    yield from _leaves(("metadata", "labels"), _within(raw, "metadata", "labels") or None)


def _leaves(path: Path, value: object) -> Iterator[tuple[Path, object]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves((*path, str(key)), inner)
    elif value is not None:
        yield path, value


def _hash(path: Path, value: object) -> bytes:
    text = to_json([path, value], inf_nan_mode="constants", serialize_unknown=True)
    return hashlib.blake2b(text, digest_size=_HASH).digest()


def _generation(raw: Mapping[str, Any]) -> bytes:
    return (_counted(raw) % (1 << 63)).to_bytes(_HASH)


def _counted(raw: Mapping[str, Any]) -> int:
    return whole_number(_within(raw, "metadata", "generation")) or 0


def _within(value: Any, *path: str) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _annotation(raw: Mapping[str, Any], key: str) -> str:
    return _text(_within(raw, "metadata", "annotations", key))


def _text(value: object) -> str:
    """A string that can be written as UTF-8; empty for any other value."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
