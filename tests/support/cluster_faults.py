"""Faults that a test puts into a cluster: in the next calls, and in the watches.

The memory cluster asks `Faults` before and after every call; `Disturbance` says for each change when,
and how often, it reaches the watchers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from k8s_bridge.port import Change
from statemachine.errors import ClusterError, ClusterUnavailable, Refused

WRITES = ("create", "patch", "patch_status", "delete", "release", "emit")

Disturbance = Callable[[Change], Sequence[float]]
"""Delays in seconds after which a change is delivered, one for each delivery: `(0.0,)` is no disturbance."""


def invalid(message: str = "spec: Invalid value") -> Refused:
    """The response of an API server to an invalid object."""
    return Refused(422, "Invalid", message)


def quota(message: str = "exceeded quota: pods=10, used: pods=10, limited: pods=10") -> Refused:
    """The response of an API server if the namespace's quota is used up."""
    return Refused(403, "Forbidden", message)


def unavailable(message: str = "the server is currently unable to handle the request") -> ClusterUnavailable:
    """The response of an API server that only a retry can help against."""
    return ClusterUnavailable(message)


@dataclass(slots=True)
class _Planned:
    error: ClusterError
    verbs: tuple[str, ...]
    kinds: tuple[str, ...]
    left: int
    after: bool


@dataclass(slots=True)
class Faults:
    """Errors that the next calls meet, in the order of planning."""

    _planned: list[_Planned] = field(default_factory=list)

    def fail_next(
        self,
        error: ClusterError,
        *,
        times: int = 1,
        verbs: tuple[str, ...] = WRITES,
        kinds: tuple[str, ...] = (),
    ) -> None:
        """The next `times` calls of `verbs` (on `kinds`, if given) do nothing and raise `error`."""
        self._planned.append(_Planned(error, verbs, kinds, times, after=False))

    def lose_reply(
        self, *, times: int = 1, verbs: tuple[str, ...] = WRITES, kinds: tuple[str, ...] = ()
    ) -> None:
        """The next `times` such calls are done, but raise ClusterUnavailable."""
        lost = ClusterUnavailable("connection reset; the outcome is unknown")
        self._planned.append(_Planned(lost, verbs, kinds, times, after=True))

    def clear(self) -> None:
        """Drops all planned faults."""
        self._planned.clear()

    def meet(self, verb: str, kind: str, *, after: bool) -> None:
        """Raises what is planned for this call, if anything is."""
        for fault in self._planned:
            if fault.after is after and verb in fault.verbs and (not fault.kinds or kind in fault.kinds):
                fault.left -= 1
                if fault.left <= 0:
                    self._planned.remove(fault)
                raise fault.error
