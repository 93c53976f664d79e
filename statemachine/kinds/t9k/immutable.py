"""What cannot change after creation: G8, G9, G17. Values are compared: writing a default is no change.

Source: spec R2, "Mutable after creation".
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from statemachine.errors import Problem
from statemachine.kinds.common.rule_builders import claim
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.lookup import find, flag, items

Spec = Mapping[str, Any]


def fixed(path: str, default: Any = None, *, id_: str = "G17", as_text: bool = False, was: str = "") -> Rule:
    """`spec.<path>` keeps its value; absent means `default`.

    `as_text`: 4 and "4" are the same. `was`: path of the field's older spelling, for one with a default.
    """

    def value(spec: Spec) -> Any:
        entry = find(spec, path)
        return default if entry is None else entry

    cel = _same(path, as_text=as_text) if default is None else _same_value(path, default, was)
    return _keeps(id_, f"spec.{path} is immutable", value, cel, says=f"`{path}` does not change")


def fixed_unread(path: str) -> Rule:
    """`spec.<path>` keeps its value, of which CEL sees nothing: an update of it is ignored."""

    def check(draft: Draft) -> Iterator[Problem]:
        if draft.old is not None and find(draft.old, path) != find(draft.spec, path):
            yield Problem("G17", "", f"spec.{path} is immutable")

    return Rule(
        "G17",
        Layer.CONTROLLER,
        says=f"`{path}` does not change",
        text=f"spec.{path} is immutable",
        check=check,
        source="spec R2, G17",
    )


def fixed_switch(path: str, *, id_: str = "G17") -> Rule:
    """`spec.<path>.enabled` keeps its value, whatever its spelling."""
    return _keeps(
        id_,
        f"spec.{path}.enabled is immutable",
        lambda spec: flag(spec, f"{path}.enabled"),
        _same_switch(path),
        says=f"`{path}.enabled` does not change",
    )


def _keeps(id_: str, sentence: str, value: Callable[[Spec], Any], cel: str, *, says: str) -> Rule:
    """A transition rule: what `value` finds in a spec is as it was; `cel` says the same."""
    return claim(
        id_,
        sentence,
        lambda draft: draft.old is None or bool(value(draft.old) == value(draft.spec)),
        says=says,
        cel=cel,
        source=f"spec R2, {id_}",
    )


# CEL. What comes out of `.?` and `orValue` has no length known beforehand, and comparing it costs more than a CRD
# may; hence `has` all over.


def _there(path: str, of: str) -> str:
    """CEL: there is something at `path`."""
    steps = path.split(".")
    return " && ".join(f"has({of}.{'.'.join(steps[: end + 1])})" for end in range(len(steps)))


def _same(path: str, *, as_text: bool = False) -> str:
    """CEL: what is at `path` is as it was, or absent as it was."""
    before, after = (f"string({of}.{path})" if as_text else f"{of}.{path}" for of in ("oldSelf", "self"))
    here = _there(path, "self")
    return f"({here}) == ({_there(path, 'oldSelf')}) && (!({here}) || {after} == {before})"


def _same_value(path: str, default: object, was: str = "") -> str:
    """CEL: what is at `path`, or else at `was`, or else `default`, is as it was."""

    def value(of: str) -> str:
        otherwise = f"({_there(was, of)} ? {of}.{was} : {_literal(default)})" if was else _literal(default)
        return f"({_there(path, of)} ? {of}.{path} : {otherwise})"

    return f"{value('self')} == {value('oldSelf')}"


def _same_entries(path: str, **defaults: str) -> str:
    """CEL: the list at `path` has the same entries, whether or not the API server has filled in `defaults`.

    An older CRD did, so that one side may have them and the other not.
    """
    here = _there(path, "self")
    kept = [
        "each.type",
        *(f"(has(each.{name}) ? each.{name} : {default})" for name, default in defaults.items()),
    ]
    same = [f"self.{path}.map(each, {field}) == oldSelf.{path}.map(each, {field})" for field in kept]
    return f"({here}) == ({_there(path, 'oldSelf')}) && (!({here}) || ({' && '.join(same)}))"


def _same_switch(path: str) -> str:
    """CEL: the object at `path` is switched on as it was."""
    return " == ".join(f"({_there(path, of)} && on({of}.{path}))" for of in ("self", "oldSelf"))


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else str(value)


def _debug(spec: Spec) -> Any:
    return flag(spec, "runMode.debug.enabled"), _entries(spec, "runMode.debug.replicaSpecs")


def _entries(spec: Spec, path: str) -> Any:
    """The list at `path` with what is false or null left out of its entries; None if there is none."""
    if not isinstance(find(spec, path), list):
        return None
    return [{key: value for key, value in item.items() if value} for _, item in items(spec, path)]


DEBUG = _keeps(
    "G8",
    "spec.runMode.debug is immutable; create the job again without debug",
    _debug,
    f"{_same_switch('runMode.debug')} && "
    + _same_entries("runMode.debug.replicaSpecs", skipInitContainer="false", command="[]"),
    says="`runMode.debug` does not change",
)

RESUME_SPECS = _keeps(
    "G9",
    "spec.runMode.pause.resumeSpecs is immutable",
    lambda spec: _entries(spec, "runMode.pause.resumeSpecs"),
    _same_entries("runMode.pause.resumeSpecs", skipInitContainer="false", command="[]", args="[]"),
    says="`runMode.pause.resumeSpecs` does not change",
)

SCHEDULER = _keeps(
    "G17",
    "spec.scheduler is immutable",
    lambda spec: (
        find(spec, "scheduler.t9kScheduler") is not None,
        find(spec, "scheduler.t9kScheduler.queue") or "default",
        find(spec, "scheduler.t9kScheduler.priority") or 0,
    ),
    f"({_there('scheduler.t9kScheduler', 'self')}) == ({_there('scheduler.t9kScheduler', 'oldSelf')}) && "
    f"{_same_value('scheduler.t9kScheduler.queue', 'default')} && "
    f"{_same_value('scheduler.t9kScheduler.priority', 0)}",
    says="`scheduler` does not change: a pod's queue cannot",
)


def finished(path: str) -> Rule:
    """`spec.<path>` keeps its value once the job is finished.

    For the API server: a spec does not know its job's phase. Elsewhere: `Kind.fixed_when_finished`.
    """
    ended = f"{_there('status.phase', 'oldSelf')} && oldSelf.status.phase in ['Succeeded', 'Failed']"
    return Rule(
        "G17",
        Layer.CEL,
        says=f"`{path}` does not change once the job is finished",
        text=f"spec.{path} is immutable",
        cel=f"!({ended}) || ({_same(f'spec.{path}')})",
        cel_at="",
        source="spec R2, G17",
    )


FINISHED = finished("runPolicy")


def fixed_list(path: str) -> Rule:
    """`spec.<path>` keeps its number of items."""
    return _keeps(
        "G17",
        f"spec.{path} is immutable",
        lambda spec: len(find(spec, path)) if isinstance(find(spec, path), list) else None,
        f"size(self.{path}) == size(oldSelf.{path})",
        says=f"nothing is added to `{path}` or taken away",
    )


_INDEXES = list(range(16))
"""Every index that a list of replica specs can have: only so can CEL say which item differs from another list's."""


