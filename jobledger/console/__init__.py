"""The web console: pages over the history view and the job kinds' models, served beside the API.

It reads the read model (`projectors.history`), and writes job objects through the `App`, as the API does. See
docs/console.md, and ADR 0014 for why it is made like this.
"""

from collections.abc import Callable
from typing import Final

from fastapi import APIRouter

from jobledger.console import about, actions, assets, details, labels, listing
from jobledger.console import create as creating
from jobledger.console.frame import Console, ConsoleOptions

__all__ = ["PAGES", "Console", "ConsoleOptions"]

PAGES: Final[tuple[Callable[[Console], APIRouter], ...]] = (
    assets.routes,
    about.routes,
    listing.routes,
    labels.routes,
    creating.routes,
    details.routes,  # before the actions, whose paths would fit
    actions.routes,
)
"""The modules of the console, a line each; what is asked for goes to the first whose path fits."""
