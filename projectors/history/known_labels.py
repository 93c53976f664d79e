"""Which labels the jobs of a list have: to choose from, where a filter by labels is typed.

Keys and values are stepped through in the index of the labels, one look for each that there is, however many jobs
have it; and no further than anybody reads.
"""

from collections.abc import Sequence
from typing import Final

from projectors.history.database import Database
from projectors.history.listing import Wanted

MOST: Final = 200
"""Keys, or values of one key, that are found at once."""

_STEPS: Final = """WITH RECURSIVE found(said) AS (
    SELECT min({column}) FROM history_labels WHERE {column} >= {start}{within}
    UNION ALL
    SELECT (SELECT min({column}) FROM history_labels WHERE {column} > found.said{within})
    FROM found WHERE found.said IS NOT NULL)
    SELECT said FROM found WHERE said IS NOT NULL{seen} LIMIT {most}"""

_SEEN: Final = """ AND EXISTS (SELECT 1 FROM history_labels labelled JOIN history_listing ON
    history_listing.uid = labelled.uid WHERE labelled.{column} = found.said{within}{conditions})"""


class KnownLabels:
    """The labels in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keys(self, wanted: Wanted, start: str = "") -> Sequence[str]:
        """The keys that jobs of these kinds and this namespace have, from `start` on. Raises as `Database.fetch`."""
        return await self._steps("key", start, wanted)

    async def values(self, wanted: Wanted, key: str, start: str = "") -> Sequence[str]:
        """The values that they have of `key`, from `start` on. Raises as `Database.fetch`."""
        return await self._steps("value", start, wanted, key)

    async def _steps(self, column: str, start: str, wanted: Wanted, key: str | None = None) -> Sequence[str]:
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
        seen = _SEEN.format(column=column, within=within, conditions=conditions) if conditions else ""
        statement = _STEPS.format(column=column, start=first, within=within, seen=seen, most=place(MOST))
        return [said for (said,) in await self._database.fetch(statement, *values)]
