"""The list's query string: which jobs, in which order, which page; what links of the list change. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, get_args
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from projectors.history import ERROR, Sort, Wanted
from statemachine.kinds import KNOWN
from statemachine.phases import Phase

SIZES: Final = (10, 20, 50)
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
PHASES: Final = (*(each.value for each in Phase if each is not Phase.NEW), ERROR)

COLUMNS: Final = ("status", "name", "labels", "namespace", "kind", "cpu", "memory", "created")
"""What the list shows unless told otherwise; the name is always there."""

ALL_COLUMNS: Final = (*COLUMNS, "gpu", "restarts", "queue", "priority", "duration")

FILTERS: Final = ("phase", "kind", "scheduler", "queue", "resource", "label")

_LONGEST: Final = 100
"""Values of one filter, and characters of a search: more are no question that a person asks."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of the list."""

    q: str = ""
    phase: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    scheduler: tuple[str, ...] = ()
    queue: tuple[str, ...] = ()
    resource: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    """Each `key=value`, or `key` for any value."""
    sort: Sort = "created"
    descending: bool = True
    page: int = 1
    size: int = 20

    @classmethod
    def of(cls, asked: QueryParams) -> "Query":
        """As the address says it; what makes no sense there is as if it were not said."""
        said = {each: asked.getlist(each)[:_LONGEST] for each in FILTERS}
        said["label"] = [*islice(_labels(said["label"]), _LONGEST)]
        chosen = {each: tuple(dict.fromkeys(filter(None, values))) for each, values in said.items()}
        sort, size = asked.get("sort", ""), asked.get("size", "")
        way, page = asked.get("way", ""), asked.get("page", "")
        found: Sort = next((each for each in SORTS if each == sort), "created")
        return cls(
            asked.get("q", "").strip()[:_LONGEST],
            **chosen,
            sort=found,
            descending=way == "desc" if way in ("asc", "desc") else found == "created",
            page=min(int(page), 10**9) if page.isascii() and page.isdigit() and int(page) else 1,
            size=int(size) if size in map(str, SIZES) else 20,
        )

    @property
    def address(self) -> str:
        """The query string that says this; what is usual is left out."""
        usual = Query()
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
                rest = tuple(each for each in values if each != value)
                changed: dict[str, Any] = {name: rest, "page": 1}
                yield name, value, replace(self, **changed).address

    def sorted_by(self, column: Sort) -> str:
        """The query in the order of this column; the other way round if it is that already."""
        descending = not self.descending if column == self.sort else column == "created"
        return replace(self, sort=column, descending=descending, page=1).address

    def at(self, page: int) -> str:
        """The query for another page."""
        return replace(self, page=page).address

    def wanted(self, kinds: Collection[str], namespace: str) -> Wanted:
        """As the read model understands it, within the kinds and the namespace that may be seen."""
        # a right to an older name of a kind is none to another kind: what is listed has names of today
        seen = [each for each in KNOWN if each in kinds and (not self.kind or each in self.kind)]
        return Wanted(
            None if len(seen) == len(KNOWN) else seen,
            namespace,
            self.q,
            self.phase,
            self.scheduler,
            self.queue,
            self.resource,
            self.label,
        )


def _labels(said: Iterable[str]) -> Iterator[str]:
    """Each label wanted; several may stand in one text, as people type them: `team=a, tier`."""
    for each in ",".join(said).split(","):
        key, equals, value = each.partition("=")
        if key.strip():
            yield f"{key.strip()}{equals}{value.strip()}"


def columns(said: str) -> Sequence[str]:
    """The columns in `name,status`, in the order that the list has them; the usual ones if none is said."""
    wanted = {*said.split(",")} & {*ALL_COLUMNS}
    return [each for each in ALL_COLUMNS if each in wanted or each == "name"] if wanted else COLUMNS