def fixed_in_items(path: str, name: str, default: Any = None) -> Rule:
    """The field `name` of every item of `spec.<path>` keeps its value; absent means `default`."""

    def check(draft: Draft) -> Iterator[Problem]:
        if draft.old is None:
            return
        before = [find(item, name) for _, item in items(draft.old, path)]
        after = [find(item, name) for _, item in items(draft.spec, path)]
        for index, (old, new) in enumerate(zip(before, after, strict=False)):
            if (default if old is None else old) != (default if new is None else new):
                yield Problem("G17", "", f"spec.{path}[{index}].{name} is immutable")

    def cel(item: str) -> str:
        field = f"{item}.{name}"
        return field if default is None else f"({_there(name, item)} ? {field} : {_literal(default)})"

    def all_of(of: str) -> str:
        return f"{of}.{path}.map(r, {cel('r')})"

    beyond = f"i >= size(self.{path}) || i >= size(oldSelf.{path})"
    differs = f"{cel(f'self.{path}[i]')} != {cel(f'oldSelf.{path}[i]')}"
    sentences = [f"spec.{path}[{index}].{name} is immutable" for index in _INDEXES]
    return Rule(
        "G17",
        Layer.CEL,
        says=f"`{path}[].{name}` does not change",
        text=f"spec.{path}[<i>].{name} is immutable",
        check=check,
        # API servers evaluate it at every write of a status: no walk over indexes that no item has
        cel=f"size(self.{path}) != size(oldSelf.{path}) || {all_of('self')} == {all_of('oldSelf')}",
        cel_message=f"{sentences}[{_INDEXES}.filter(i, !({beyond}) && {differs})[0]]",
        source="spec R2, G17",
    )


def fixed_replicas(path: str = "replicaSpecs") -> tuple[Rule, ...]:
    """The list of replica specs stays as it is, but for the templates, which CEL cannot read (spec R2)."""
    return (
        fixed_list(path),
        fixed_in_items(path, "type"),
        fixed_in_items(path, "replicas", 1),
        fixed_in_items(path, "restartPolicy", "OnFailure"),
    )
