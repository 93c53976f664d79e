"""The gate: the contract as it is keeps what every minor of its major has promised."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from projectors.contract.catalogue import CATALOGUE, VERSION, short_name
from projectors.contract.envelope import structured
from projectors.contract.lineage.facets import OWN, OWN_VERSION, own_schema
from projectors.contract.schemas import plain, schema
from tests.contract.compatible import differences, of_catalogue
from tests.contract.lives import events_of, lives
from tests.contract.registry import refusals
from tests.contract.released import (
    Fixture,
    catalogue,
    chosen,
    facet_schemas,
    facet_versions,
    fixtures,
    schemas,
    versions,
)


def broken() -> list[str]:
    """Everything that is broken, a sentence each."""
    major = VERSION.partition(".")[0]
    kept = [version for version in versions() if version.name.partition(".")[0] == major]
    now = {public_type.name: schema(public_type) for public_type in CATALOGUE}
    facets = {name: own_schema(name) for name in OWN}
    return [
        *(wrong for version in kept for wrong in _against(version, now)),
        *of_facets({version.name: facet_schemas(version) for version in facet_versions()}, facets),
    ]


def of_facets(
    released: dict[str, dict[str, dict[str, Any]]], now: dict[str, dict[str, Any]]
) -> Iterator[str]:
    """What the schemas of our facets have broken of each version of their major; a change needs a new version."""
    if released.get(OWN_VERSION, {}).keys() != now.keys():
        yield f"facets {OWN_VERSION}: not all are frozen: python -m tests.contract freeze-facets"
    for version, before in released.items():
        if version.partition("-")[0] != OWN_VERSION.partition("-")[0]:
            continue
        for name, old in before.items():
            if name not in now:
                yield f"facets {version} {name}: is gone"
                continue
            wrong = list(differences(old, now[name]))
            yield from (f"facets {version} {name}: {sentence}" for sentence in wrong)
            if (
                version == OWN_VERSION
                and not wrong
                and _without_producer(old) != _without_producer(now[name])
            ):
                yield f"facets {version} {name}: has changed, and its version has not"


def _without_producer(schema_: dict[str, Any]) -> dict[str, Any]:
    """What `_producer` is by default names the version of the contract."""
    return {**schema_, "properties": {**schema_["properties"], "_producer": None}}


def _against(version: Path, now: dict[str, dict[str, Any]]) -> Iterator[str]:
    before = schemas(version)
    promised = json.loads((version / "catalogue.json").read_text())
    yield from of_catalogue(promised, catalogue())
    for name, old in before.items():
        if name in now:
            yield from (f"{version.name} {name}: {wrong}" for wrong in differences(old, now[name]))
    yield from _refused(version.name, before)
    yield from _invalid(fixtures(version), now, f"an event of {version.name} in the present schemas")
    present = (fixture for kept in chosen().values() for fixture in kept)
    yield from _invalid(present, before, f"a present event in the schemas of {version.name}")
    yield from _other(version)


def closed() -> dict[str, dict[str, Any]]:
    """The present schemas, as registries get them."""
    return {public_type.name: schema(public_type, closed=True) for public_type in CATALOGUE}


def _refused(version: str, before: dict[str, dict[str, Any]]) -> Iterator[str]:
    now = closed()
    for name in before.keys() & now.keys():
        for change in refusals(plain(before[name], closed=True), now[name]):
            yield f"{version} {name}: a registry would refuse it: {change.path}: {change.name}"


def _invalid(events: Iterator[Fixture], known: dict[str, dict[str, Any]], what: str) -> Iterator[str]:
    validators = {name: Draft202012Validator(schema_) for name, schema_ in known.items()}
    for fixture in events:
        validator = validators.get(short_name(fixture.event["type"]))
        for error in validator.iter_errors(fixture.event["data"]) if validator else ():
            yield f"{what}: {fixture.history} {fixture.event['id']}: {error.message}"


def _other(version: Path) -> Iterator[str]:
    """Each event that was kept is there again, with all that it had."""
    wanted: dict[str, list[dict[str, Any]]] = {}
    for fixture in fixtures(version):
        wanted.setdefault(fixture.history, []).append(fixture.event)
    for life in lives():
        if life.name in wanted:
            made = {event.attributes["id"]: json.loads(structured(event)) for event in events_of(life)}
            for event in wanted.pop(life.name):
                if not includes(made.get(event["id"]), event):
                    yield f"{version.name}: {life.name}: event {event['id']} is no longer what it was"
    yield from (f"{version.name}: there is no history {name}" for name in wanted)


def includes(new: Any, old: Any) -> bool:
    """`new` has all that `old` has; objects may have more. `dataschema` names the version."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(
            name == "dataschema" or (name in new and includes(new[name], value))
            for name, value in old.items()
        )
    if isinstance(old, list):
        is_list = isinstance(new, list) and len(new) == len(old)
        return is_list and all(includes(*pair) for pair in zip(new, old, strict=True))
    return bool(new == old)
