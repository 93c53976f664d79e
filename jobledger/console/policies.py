"""Editing the run policy of a job that exists: its fields as a form, and the patch that they mean. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from jobledger.console.forms.build import FormBuilder
from jobledger.console.forms.posted import Posted as Fields
from jobledger.console.forms.read import FormReader
from jobledger.console.forms.tree import Field, Group, place
from jobledger.console.session import Posted
from jobledger.console.words import Language
from jobledger.program.errors import NotPossible
from statemachine.errors import JobledgerError, SpecInvalid
from statemachine.kind import Kind
from statemachine.kinds import kind_of
from statemachine.schema.fields import SpecPart
from statemachine.schema.lookup import is_object
from statemachine.schema.tables import fields as fields_of

PATH: Final = "spec.runPolicy"

Manifest = dict[str, Any]


def fields(
    job: Manifest, language: Language, form: Posted | None, error: JobledgerError | None
) -> list[Field]:
    """The inputs: as the job has it, or as they were typed, with what is wrong at each."""
    kind, model = _model(job)
    value = _now(job) if form is None else _typed(job, form)[0]
    nodes = FormBuilder(language, kind, (), queues=False).part(model, value, PATH)
    inputs = [node for node in nodes if isinstance(node, Field)]
    if isinstance(error, SpecInvalid):
        place(Group("", "", children=[*inputs]), [(problem.path, problem.text) for problem in error.problems])
    return inputs


def patch(job: Manifest, form: Posted) -> Manifest:
    """The merge patch after which the run policy is what was typed.

    Raises:
        SpecInvalid: the rules do not allow it; every problem.
    """
    kind, _ = _model(job)
    new, posted = _typed(job, form)
    spec = job.get("spec") or {}
    admission = kind.admit(job["metadata"]["name"], {**spec, "runPolicy": new}, spec)
    if posted.problems or admission.problems:
        raise SpecInvalid([*posted.problems, *admission.problems])
    gone = dict.fromkeys(_now(job).keys() - new.keys())
    return {"spec": {"runPolicy": {**new, **gone}}}


def _typed(job: Manifest, form: Posted) -> tuple[Manifest, Fields]:
    kind, model = _model(job)
    posted = Fields(form, strict=True)
    return FormReader(posted, kind, (), queues=False).part(model, _now(job), PATH), posted


def _now(job: Manifest) -> Mapping[str, Any]:
    held = (job.get("spec") or {}).get("runPolicy")
    return held if is_object(held) else {}


def _model(job: Manifest) -> tuple[Kind, type[SpecPart]]:
    kind = kind_of(job["apiVersion"], job["kind"])
    shape = fields_of(kind.model).get("runPolicy")
    if shape is None or shape.part is None:
        raise NotPossible(f"a {job['kind']} has no run policy")
    return kind, shape.part
