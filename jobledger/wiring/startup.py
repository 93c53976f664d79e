"""The start of a controller: until the cluster is listed, what nobody waits for then leaves the processor to it."""

import asyncio
from contextlib import suppress
from typing import Final

MOST: Final = 60.0
"""Seconds that a view of the log waits for a cluster that cannot be listed: people may still read it."""


class Startup:
    """`listed`: what exists in the cluster is known."""

    def __init__(self) -> None:
        self.listed = asyncio.Event()
        self._is_over = False

    async def over(self) -> None:
        """Returns once the cluster is listed, or somebody has waited for that for a minute.

        A history or a metric that reads millions of entries would delay the first decision by seconds.
        """
        if not self._is_over:
            with suppress(TimeoutError):
                async with asyncio.timeout(MOST):
                    await self.listed.wait()
            self._is_over = True
