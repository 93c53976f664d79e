"""The labels of the jobs in a list, from which a user chooses while typing a filter.

The query steps through keys or values in the index of the labels: one look-up for each, however many jobs have it,
and no more of them than are shown.
"""

from collections.abc import Sequence
from typing import Final

from projectors.history.database import Database
from projectors.history.listing import JobFilter

MOST: Final = 200
"""Keys, or values of one key, that one query returns."""

_STEPS: Final = """WITH RECURSIVE found(said) AS (
    SELECT min({column}) FROM history_labels WHERE {column} >= {start}{within}
    UNION ALL
    SELECT (SELECT min({column}) FROM history_labels WHERE {column} > found.said{within})
    FROM found WHERE found.said IS NOT NULL)
    SELECT said FROM found WHERE said IS NOT NULL{is_shown} LIMIT {most}"""

_IS_SHOWN: Final = """ AND EXISTS (SELECT 1 FROM history_labels labelled JOIN history_listing ON
    history_listing.uid = labelled.uid WHERE labelled.{column} = found.said{within}{conditions})"""


class KnownLabels:
    """The labels in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keys(self, wanted: JobFilter, start: str = "") -> Sequence[str]:
        """The keys of jobs of these kinds and this namespace, from `start` on. Raises as `Database.fetch`."""
        return await self._steps("key", start, wanted)

    async def values(self, wanted: JobFilter, key: str, start: str = "") -> Sequence[str]:
        """The values of `key` in these jobs, from `start` on. Raises as `Database.fetch`."""
        return await self._steps("value", start, wanted, key)

    async def _steps(
        self, column: str, start: str, wanted: JobFilter, key: str | None = None
    ) -> Sequence[str]:
        values: list[object] = []

        def place(value: object) -> str:
            values.append(value)
            return f"${len(values)}"

        first, within = place(start), "" if key is None else f" AND key = {place(key)}"
        conditions = ""
        if wanted.kinds is not None:
            kinds = ", ".join(map(place, wanted.kinds))
            conditions += f" AND kind IN ({kinds})" if kinds else " AND 1 = 0"
        if wanted.namespace:
            conditions += f" AND namespace = {place(wanted.namespace)}"
        is_shown = _IS_SHOWN.format(column=column, within=within, conditions=conditions) if conditions else ""
        statement = _STEPS.format(
            column=column, start=first, within=within, is_shown=is_shown, most=place(MOST)
        )
        return [label for (label,) in await self._database.fetch(statement, *values)]
