"""What was posted → a manifest. What the form cannot show stays as it was in the manifest behind the form."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobledger.console.forms import field_labels, template
from jobledger.console.forms.controls import input_of, typed
from jobledger.console.forms.posted import Posted, changed
from statemachine.kind import Kind
from statemachine.schema.fields import SpecPart
from statemachine.schema.lookup import is_object
from statemachine.schema.tables import FieldShape, fields

Manifest = dict[str, Any]


class FormReader:
    """Reads one form."""

    def __init__(self, posted: Posted, kind: Kind, gpus: Sequence[str], *, queues: bool) -> None:
        self._posted, self._kind, self._gpus, self._queues = posted, kind, gpus, queues

    def manifest(self, base: Mapping[str, Any]) -> Manifest:
        """The manifest that the form means; `base` is the one that it was made from."""
        names, spec = self._kind.names, base.get("spec")
        spec_read = self.part(self._kind.model, spec if is_object(spec) else {}, "spec")
        meta = self._metadata(base.get("metadata"))
        return {"apiVersion": names.api_version, "kind": names.kind, "metadata": meta, "spec": spec_read}

    def _metadata(self, base: Any) -> Manifest:
        meta = dict(base) if is_object(base) else {}
        for name in ("name", "namespace"):
            if f"metadata.{name}" in self._posted:
                changed(meta, name, typed("text", self._posted[f"metadata.{name}"]).value)
        if self._posted.has("metadata.labels"):
            pairs = self._posted.items("metadata.labels", lambda at, _: self._pair(at), {})
            labels = {key: value for key, value in pairs if key or not self._posted.strict}
            changed(meta, "labels", labels or None)
        return meta

    def _pair(self, at: str) -> tuple[str, str]:
        return self._posted[f"{at}.key"].strip(), self._posted[f"{at}.value"].strip()

    def part(self, model: type[SpecPart], base: Mapping[str, Any], path: str) -> Manifest:
        """An object, in the model's order; what the model does not know stays behind."""
        known = fields(model)
        part: Manifest = {}
        for name, shape in known.items():
            changed(part, name, self._value(shape, base.get(name), f"{path}.{name}"))
        strangers = {name: value for name, value in base.items() if name not in known}
        return part | strangers

    def _value(self, shape: FieldShape, base: Any, path: str) -> Any:
        """The value of a field; None if it has none."""
        if field_labels.is_old(shape) or (path == self._kind.form.scheduler and not self._queues):
            return base
        if shape.opaque == "PodTemplateSpec":
            held = base if is_object(base) else {}
            return template.read(self._posted, held, path, self._kind.layout, self._gpus)
        if shape.part is None:
            return self._field(shape, base, path)
        if shape.many:
            return self._many(shape.part, base, path)
        return self._group(shape, shape.part, base, path)

    def _field(self, shape: FieldShape, base: Any, path: str) -> Any:
        control = input_of(shape).control
        if control == "switch":
            usual = shape.info.default is True
            on = self._posted[path] == "on" or (usual and self._posted.is_fresh(path))
            return None if base is None and on is usual else on
        if path not in self._posted:
            return base
        kept = typed(control, self._posted[path])
        if kept.problem:
            self._posted.wrong(path, kept.problem)
        return kept.value if kept.is_set else None

    def _group(self, shape: FieldShape, part: type[SpecPart], base: Any, path: str) -> Any:
        held = base if is_object(base) else {}
        if shape.info.default is None:
            return self.part(part, held, path) if self._posted[f"{path}?"] == "on" else None
        switched = "enabled" in fields(part) and path not in self._kind.form.without_switch
        if switched and self._posted[f"{path}.enabled"] != "on":
            return {"enabled": False} if held.get("enabled") is not None else None
        return self.part(part, held, path) or None

    def _many(self, part: type[SpecPart], base: Any, path: str) -> list[Any] | None:
        blank = first_item(part)
        items = self._posted.items(path, lambda at, old: self.part(part, old, at), blank, base)
        return items or ([] if isinstance(base, list) and base == [] else None)


def starter(kind: Kind) -> Manifest:
    """The manifest that a new form begins with: with what is usual, and an item in each list of replicas."""
    spec: Manifest = {}
    for name, shape in fields(kind.model).items():
        if shape.part is None or field_labels.is_old(shape):
            continue
        item = first_item(shape.part)
        if shape.many and item:
            spec[name] = [{"type": "worker", **item}]
        elif not shape.many and (name in kind.form.usual or _types(shape.part)):
            spec[name] = item or _types(shape.part)
    names = kind.names
    return {"apiVersion": names.api_version, "kind": names.kind, "metadata": {}, "spec": spec}


def _types(part: type[SpecPart]) -> Manifest:
    """An item for each type of replicas, where these have names of their own instead of a list."""
    inner = {name: shape.part for name, shape in fields(part).items() if shape.part and not shape.many}
    return {name: first_item(inner_part) for name, inner_part in inner.items() if first_item(inner_part)}


def first_item(part: type[SpecPart]) -> Manifest:
    """What a new item of a list begins with: what is worth saying even where it is the default."""
    known = fields(part)
    blank: Manifest = {}
    if "template" in known:
        blank = {"replicas": 1, "template": {"spec": {"containers": []}}}
    return {name: value for name, value in blank.items() if name in known}
