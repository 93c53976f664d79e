"""Who changed a job object, as far as its metadata can say. Pure.

An API server notes for every field who wrote it last (`managedFields`), by the name of a program, which a client
chooses. Who was behind it can be known where an admission policy guards our annotations (`actor_policy`): then they
name the user whom the API server knew. Times of `managedFields` are whole seconds, and scaling has none, so the
question is who owns what has changed, not who wrote last.

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
"""Annotation on jobs: who wrote the spec."""

ACTOR_OF: Final = "jobledger.dev/actor-of"
"""Annotation on jobs: the generation of the spec that the one who is named wrote."""

DELETED_BY: Final = "jobledger.dev/deleted-by"
"""Annotation on jobs: who asked for the deletion. Who wrote the spec last is no evidence of that."""

OWN_MANAGERS: Final = frozenset({"jobledger", "kubectl-jobledger"})
"""Field managers of our own clients, which name the user for whom they act."""

_HASH: Final = 8
"""Bytes of the digest of one field."""

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)

Path = tuple[str, ...]


class Actor(NamedTuple):
    """Who is behind a change, and how that is known."""

    name: str = ""
    source: ActorSource = ActorSource.RECORDED


NOBODY: Final = Actor()


@dataclass(frozen=True, slots=True)
class _Manager:
    """An entry of `managedFields`. Without a time it may have written at any."""

    name: str
    fields: Mapping[str, Any]
    at: datetime | None
    scales: bool

    def owns(self, path: Path, *, around: bool = False) -> bool:
        """It wrote the field last; or `around`, one that may count as a whole.

        A manager that made an object, and lost all fields in it to others, still owns the object, without any.
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
    """What `named` needs to know later: eight bytes for the generation, each field of the spec, each label."""
    return _generation(raw) + b"".join(sorted(_hash(path, value) for path, value in _fields(raw)))


def named(
    seen: Observation, raw: Mapping[str, Any], before: bytes | None, since: datetime | None
) -> Observation:
    """The observation of a job object with who is behind it.

    `before` is the digest of the object as it was when it was last reported, None for one that was not. `since`: from
    when on the policy has guarded the annotations of such objects, None where it does not.
    """
    if isinstance(seen, JobGone) or (isinstance(seen, JobObserved) and seen.terminating_since is not None):
        found = _deleter(raw, since)
    elif isinstance(seen, JobObserved):
        found = _actor(raw, before, since)
    else:
        return seen
    return seen.model_copy(update={"actor": found.name, "actor_source": found.source})


def _deleter(raw: Mapping[str, Any], since: datetime | None) -> Actor:
    """Who asked for the deletion, as our front says; nothing is known of any other."""
    name = _annotation(raw, DELETED_BY)
    managers = _managers(raw)
    if not (name and managers):
        return Actor(name)
    path = ("metadata", "annotations", DELETED_BY)
    wrote = max((each.at or _NEVER for each in managers if each.owns(path)), default=_NEVER)
    is_guarded = since is not None and wrote >= since
    return Actor(name, ActorSource.VERIFIED if is_guarded else ActorSource.STATED)


def _actor(raw: Mapping[str, Any], before: bytes | None, since: datetime | None) -> Actor:
    said, managers = _annotation(raw, ACTOR), _managers(raw)
    if not managers:  # nobody keeps account of them: a machine's own cluster
        return Actor(said)
    is_new = before is None or before[:_HASH] != _generation(raw)
    changed = _changed(raw, before)
    of_spec = [path for path in changed if path[0] == "spec"]
    is_claimed = bool(said) and is_new and _annotation(raw, ACTOR_OF) == str(_counted(raw))
    if is_claimed and since is not None and _last_write(managers, of_spec) >= since:
        return Actor(said, ActorSource.VERIFIED)
    first = before is None and _counted(raw) <= 1
    manager = _manager(managers, of_spec or changed, first=first)
    if said and manager.name in OWN_MANAGERS and not manager.scales:
        return Actor(said, ActorSource.STATED)
    return Actor(manager.name, ActorSource.MANAGER)


def _last_write(managers: Sequence[_Manager], changed: Sequence[Path]) -> datetime:
    """When the spec was written last by somebody whom the policy can name: those who scale it cannot."""
    owners = _owners(managers, changed) or _owners(managers, changed, around=True)
    wrote = [each for _, each in owners] if changed else managers
    return max((each.at or _NEVER for each in wrote if not each.scales), default=_NEVER)


def _manager(managers: Sequence[_Manager], changed: Sequence[Path], *, first: bool) -> _Manager:
    """Who owns what has changed: of several the newest, then who owns least. `first`: nothing has changed yet."""
    owners = _owners(managers, changed) or _owners(managers, changed, around=True)
    if not owners:  # what has gone has no owner any more
        return max(managers, key=lambda each: (each.at or _NEVER, _names_the_actor(each)))
    if first:
        return max(owners, key=lambda found: found[0])[1]
    return max(owners, key=lambda found: (found[1].at or _newest(owners), -_size(found[1].fields)))[1]


def _owners(
    managers: Sequence[_Manager], changed: Sequence[Path], *, around: bool = False
) -> list[tuple[int, _Manager]]:
    """Who owns how many of the fields."""
    owned = [(sum(each.owns(path, around=around) for path in changed), each) for each in managers]
    return [(count, each) for count, each in owned if count]


def _newest(owners: Sequence[tuple[int, _Manager]]) -> datetime:
    """Where a manager without a time stands: it may have been the last."""
    return max((each.at for _, each in owners if each.at is not None), default=_LATEST)


def _names_the_actor(manager: _Manager) -> bool:
    return manager.owns(("metadata", "annotations", ACTOR))


def _size(fields: Mapping[str, Any]) -> int:
    return sum(1 + _size(each) for each in fields.values() if isinstance(each, Mapping))


def _managers(raw: Mapping[str, Any]) -> list[_Manager]:
    """Those that wrote more than the status."""
    said = _within(raw, "metadata", "managedFields")
    found = [each for each in said if isinstance(each, Mapping)] if isinstance(said, list) else []
    return [
        _Manager(
            _text(each.get("manager")),
            fields if isinstance(fields := each.get("fieldsV1"), Mapping) else {},
            instant(each.get("time")),
            each.get("subresource") == "scale",
        )
        for each in found
        if each.get("subresource") in (None, "", "scale")
    ]


def _changed(raw: Mapping[str, Any], before: bytes | None) -> list[Path]:
    """The fields that are not as they were; all of the spec, where nobody knows how they were."""
    if before is None:
        return [path for path, _ in _fields(raw) if path[0] == "spec"]
    old = {before[at : at + _HASH] for at in range(_HASH, len(before), _HASH)}
    return [path for path, value in _fields(raw) if _hash(path, value) not in old]


def _fields(raw: Mapping[str, Any]) -> Iterator[tuple[Path, object]]:
    """The fields of the spec, and the labels. A list is one field: that of replicas counts as a whole."""
    yield from _leaves(("spec",), raw.get("spec") or None)
    yield from _leaves(("metadata", "labels"), _within(raw, "metadata", "labels") or None)


def _leaves(path: Path, value: object) -> Iterator[tuple[Path, object]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves((*path, str(key)), inner)
    elif value is not None:
        yield path, value


def _hash(path: Path, value: object) -> bytes:
    said = to_json([path, value], inf_nan_mode="constants", serialize_unknown=True)
    return hashlib.blake2b(said, digest_size=_HASH).digest()


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
    """A string that can be written as UTF-8; anything else is nothing."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
