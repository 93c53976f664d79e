"""What the tests of CRDs have to know of a kind: `CASES` in the module that bears its singular name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.unit.kinds.build import Spec, merged

NAME_TEXT = (
    "metadata.name must be a DNS-1035 label: lower-case letters, digits and '-', starting with a letter"
)
NAME_TOO_LONG_TEXT = "metadata.name is too long: the name of a replica would exceed 63 characters"
RESUME_TEXT = "spec.runMode.pause.resumeSpecs is immutable"
DEBUG_TEXT = "spec.runMode.debug is immutable; create the job again without debug"


class Refused(NamedTuple):
    """A new job of `name` that breaks nothing but `rule`, and a part of the API server's answer."""

    rule: str
    name: str
    spec: Spec
    text: str


class Kept(NamedTuple):
    """A change to `new` that breaks nothing but `rule`; of the kind's `old` unless another is given."""

    rule: str
    new: Spec
    text: str
    old: Spec | None = None


@dataclass(frozen=True)
class Cases:
    """What a kind's CRD must refuse, keep and allow.

    `may_change` is `old` with everything changed that may be. `scale`: an elastic job's number in range, and one
    that is not; None without the subresource. `scale_path` is where it stands, `scale_text` what is said to the
    other. `status` holds the parts of a whole one that not all T9k kinds have; `whole_status` is another kind's.
    """

    kind: str
    refused: Sequence[Refused]
    old: Spec
    kept: Sequence[Kept]
    may_change: Spec
    scale: tuple[int, int] | None = None
    scale_path: str = ".spec.elastic.expectedReplicas"
    scale_text: str = "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas"
    status: Mapping[str, Any] = field(default_factory=dict)
    policies: tuple[Spec, Spec] = (
        {"runPolicy": {"cleanUpPolicy": "All"}},
        {"runPolicy": {"cleanUpPolicy": "Unfinished"}},
    )
    """Two changes of what is fixed when a job has ended: the first while it runs, the second after its end."""
    whole_status: Mapping[str, Any] | None = None

    @property
    def finished_text(self) -> str:
        """What is said to the second of the `policies`."""
        return f"spec.{next(iter(self.policies[1]))} is immutable"


def changed(old: Spec, path: str, value: Any) -> Spec:
    """`old` with one value replaced; None takes it away."""
    new = merged(old)
    *above, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    place: Any = new
    for step in above:
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    if value is None:
        del place[last]
    else:
        place[last] = value
    return new
