"""Base of data that leaves the product under a published JSON schema: plain and frozen, camelCase in JSON."""

from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import CoreSchema

from statemachine.docstrings import field_docs


class Published(BaseModel):
    """Fields are camelCase in JSON, as in Kubernetes, and are described by the strings below them."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """The schema, with what is said below the fields."""
        made = handler(schema)
        properties = handler.resolve_ref_schema(made)["properties"]
        for name, text in field_docs(cls).items():
            if (field := cls.model_fields.get(name)) is not None:
                properties[field.alias or name]["description"] = text
        return made


class _Schema(GenerateJsonSchema):
    """Draft 2020-12, saying so."""

    def generate(self, schema: Any, mode: JsonSchemaMode = "serialization") -> dict[str, Any]:
        return {"$schema": self.schema_dialect, **super().generate(schema, mode=mode)}


def json_schema(model: type[BaseModel], mode: JsonSchemaMode = "serialization") -> dict[str, Any]:
    """The JSON schema of `model`: of what is written, or (`validation`) of what is accepted."""
    return model.model_json_schema(mode=mode, schema_generator=_Schema)
