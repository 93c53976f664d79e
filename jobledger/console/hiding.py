"""What keeps secrets out of pages: every value that a template, or a picture, shows goes through here.

`frame.page` says what is known to be secret while a page is made; pictures, which are made before, are looked at
without that knowledge. Pages with what a user is typing, or with what a replica wrote, show it as it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from markupsafe import Markup

from statemachine.redact import Redactor

_NOTHING_KNOWN: Final = Redactor()
_HIDING: Final[ContextVar[Redactor | None]] = ContextVar("hiding", default=_NOTHING_KNOWN)


@contextmanager
def hiding(*about: Any, verbatim: bool = False) -> Iterator[None]:
    """What is made inside shows no secret of `about` (plain data); if `verbatim`, everything as it is."""
    before = _HIDING.set(None if verbatim else Redactor(*about))
    try:
        yield
    finally:
        _HIDING.reset(before)


def shown(value: Any) -> Any:
    """The value as a page may show it. Markup was made of values that came through here."""
    redactor = _HIDING.get()
    return (
        redactor.text(value)
        if redactor and isinstance(value, str) and not isinstance(value, Markup)
        else value
    )
