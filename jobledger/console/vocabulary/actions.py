"""Words of the actions."""

from typing import Final

ACTIONS: Final[dict[str, tuple[str, str]]] = {}
