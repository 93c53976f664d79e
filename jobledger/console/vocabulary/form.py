"""Words of the form."""

from typing import Final

FORM: Final[dict[str, tuple[str, str]]] = {}
