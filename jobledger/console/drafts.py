"""Drafts of jobs: a manifest on its way from a form or a text to the cluster, and all that is wrong with it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jobledger.jobs.intake import taken_out
from jobledger.manifests import Manifest as Written
from jobledger.manifests import read
from jobledger.manifests.text import to_yaml
from statemachine.errors import Problem, SpecInvalid
from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.rulebook import Notice
from statemachine.schema.lookup import is_object

Manifest = dict[str, Any]

ONE_ONLY: Final = "only one object can be created at a time"
"""Source: spec console.md, section 3."""

_SERVERS_OWN: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "ownerReferences",
    "finalizers",
    "selfLink",
    "annotations",
)


_PROGRAMS: Final = ("kubernetes.io", "k8s.io", "jobledger.dev")
"""Domains of the annotations that programs write about one object: `kubectl apply` the last text, we who did it."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A manifest in its canonical form, what is wrong with it, and what is worth knowing."""

    manifest: Manifest
    problems: Sequence[Problem]
    notices: Sequence[Notice]


def kind_named(name: str) -> Kind | None:
    """The kind of this name."""
    return next((kind for kind in KINDS if kind.names.kind == name), None)


def examined(kind: Kind, manifest: Manifest) -> Examined:
    """What all rules of the kind say, and the values that were taken out of a copy and have to be typed again."""
    meta = manifest.get("metadata")
    name = meta.get("name") if is_object(meta) else ""
    admission = kind.admit(name if isinstance(name, str) else "", manifest.get("spec") or {})
    problems = [*admission.problems, *taken_out(manifest.get("spec"), "spec")]
    notices = [notice for notice in admission.notices if notice.reason != "DeprecatedField"]
    renamed = [notice for notice in admission.notices if notice.reason == "DeprecatedField"]
    canonical = {**manifest, "spec": admission.spec} if admission.spec else manifest
    return Examined(canonical, problems, [*renamed, *notices])


def completed(manifest: Manifest, kind: Kind) -> Manifest:
    """With what the kind's form adds by itself."""
    return {**manifest, "spec": kind.form.completed(manifest["spec"])}


def copied(job: Mapping[str, Any], name: str = "") -> Manifest:
    """A manifest to make another job from: without what belongs to this one alone."""
    meta = {key: value for key, value in job["metadata"].items() if key not in _SERVERS_OWN}
    if name:
        meta["name"] = name
    rest = {key: value for key, value in job.items() if key not in ("metadata", "status")}
    return {"apiVersion": rest.pop("apiVersion"), "kind": rest.pop("kind"), "metadata": meta, **rest}


def taken(manifest: Mapping[str, Any]) -> Manifest:
    """A manifest that somebody brought, for the form: what a server or a program wrote into it stays behind."""
    notes = manifest["metadata"].get("annotations")
    own = {key: value for key, value in notes.items() if not _of_programs(key)} if is_object(notes) else {}
    copy = copied(manifest)
    if own:
        copy["metadata"]["annotations"] = own
    return copy


def _of_programs(annotation: str) -> bool:
    domain = annotation.partition("/")[0]
    return domain in _PROGRAMS or domain.endswith(tuple(f".{program}" for program in _PROGRAMS))


def text_of(manifest: Mapping[str, Any]) -> str:
    """The manifest as people write it."""
    return to_yaml([manifest])


def parsed(text: str) -> Written:
    """The one job that the text describes.

    Raises:
        SpecInvalid: it is no manifest, none of a job, or describes more than one object.
    """
    document = read(text.encode(), "YAML")
    usable = document.usable()
    if len(usable) > 1:
        raise SpecInvalid([Problem("", "", ONE_ONLY)])
    if not usable or not usable[0].is_job:
        raise SpecInvalid([Problem("", "", "the text describes no job")])
    return usable[0]
