"""Words of the details."""

from typing import Final

DETAILS: Final[dict[str, tuple[str, str]]] = {}
