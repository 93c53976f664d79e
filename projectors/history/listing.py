"""The queries of the console's list: filters, order and page in SQL; the shown fields are read for one page only."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

from k8s_bridge.selectors import Requirement
from projectors.history.database import Database, Row
from projectors.history.labels import FEW, count_to_few, is_of_few, meets

ERROR: Final = "Error"
"""A value of the filter for phases that is no phase: the job failed, or a replica of it."""

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
class JobFilter:
    """Selects jobs that fit every filter that is set; of a filter's values one has to fit.

    `kinds` None selects all kinds, an empty one none.
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
    """A job that exists. `shown` are the fields that `facts` puts there."""

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
class ListPage:
    """A page of the selected jobs, and how many were selected."""

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


class JobListing:
    """The list in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self,
        wanted: JobFilter,
        *,
        sort: Sort = "created",
        descending: bool = True,
        start: int = 0,
        size: int = 20,
    ) -> ListPage:
        """The selected jobs from number `start` on, and how many there are. Raises as `Database.fetch`."""
        few = await self._of_few(wanted.labels)
        where = _where(replace(wanted, labels=[label for label in wanted.labels if label != few]))
        if few:
            where.parts.append(is_of_few(few, where.place))
        condition, values = str(where), [*where.values]
        column, way = _ORDER[sort], "DESC" if descending else "ASC"
        limits = f"LIMIT {where.place(size)} OFFSET {where.place(start)}"
        # columns of one index give the order; a second query fetches the few rows that the page shows
        order = f"{_UIDS} WHERE {where} ORDER BY {column} {way}, uid {way} {limits}"
        uids = [uid for (uid,) in await self._database.fetch(order, *where.values)]
        total = start + len(uids)
        if len(uids) == size or (start and not uids):  # else the jobs end on this page, and need no count
            ((total,),) = await self._database.fetch(f"{_COUNT} WHERE {condition}", *values)
        if not uids:
            return ListPage((), total)
        places = ", ".join(f"${number}" for number, _ in enumerate(uids, 1))
        rows = {row[0]: _listed(row) for row in await self._database.fetch(f"{_SHOWN} ({places})", *uids)}
        return ListPage([rows[uid] for uid in uids if uid in rows], total)

    async def _of_few(self, labels: Sequence[Requirement]) -> Requirement | None:
        """The requirement that the fewest jobs meet, if these are few."""
        counts: dict[Requirement, int] = {}
        for label in labels:
            if not label.negated:
                count = _Condition()
                ((counts[label],),) = await self._database.fetch(
                    count_to_few(label, count.place), *count.values
                )
        fewest = min(counts, key=counts.__getitem__, default=None)
        return None if fewest is None or counts[fewest] > FEW else fewest

    async def choices(self, wanted: JobFilter) -> Mapping[str, Sequence[str]]:
        """The values of filters among the jobs of these kinds and this namespace. Raises as `Database.fetch`."""
        where = _where(JobFilter(wanted.kinds, wanted.namespace))
        rows = await self._database.fetch(f"{_FILTERS} WHERE {where}", *where.values)
        return {
            "scheduler": sorted({scheduler for scheduler, _, _ in rows if scheduler}),
            "queue": sorted({queue for _, queue, _ in rows if queue}),
            "resource": sorted({name for _, _, resources in rows for name in resources.split()}),
        }


def _where(wanted: JobFilter) -> _Condition:
    where = _Condition()
    if wanted.kinds is not None:
        where.parts.append(where.one_of("kind", wanted.kinds))
    if wanted.namespace:
        where.parts.append(f"namespace = {where.place(wanted.namespace)}")
    if wanted.text:  # names are in small letters
        where.parts.append(f"name LIKE {where.place(_contains(wanted.text.lower()))} ESCAPE '!'")
    if wanted.phases:
        phases = [phase for phase in wanted.phases if phase != ERROR]
        parts = [where.one_of("phase", phases)] if phases else []
        where.any_of([*parts, *(["is_error"] if ERROR in wanted.phases else [])])
    for column, values in (("scheduler", wanted.schedulers), ("queue", wanted.queues)):
        if values:
            where.parts.append(where.one_of(column, values))
    if wanted.resources:
        named = [_contains(f" {name} ") for name in wanted.resources]
        where.any_of([f"resources LIKE {where.place(pattern)} ESCAPE '!'" for pattern in named])
    where.parts += [meets(label, where.place) for label in wanted.labels]
    return where


def _contains(text: str) -> str:
    """A pattern of LIKE that fits every value with `text` in it."""
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
