"""What the console's list asks: filters, order and page in SQL; what is shown is read for one page only."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

from k8s_bridge.selectors import Requirement
from projectors.history.database import Database, Row
from projectors.history.labels import FEW, count_to_few, is_of_few, meets

ERROR: Final = "Error"
"""A value of the filter for phases that is none: the job failed, or a replica of it."""

Sort = Literal["name", "created", "phase"]

_ORDER: Final[Mapping[Sort, str]] = {"name": "name", "created": "created_at", "phase": "phase"}
_COUNT: Final = "SELECT count(*) FROM history_listing"
_UIDS: Final = "SELECT uid FROM history_listing"
_FILTERS: Final = "SELECT DISTINCT scheduler, queue, resources FROM history_listing"

_SHOWN: Final = (
    "SELECT uid, namespace, api_version, kind, name, phase, is_error, created_at, scheduler, queue, shown "
    "FROM history_listing WHERE uid IN"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs: all that fit every filter that says something; of one filter's values one is enough.

    `kinds` None is all of them, which is not the same as no kind at all.
    """

    kinds: Collection[str] | None = None
    namespace: str = ""
    text: str = ""
    phases: Sequence[str] = ()
    schedulers: Sequence[str] = ()
    queues: Sequence[str] = ()
    resources: Sequence[str] = ()
    labels: Sequence[Requirement] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """A job that exists. `shown` is what `facts` says of it."""

    uid: str
    namespace: str
    api_version: str
    kind: str
    name: str
    phase: str
    is_error: bool
    created_at: datetime
    scheduler: str
    queue: str
    shown: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the jobs that were wanted, and how many these are in all."""

    rows: Sequence[Listed] = ()
    total: int = 0


@dataclass(slots=True)
class _Condition:
    """A WHERE clause in the making, and its values."""

    values: list[object] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def place(self, value: object) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    def one_of(self, column: str, wanted: Collection[str]) -> str:
        return f"{column} IN ({', '.join(map(self.place, wanted))})" if wanted else "1 = 0"

    def any_of(self, parts: Sequence[str]) -> None:
        self.parts.append(f"({' OR '.join(parts)})")

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "1 = 1"


class Listing:
    """The list in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self,
        wanted: Wanted,
        *,
        sort: Sort = "created",
        descending: bool = True,
        start: int = 0,
        size: int = 20,
    ) -> Page:
        """The jobs from number `start` on, and how many there are. Raises as `Database.fetch`."""
        few = await self._of_few(wanted.labels)
        where = _where(replace(wanted, labels=[each for each in wanted.labels if each != few]))
        if few:
            where.parts.append(is_of_few(few, where.place))
        condition, values = str(where), [*where.values]
        column, way = _ORDER[sort], "DESC" if descending else "ASC"
        limits = f"LIMIT {where.place(size)} OFFSET {where.place(start)}"
        # the order is decided by columns of one index; a second look fetches the little that the page shows
        order = f"{_UIDS} WHERE {where} ORDER BY {column} {way}, uid {way} {limits}"
        uids = [uid for (uid,) in await self._database.fetch(order, *where.values)]
        total = start + len(uids)
        if len(uids) == size or (start and not uids):  # else this is where they end, and they need no count
            ((total,),) = await self._database.fetch(f"{_COUNT} WHERE {condition}", *values)
        if not uids:
            return Page((), total)
        places = ", ".join(f"${number}" for number, _ in enumerate(uids, 1))
        found = {row[0]: _listed(row) for row in await self._database.fetch(f"{_SHOWN} ({places})", *uids)}
        return Page([found[uid] for uid in uids if uid in found], total)

    async def _of_few(self, labels: Sequence[Requirement]) -> Requirement | None:
        """The one of the labels that the fewest jobs have, if these are few."""
        found: dict[Requirement, int] = {}
        for each in labels:
            if not each.negated:
                asked = _Condition()
                ((found[each],),) = await self._database.fetch(count_to_few(each, asked.place), *asked.values)
        fewest = min(found, key=found.__getitem__, default=None)
        return None if fewest is None or found[fewest] > FEW else fewest

    async def choices(self, wanted: Wanted) -> Mapping[str, Sequence[str]]:
        """What there is to filter by among the jobs of these kinds and namespace. Raises as `Database.fetch`."""
        where = _where(Wanted(wanted.kinds, wanted.namespace))
        found = await self._database.fetch(f"{_FILTERS} WHERE {where}", *where.values)
        return {
            "scheduler": sorted({scheduler for scheduler, _, _ in found if scheduler}),
            "queue": sorted({queue for _, queue, _ in found if queue}),
            "resource": sorted({each for _, _, resources in found for each in resources.split()}),
        }


def _where(wanted: Wanted) -> _Condition:
    where = _Condition()
    if wanted.kinds is not None:
        where.parts.append(where.one_of("kind", wanted.kinds))
    if wanted.namespace:
        where.parts.append(f"namespace = {where.place(wanted.namespace)}")
    if wanted.text:  # names are in small letters
        where.parts.append(f"name LIKE {where.place(_contains(wanted.text.lower()))} ESCAPE '!'")
    if wanted.phases:
        phases = [each for each in wanted.phases if each != ERROR]
        parts = [where.one_of("phase", phases)] if phases else []
        where.any_of([*parts, *(["is_error"] if ERROR in wanted.phases else [])])
    for column, values in (("scheduler", wanted.schedulers), ("queue", wanted.queues)):
        if values:
            where.parts.append(where.one_of(column, values))
    if wanted.resources:
        named = [_contains(f" {each} ") for each in wanted.resources]
        where.any_of([f"resources LIKE {where.place(each)} ESCAPE '!'" for each in named])
    where.parts += [meets(each, where.place) for each in wanted.labels]
    return where


def _contains(text: str) -> str:
    """A pattern for what has `text` anywhere in it."""
    for special in "!%_":
        text = text.replace(special, f"!{special}")
    return f"%{text}%"


def _listed(row: Row) -> Listed:
    uid, namespace, api_version, kind, name, phase, is_error, created, scheduler, queue, shown = row
    return Listed(
        *(uid, namespace, api_version, kind, name, phase, bool(is_error)),
        datetime.fromisoformat(created) if isinstance(created, str) else created,
        *(scheduler, queue, json.loads(shown)),
    )
