"""Jobs that exist, for the form to be filled from: their names, and the one that a name means."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from jobledger.console.actions import JOB
from jobledger.console.frame import Console
from jobledger.web.rights import Caller, permitted
from projectors.history import JobFilter, Listed
from statemachine.errors import JobledgerError
from statemachine.kinds import kind_of

MOST: Final = 200
"""Names offered, of the newest jobs; any other can be typed."""

_LONGEST: Final = 500


async def names(console: Console, caller: Caller) -> Sequence[str]:
    """The jobs that the caller may see, the newest first, each so that no other is meant."""
    try:
        listing = (await console.ready()).listing
        listed = await listing.page(await _permitted_jobs(console, caller), size=MOST)
    except JobledgerError:
        return ()  # a text can be brought all the same
    return [_named(console, row) for row in listed.rows]


async def path_of(console: Console, caller: Caller, said: str) -> str:
    """The path of the job that `name`, `<type>/<name>` or `<namespace>/<type>/<name>` means.

    Raises:
        UnknownJob, NotPossible: there is none; there are several of the name.
        NoRight: the caller may see no such jobs.
    """
    *above, name = said.strip()[:_LONGEST].split("/")
    named = above[0] if len(above) > 1 else ""
    namespace = console.options.namespace or named or console.options.new_jobs
    kinds = await permitted(caller, "get", namespace, name=name, kind=above[-1] if above else "")
    job = await console.app.job(namespace, name, kinds=kinds)
    kind = kind_of(job["apiVersion"], job["kind"]).names.kind
    return JOB.format(namespace=quote(namespace, safe=""), kind=kind, name=quote(name, safe=""))


def _named(console: Console, job: Listed) -> str:
    short = f"{job.kind}/{job.name}"
    return short if console.options.namespace else f"{job.namespace}/{short}"


async def _permitted_jobs(console: Console, caller: Caller) -> JobFilter:
    namespace = console.options.namespace
    return JobFilter(await permitted(caller, "list", namespace), namespace)
