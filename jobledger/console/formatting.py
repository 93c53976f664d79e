"""How values look on pages: instants, spans, quantities. Pure; every function is a filter of the templates."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from markupsafe import Markup, escape

from jobledger.console.hiding import shown
from projectors.history import Listed
from projectors.history.facts import lost
from projectors.phrases import Language, Said, in_words
from projectors.phrases.actors import known_as
from statemachine.observations import ActorSource

NOTHING: Final = "–"

_INSTANT: Final = re.compile(r"\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC\b")
"""As sentences name instants."""


def instant(at: datetime | str | None) -> Markup | str:
    """An instant; the browser turns it into its own zone (`console.js`)."""
    if not at:
        return NOTHING
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    iso = moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    return Markup('<time datetime="{}">{}</time>').format(iso, iso.replace("T", " ").replace("Z", " UTC"))


def sentence(said: Said, language: Language) -> Markup:
    """A sentence in `language`; the browser turns the instants in it into its own zone."""
    text = str(escape(shown(in_words(said, language))))
    return Markup(_INSTANT.sub(r'<time datetime="\1T\2Z">\g<0></time>', text))  # noqa: S704 - escaped above


def span(seconds: float | timedelta | None) -> str:
    """A span as `2d 3h`, `3h 5m`, `5m 7s`, `7s`."""
    if seconds is None:
        return NOTHING
    left = int(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(max(left, 0), size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])


def cores(count: float | None) -> str:
    """CPU cores with two decimals, as the list shows them."""
    return NOTHING if count is None else f"{count:.2f}"


def memory(count: float | None) -> str:
    """Bytes in the largest binary unit that leaves at least one."""
    if count is None:
        return NOTHING
    for unit, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if count >= size:
            return f"{count / size:.2f} {unit}B"
    return f"{count:.0f} B"


def breakable(name: str) -> Markup:
    """`SomeTrainingJob` with places where a narrow column may break it: before what all names of kinds end in."""
    return Markup("<wbr>").join(re.split(r"(?<!^)(?<!Training)(?=(?:Training)?Job$)", name, maxsplit=1))


def who(name: str, source: ActorSource, language: Language) -> str:
    """Who is behind an entry, and how that is known."""
    return in_words(known_as(name, source), language)


def duration(job: Listed, now: datetime) -> str:
    """How long a job has run, or ran."""
    began, ended = job.shown["started_at"], job.shown["completed_at"]
    if began is None:
        return NOTHING
    return span((datetime.fromisoformat(ended) if ended else now) - datetime.fromisoformat(began))


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "instant": instant,
    "sentence": sentence,
    "span": span,
    "cores": cores,
    "memory": memory,
    "duration": duration,
    "breakable": breakable,
    "lost": lost,
    "who": who,
}
