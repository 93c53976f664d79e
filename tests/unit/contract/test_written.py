"""What is published of a model is what the model itself would write."""

import json

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from projectors.contract.catalogue import CATALOGUE, TYPES, short_name
from projectors.contract.model.parts import Cause
from projectors.contract.model.written import encoded, struct_of, written
from tests.contract.lives import events_of, recorded


def _as_model(model: type[BaseModel], data: bytes) -> bytes:
    """The data, read and written by the model."""
    read = model.model_validate(json.loads(data))
    return read.__pydantic_serializer__.to_json(read, by_alias=True, exclude_defaults=True)


def test_data_of_every_recorded_life_are_the_bytes_that_their_models_write() -> None:
    for life in recorded():
        for event in events_of(life):
            model = TYPES[short_name(str(event.attributes["type"]))].model
            assert _as_model(model, event.data) == event.data


def test_a_struct_has_the_fields_of_its_model_in_the_same_order() -> None:
    for public_type in CATALOGUE:
        names = [field.alias or to_camel(name) for name, field in public_type.model.model_fields.items()]
        assert list(struct_of(public_type.model).__struct_encode_fields__) == names


def test_every_character_is_written_as_the_models_write_it() -> None:
    text = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x11000), 0x1F600)))
    fields = {"pod_uid": None, "node": None, "container": None, "exit_code": 137, "signal": 9, "reason": ""}
    one = written(Cause)(class_="ApplicationExit", rule="R8", message=text, **fields)  # type: ignore[arg-type]
    assert _as_model(Cause, encoded(one)) == encoded(one)
