"""Words of the listing."""

from typing import Final

LISTING: Final[dict[str, tuple[str, str]]] = {}
