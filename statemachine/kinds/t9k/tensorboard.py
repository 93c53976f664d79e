"""The TensorBoard of a job: what is known of it, and rule G13. Source: spec R14."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from statemachine.errors import Problem
from statemachine.events import ChildChanged, Event
from statemachine.kind import Kind
from statemachine.kinds.t9k.objects import hashed_name, job_labels, metadata
from statemachine.observations import ChildObserved, Observation
from statemachine.owned import Child, Manifest, Owned
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.rules.asking import answers
from statemachine.schema.lookup import find
from statemachine.spec import PlannedChild
from statemachine.state import JobState

KIND: Final = "TensorBoard"
API_VERSION: Final = "tensorstack.dev/v1beta1"
RUNNING: Final = "running"


def _facts(raw: Mapping[str, Any]) -> Mapping[str, str]:
    return {RUNNING: "true"} if find(raw, "status.phase") == "Running" else {}


OWNED: Final = Owned(
    API_VERSION,
    KIND,
    "tensorboards",
    facts=_facts,
    needed=False,
    compared="spec",
    link="tensorboard",
    locally="starts nothing for them; run tensorboard --logdir yourself",
)


def planned(name: str) -> PlannedChild:
    """The plan's mention of the TensorBoard."""
    return PlannedChild(kind=KIND, name=name, field="spec.tensorboardSpec")


def of(state: JobState) -> PlannedChild | None:
    """The TensorBoard of the job's plan, if it has one."""
    children = state.plan.children if state.plan else ()
    return next((child for child in children if child.kind == KIND), None)


@answers(ChildObserved)
def reports(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """What the job's TensorBoard does; it never influences the phase."""
    if not isinstance(observation, ChildObserved) or state.deleted:
        return
    board = of(state)
    if board is None or (observation.kind, observation.name) != (board.kind, board.name):
        return
    known = state.child(board.kind, board.name)
    if known and not observation.uid and known.uid not in ("", observation.gone_uid):
        return  # an earlier one is gone, and there is another since
    if known is None or (known.uid, known.facts, known.error, known.outdated) != (
        observation.uid,
        observation.facts,
        "",
        False,
    ):
        yield ChildChanged(
            kind=observation.kind, name=observation.name, uid=observation.uid, facts=observation.facts
        )


def tensorboard(job: JobState, spec: Mapping[str, Any]) -> Child:
    """The job's TensorBoard with the spec that the user gave; never holds up the pods. Source: spec R14."""
    name = hashed_name(job)
    return Child(API_VERSION, KIND, name, partial(_manifest, job, name, spec), mutable=True, optional=True)


def _manifest(job: JobState, name: str, spec: Mapping[str, Any]) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata(job, name, job_labels(job)),
        "spec": dict(spec),
    }


_FILESET: Final = re.compile(r"t9k://pvc/[^/]+(/.*)?|t9k://minio/[^/]+/[^/]+(/.*)?", re.DOTALL)
_SENTENCE: Final = "must be t9k://pvc/<name>/<path> or t9k://minio/<secret>/<bucket>/<path>"


def _check(draft: Draft) -> Iterator[Problem]:
    filesets = find(draft.spec, "tensorboardSpec.trainingLogFilesets")
    for index, fileset in enumerate(filesets if isinstance(filesets, list) else ()):
        if isinstance(fileset, str) and not _FILESET.fullmatch(fileset):
            yield Problem("G13", f"spec.tensorboardSpec.trainingLogFilesets[{index}]", _SENTENCE)


FILESETS = Rule(
    "G13",
    Layer.CONTROLLER,
    says="`tensorboardSpec.trainingLogFilesets[]` are addresses in a volume or in object storage",
    text=f"spec.tensorboardSpec.trainingLogFilesets[<i>]: {_SENTENCE}",
    check=_check,
    source="spec R2, G13; R14",
)
