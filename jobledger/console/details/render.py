"""A page of a job: the frame with its header and tabs, or the piece of it that refreshes itself."""

from functools import partial
from typing import Any, Final

from fastapi import Request
from starlette.responses import Response

from jobledger.console.actions import offers
from jobledger.console.details.subject import Subject
from jobledger.console.frame import is_fragment, page
from jobledger.console.words import knows, language_of, say
from projectors.history.facts import counts, error, has_error, lost
from statemachine.redact import redacted, redacted_text
from statemachine.state import JobState

TABS: Final = (("job", ""), ("history", "/history"), ("replicas", "/replicas"), ("monitoring", "/monitoring"))


def render(request: Request, template: str, subject: Subject, /, *, tab: str, **context: Any) -> Response:
    """The template in the frame of the job's pages; alone where htmx asks for it.

    The template is the piece that refreshes itself, so that it is the same both times.
    """
    shown = {
        "subject": subject,
        "job": redacted(subject.job) if subject.job else {},
        "tab": tab,
        "tabs": TABS,
        "word": partial(word, request),
        "offered": offered(subject),
        "failure": failure(subject.state),
        "lost": lost(counts(subject.state)) if subject.state else 0,
        **context,
    }
    about = (subject.job, subject.state.spec if subject.state else None)
    if is_fragment(request):
        return page(request, f"details/{template}", about=about, **shown)
    crumbs = [(subject.name, "" if tab == "job" else subject.link())]
    if tab != "job":
        crumbs.append((say(language_of(request), f"details.tab.{tab}"), ""))
    whole = "details/frame.html"
    return page(request, whole, about=about, piece=f"details/{template}", crumbs=crumbs, **shown)


def failure(state: JobState | None) -> str | None:
    """What is wrong with the job, without the secrets that it may quote; None if nothing is."""
    return redacted_text(error(state), state.spec) if state and has_error(state) else None


def word(request: Request, english: str) -> str:
    """A word of a picture in the reader's language; what has none stays as it is."""
    key = f"word.{english}"
    return say(language_of(request), key) if knows(key) else english


def offered(subject: Subject) -> list[str]:
    """The actions of the header, in order."""
    if subject.job is None or subject.gone:
        return []
    has = offers(subject.job, subject.state)
    order = ("pause", "resume", "scale", "policy", "clone", "yaml", "delete")
    return [name for name in order if name in has]
