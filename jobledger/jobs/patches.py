"""What a merge patch of a job may change, before anything is asked of the cluster. Pure.

An API server takes many a patch and does nothing: a status that it leaves out, a wish that a job cannot follow.
Our API says so to the client.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from k8s_bridge.actors import ACTOR, ACTOR_OF
from k8s_bridge.json_data import merged
from k8s_bridge.port import Manifest
from statemachine.errors import Problem, SpecInvalid
from statemachine.ids import whole_number
from statemachine.kinds import kind_of
from statemachine.rulebook import SCALE_IGNORED
from statemachine.schema.lookup import entries, is_object
from statemachine.schema.metadata import of_object

_OPEN: Final = frozenset({"labels", "annotations", "finalizers", "resourceVersion"})
"""Parts of the metadata that may change; the last says which version is meant."""

_WRITTEN_ELSEWHERE: Final = "cannot be changed: jobledger writes it"
_FIXED: Final = "cannot be changed; delete the job and create it again"


def examined(job: Manifest, merge: Mapping[str, Any]) -> None:
    """Nothing, if the merge patch changes what can be changed, into what an API server takes.

    To say again what is so is no change: a job that was read may be sent back.

    Raises:
        SpecInvalid: every problem.
    """
    problems = [*_fixed(job, merge), *_texts(merge), *_ignored(job, merge)]
    if problems:
        raise SpecInvalid(problems)


def signed(job: Manifest, merge: Mapping[str, Any], actor: str) -> dict[str, Any]:
    """The merge patch with who asks for it, and for which generation of the spec that holds.

    A patch that changes nothing in the spec makes no generation, and must not claim the one that there is: an
    admission policy would refuse it (ADR 0023).
    """
    meta, spec = merge.get("metadata") or {}, job.get("spec") or {}
    annotations = {**(meta.get("annotations") or {}), ACTOR: actor}
    generation = whole_number(entries(job, "metadata").get("generation"))
    if "spec" in merge and merged(spec, merge["spec"]) != spec:
        if generation is not None:
            annotations[ACTOR_OF] = str(generation + 1)
    elif ACTOR_OF in entries(entries(job, "metadata"), "annotations"):
        annotations[ACTOR_OF] = None
    return {**merge, "metadata": {**meta, "annotations": annotations}}


def _fixed(job: Manifest, merge: Mapping[str, Any]) -> Iterator[Problem]:
    for key in merge.keys() - {"metadata", "spec"}:
        if merged(job.get(key), merge[key]) != job.get(key):
            yield Problem("", key, _said(key, key in job or key == "status"))
    meta = entries(job, "metadata")
    for key, value in entries(merge, "metadata").items():
        if key not in _OPEN and merged(meta.get(key), value) != meta.get(key):
            yield Problem("", f"metadata.{key}", _said(key, True))


def _said(key: str, known: bool) -> str:
    if not known:
        return "is no field of a job"
    return _WRITTEN_ELSEWHERE if key in ("status", "generation", "managedFields") else _FIXED


def _texts(merge: Mapping[str, Any]) -> Iterator[Problem]:
    """Labels and annotations; null takes one away."""
    meta = entries(merge, "metadata")
    kept = {of: _without_nulls(meta[of]) for of in ("labels", "annotations") if of in meta}
    return (Problem("G20", path, text) for path, text in of_object(kept))


def _without_nulls(given: object) -> object:
    return {key: value for key, value in given.items() if value is not None} if is_object(given) else given


def _ignored(job: Manifest, merge: Mapping[str, Any]) -> Iterator[Problem]:
    """Another number of replicas is wished of a job whose number is fixed (spec G21)."""
    if "spec" not in merge:
        return
    kind, spec = kind_of(job["apiVersion"], job["kind"]), job.get("spec") or {}
    admission = kind.admit(job["metadata"]["name"], merged(spec, merge["spec"]), spec)
    for notice in admission.notices:
        if notice.reason == SCALE_IGNORED:
            yield Problem("G21", "", notice.message)
