"""The list's query string: which jobs, in which order, which page; what links of the list change. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from k8s_bridge.selectors import Requirement, Selector
from projectors.history import ERROR, JobFilter, Sort
from statemachine.errors import ConfigError
from statemachine.kinds import KNOWN
from statemachine.phases import Phase

SIZES: Final = (10, 20, 50)
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
PHASES: Final = (*(phase.value for phase in Phase if phase is not Phase.NEW), ERROR)

COLUMNS: Final = ("status", "name", "labels", "namespace", "kind", "cpu", "memory", "created")
"""What the list shows unless a user chooses; the name is always there."""

ALL_COLUMNS: Final = (*COLUMNS, "gpu", "restarts", "queue", "priority", "duration")

FILTERS: Final = ("phase", "kind", "scheduler", "queue", "resource", "label")

_VALUES: Final[Mapping[str, Sequence[str]]] = {
    "phase": PHASES,
    "sort": SORTS,
    "way": ("asc", "desc"),
    "size": [str(size) for size in SIZES],
}
_IN_ANY_CASE: Final = {phase.lower(): phase for phase in PHASES}
_NAMES: Final = ("q", *FILTERS, "sort", "way", "page", "size")

_LONGEST: Final = 100
"""Values of one filter, and characters of a search: more are no question that a person asks."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What is asked of the list."""

    q: str = ""
    phase: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    scheduler: tuple[str, ...] = ()
    queue: tuple[str, ...] = ()
    resource: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    """Each a requirement, as Kubernetes' selectors say it."""
    sort: Sort = "created"
    descending: bool = True
    page: int = 1
    size: int = 20

    @classmethod
    def of(cls, asked: QueryParams) -> "ListQuery":
        """As the address says it; what makes no sense there is as if it were not said.

        Raises:
            ConfigError: but for label selectors, which people write: the sentence says what is wrong with one.
        """
        said = {name: asked.getlist(name)[:_LONGEST] for name in FILTERS}
        said["label"] = [
            str(requirement) for text in said["label"] for requirement in Selector.of(text).requirements
        ]
        if len(said["label"]) > _LONGEST:
            raise ConfigError(f"a list is filtered by {_LONGEST} labels at most")
        said["phase"] = [_IN_ANY_CASE.get(phase.lower(), phase) for phase in said["phase"]]
        chosen = {name: tuple(dict.fromkeys(filter(None, values))) for name, values in said.items()}
        sort, size = asked.get("sort", ""), asked.get("size", "")
        way, page = asked.get("way", ""), asked.get("page", "")
        chosen_sort: Sort = next((known for known in SORTS if known == sort), "created")
        return cls(
            asked.get("q", "").strip()[:_LONGEST],
            **chosen,
            sort=chosen_sort,
            descending=way == "desc" if way in ("asc", "desc") else chosen_sort == "created",
            page=_page(page) or 1,
            size=int(size) if size in map(str, SIZES) else 20,
        )

    @classmethod
    def strictly(cls, asked: QueryParams, *others: str) -> "ListQuery":
        """As a program says it, which gets an error for what makes no sense. `others`: parameters of something else.

        Raises:
            ConfigError: a name or a value that the list does not know.
        """
        for name, value in asked.multi_items():
            if name not in (*_NAMES, *others):
                raise ConfigError(f'the list has no parameter "{name:.40}": it knows {", ".join(_NAMES)}')
            if name == "phase" and value.lower() in _IN_ANY_CASE:
                continue
            if value not in ("", *_VALUES.get(name, (value,))):
                raise ConfigError(f'{name} cannot be "{value:.40}": it is one of {", ".join(_VALUES[name])}')
            if name == "page" and value and not _page(value):
                raise ConfigError(f'page cannot be "{value:.40}": it is a whole number from 1')
        return cls.of(asked)

    @property
    def address(self) -> str:
        """The query string that says this; what is usual is left out."""
        usual = ListQuery()
        pairs: list[tuple[str, str]] = [("q", self.q)] if self.q else []
        pairs += [(name, value) for name in FILTERS for value in getattr(self, name)]
        if (self.sort, self.descending) != (usual.sort, usual.descending):
            pairs += [("sort", self.sort), ("way", "desc" if self.descending else "asc")]
        for name in ("page", "size"):
            if getattr(self, name) != getattr(usual, name):
                pairs.append((name, str(getattr(self, name))))
        return urlencode(pairs)

    @property
    def chips(self) -> Iterator[tuple[str, str, str]]:
        """Each filter in use: its name, its value, and the query without it."""
        if self.q:
            yield "q", self.q, replace(self, q="", page=1).address
        for name in FILTERS:
            values = getattr(self, name)
            for value in values:
                rest = tuple(kept for kept in values if kept != value)
                changed: dict[str, Any] = {name: rest, "page": 1}
                yield name, value, replace(self, **changed).address

    def sorted_by(self, column: Sort) -> str:
        """The query in the order of this column; the other way round if it is that already."""
        descending = not self.descending if column == self.sort else column == "created"
        return replace(self, sort=column, descending=descending, page=1).address

    def at(self, page: int) -> str:
        """The query for another page."""
        return replace(self, page=page).address

    def wanted(self, kinds: Collection[str], namespace: str) -> JobFilter:
        """As the read model understands it, within the kinds and the namespace that may be seen."""
        # a right to an older name of a kind is none to another kind: what is listed has names of today
        kinds_shown = [name for name in KNOWN if name in kinds and (not self.kind or name in self.kind)]
        return JobFilter(
            None if {*KNOWN} <= {*kinds_shown} else kinds_shown,
            namespace,
            self.q,
            self.phase,
            self.scheduler,
            self.queue,
            self.resource,
            _alternatives(self.label),
        )


def _page(said: str) -> int:
    """The number of a page, a billion at most; 0 for what is none. Python reads no number of thousands of digits."""
    digits = said.lstrip("0")[:11] if said.isascii() and said.isdigit() else ""
    return min(int(digits or "0"), 10**9)


def _alternatives(said: Sequence[str]) -> Sequence[Requirement]:
    """All that is required of labels; several values of one label, which none has at once, are alternatives.

    Source: spec console.md, section 2: several values of one filter with OR.
    """
    alternatives: list[Requirement] = []
    equal: dict[str, int] = {}
    for requirement in Selector.of(",".join(said)).requirements:
        if requirement.negated or requirement.values is None or len(requirement.values) > 1:
            alternatives.append(requirement)
        elif requirement.key not in equal:
            equal[requirement.key] = len(alternatives)
            alternatives.append(requirement)
        else:
            before = alternatives[equal[requirement.key]]
            values = dict.fromkeys((*(before.values or ()), *requirement.values))
            alternatives[equal[requirement.key]] = replace(before, values=tuple(values))
    return alternatives


def columns(said: str) -> Sequence[str]:
    """The columns in `name,status`, in the order that the list has them; the usual ones if none is said."""
    wanted = {*said.split(",")} & {*ALL_COLUMNS}
    return [column for column in ALL_COLUMNS if column in wanted or column == "name"] if wanted else COLUMNS
