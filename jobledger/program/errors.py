"""What can go wrong between a user and the controller; the sentences say what, where, and what to do.

JobledgerError
├── UnknownJob      no job of that name; carries the nearest that there is
├── UnknownPhase    no job is ever in a phase of that name
├── JobExists       the name is taken by a job that is not over
├── NotPossible     the job is not in a state, or not of a make, that allows it
├── TooManyListeners pages listen already, as many as may
├── CursorRefused   a cursor of public events with which nobody can go on
├── Unauthenticated nobody knows who asks
├── NoRight         who asks is known, and may not; says which right is missing
├── NoServer        nobody answers where the server should be
└── ServerRefused   the server's answer, a problem of RFC 9457
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from statemachine.errors import JobledgerError


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that `name` was probably meant to be; empty if none is like it."""
    matches = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return matches[0] if matches else ""


class UnknownJob(JobledgerError):
    """There is no job of this name; `known` are the names of those that there are."""

    def __init__(self, namespace: str, name: str, known: Sequence[str] = (), more: str = "") -> None:
        near = nearest(name, known)
        hint = f'; did you mean "{near}"?' if near else "; `jobledger get -A` lists all jobs"
        super().__init__(f'no job "{name}" in namespace "{namespace}"{more or hint}')
        self.namespace, self.name, self.nearest = namespace, name, near


class UnknownPhase(JobledgerError):
    """No job is ever in a phase of this name; the message lists those that there are."""

    def __init__(self, said: str, known: Sequence[str]) -> None:
        near = nearest(said.capitalize(), known)
        hint = f' (did you mean "{near}"?)' if near else ""
        super().__init__(f'there is no phase "{said:.40}"{hint}: the phases are {", ".join(known)}')


class UnknownReplica(JobledgerError):
    """The job has no replica, attempt or container of this name; the message lists those that it has."""


class JobExists(JobledgerError):
    """The name of a new job is taken."""

    def __init__(self, kind: str, namespace: str, name: str, phase: str) -> None:
        super().__init__(
            f'{kind} "{name}" exists already in namespace "{namespace}" ({phase}); '
            f"delete it first (`jobledger delete {name}`), or give the new one another name"
        )
        self.namespace, self.name = namespace, name


class NotPossible(JobledgerError):
    """The job is not in a state, or not of a make, that allows what was asked."""


def several(name: str, kinds: Sequence[str]) -> NotPossible:
    """The error for a name that jobs of several kinds have."""
    return NotPossible(f'"{name}" is the name of a {" and a ".join(kinds)}; say which with --kind')


class TooManyListeners(JobledgerError):
    """As many streams are open as may be; the message says whose, and which setting limits them."""


class CursorRefused(JobledgerError):
    """A reader of public events cannot go on where it was: `code` says why for programs, `reason` for users.

    `advice`: what a reader over HTTP does then. `earliest`: the cursor with which everything follows that is kept;
    empty for a cursor of another ledger.
    """

    def __init__(self, code: str, reason: str, advice: str, earliest: str = "") -> None:
        super().__init__(f"{reason}; {advice}")
        self.code, self.reason, self.earliest = code, reason, earliest


class Unauthenticated(JobledgerError):
    """The caller has not said who they are, or it is not believed."""


class NoRight(JobledgerError):
    """Who asks is known, and has no right to do that; the message says which right is missing."""


def lacking(who: str, verb: str, resources: Sequence[str], namespace: str) -> NoRight:
    """The error for `who` may not do `verb` with any of `resources` (plural.group) in `namespace` (empty: in all)."""
    place = f'in namespace "{namespace}"' if namespace else "across all namespaces"
    return NoRight(f"{who} has no right to {verb} {' or '.join(dict.fromkeys(resources))} {place}")


class NoServer(JobledgerError):
    """Nobody answers where the server should be."""

    def __init__(self, address: str, why: str = "", advice: str = "start one with `jobledger serve`") -> None:
        reason = f" ({why})" if why else ""
        self.address, self.fact = address, f"no server at {address}{reason}"
        super().__init__(f"{self.fact}; {advice}")


class ServerRefused(JobledgerError):
    """What the server answered: HTTP `status`, a `code` that programs match, and every problem found."""

    def __init__(
        self, status: int, code: str, detail: str, problems: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.problems = status, code, tuple(problems)
