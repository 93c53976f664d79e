"""A manifest → its form. Walks the kind's model; every field of it is somewhere in the form."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobledger.console.forms import field_labels, template
from jobledger.console.forms.controls import input_of, written
from jobledger.console.forms.tree import Field, Group, Many, Node
from jobledger.console.words import Language
from statemachine.kind import Kind
from statemachine.schema.fields import SpecPart
from statemachine.schema.lookup import is_object
from statemachine.schema.tables import FieldShape, fields

Manifest = Mapping[str, Any]


class FormBuilder:
    """Makes the nodes of a form in one language."""

    def __init__(self, language: Language, kind: Kind, gpus: Sequence[str], *, queues: bool) -> None:
        self._language, self._kind, self._gpus, self._queues = language, kind, gpus, queues

    def form(self, manifest: Manifest, *, namespace: bool) -> Group:
        """The whole form; `namespace` asks for that, too."""
        meta = manifest.get("metadata")
        root = Group("", self._kind.names.kind)
        root.children.append(self._metadata(meta if is_object(meta) else {}, namespace=namespace))
        spec = manifest.get("spec")
        root.children += self.part(self._kind.model, spec if is_object(spec) else {}, "spec")
        return root

    def _metadata(self, meta: Mapping[str, Any], *, namespace: bool) -> Group:
        name = Field("metadata.name", self._label("metadata.name"), required=True)
        name.value = written("text", meta.get("name"))
        group = Group("metadata", self._label("metadata"), children=[name])
        if namespace:
            where = written("text", meta.get("namespace"))
            group.children.append(Field("metadata.namespace", self._label("metadata.namespace"), value=where))
        labels = meta.get("labels")
        many = Many("metadata.labels", self._label("metadata.labels"))
        for index, (key, value) in enumerate(labels.items() if is_object(labels) else ()):
            at = f"metadata.labels[{index}]"
            pair = [Field(f"{at}.key", self._label("label.key"), value=str(key))]
            pair.append(Field(f"{at}.value", self._label("label.value"), value=written("text", value)))
            many.groups.append(Group(at, "", children=[*pair], removable=True))
        group.children.append(many)
        return group

    def part(self, model: type[SpecPart], value: Mapping[str, Any], path: str) -> list[Node]:
        """The nodes for the fields of an object."""
        known = fields(model)
        return [
            node
            for name in field_labels.ordered(path, list(known), self._kind.form)
            if not field_labels.is_old(known[name])
            for node in self._nodes(known[name], value.get(name), f"{path}.{name}")
        ]

    def _nodes(self, shape: FieldShape, value: Any, path: str) -> list[Node]:
        if path == self._kind.form.scheduler and not self._queues:
            return []
        if shape.opaque == "PodTemplateSpec":
            return [self._template(value, path)]
        if shape.part is None:
            return [self.field(shape, value, path)]
        if shape.many:
            return [self._many(shape, shape.part, value, path)]
        return [self._group(shape, shape.part, value, path)]

    def field(self, shape: FieldShape, value: Any, path: str) -> Field:
        """The input for a value."""
        asked = input_of(shape)
        required = shape.info.is_required()
        if asked.control == "switch" and value is None:
            value = shape.info.default
        choices = asked.choices if required or not asked.choices else ("", *asked.choices)
        return Field(
            path,
            self._label(path),
            asked.control,
            written(asked.control, value),
            self._help(shape),
            choices,
            required,
            asked.placeholder,
            field_labels.offered(path, self._kind.form),
            path in self._kind.form.needs.values(),
        )

    def _group(self, shape: FieldShape, part: type[SpecPart], value: Any, path: str) -> Group:
        held = value if is_object(value) else {}
        group = Group(path, self._label(path), self._help(shape))
        group.children, group.needs = self.part(part, held, path), path in self._kind.form.needs
        group.folded = path not in self._kind.form.unfolded and not held
        if shape.info.default is None:  # the object may be absent, which is not the same as empty
            group.switch = Field(f"{path}?", group.label, "switch", "on" if is_object(value) else "")
        elif path not in self._kind.form.without_switch:
            first = next((child for child in group.children if child.path == f"{path}.enabled"), None)
            if isinstance(first, Field):
                group.switch = first
                group.children.remove(first)
        return group

    def _many(self, shape: FieldShape, part: type[SpecPart], value: Any, path: str) -> Many:
        many = Many(path, self._label(path), self._help(shape))
        for index, item in enumerate(value if isinstance(value, list) else ()):
            at = f"{path}[{index}]"
            held = item if is_object(item) else {}
            title = written("text", held.get("type") or held.get("name")) or str(index + 1)
            children = self.part(part, held, at)
            many.groups.append(Group(at, title, children=children, removable=True))
        return many

    def _template(self, value: Any, path: str) -> Group:
        return template.build(
            value if is_object(value) else {}, path, self._kind.layout, self._gpus, self._label
        )

    def _help(self, shape: FieldShape) -> str:
        return field_labels.explained(self._language, shape.info.description or "", self._kind.form)

    def _label(self, path: str) -> str:
        return field_labels.label(self._language, path, self._kind.form)
