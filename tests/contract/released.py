"""What was released, as it stands in `projectors/contract/released/`, and how a version gets there."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from projectors.contract.catalogue import CATALOGUE, VERSION, short_name
from projectors.contract.envelope import structured
from projectors.contract.lineage.facets import OWN, OWN_VERSION, own_schema
from projectors.contract.schemas import schema
from tests.contract.lives import events_of, lives

FOLDER: Final = Path(__file__).parents[2] / "projectors" / "contract" / "released"
FACETS: Final = FOLDER.parent / "lineage" / "released"
FIXTURES: Final = 3
"""Events of each type."""


class Fixture(NamedTuple):
    """An event as it was, and the recorded history that it is from."""

    history: str
    event: dict[str, Any]


def versions() -> list[Path]:
    """The folder of each version, the oldest first."""
    return sorted(FOLDER.iterdir(), key=lambda path: [int(part) for part in path.name.split(".")])


def schemas(version: Path) -> dict[str, dict[str, Any]]:
    """Type → schema."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((version / "schemas").glob("*.json"))}


def facet_versions() -> list[Path]:
    """The folder of each version of our facets in RunEvents, the oldest first."""
    return sorted(FACETS.iterdir(), key=lambda path: [int(part) for part in path.name.split("-")])


def facet_schemas(version: Path) -> dict[str, dict[str, Any]]:
    """Facet → schema."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(version.glob("*.json"))}


def freeze_facets() -> Path:
    """The present version of our facets is released. Raises FileExistsError: it was before."""
    folder = FACETS / OWN_VERSION
    folder.mkdir(parents=True)
    for name in OWN:
        _write(folder / f"{name}.json", own_schema(name))
    return folder


def fixtures(version: Path) -> Iterator[Fixture]:
    """All events that were kept of a version."""
    for path in sorted((version / "fixtures").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Fixture(**json.loads(line))


def digest(version: Path) -> str:
    """SHA-256 over the names and bytes of all files of a version."""
    sha = hashlib.sha256()
    for path in sorted(version.rglob("*.*")):
        if path.is_file():
            sha.update(f"{path.relative_to(version).as_posix()}\n".encode() + path.read_bytes())
    return sha.hexdigest()


def catalogue() -> dict[str, Any]:
    """What is promised of the types beside their schemas."""
    return {
        public_type.name: {
            "type": public_type.full_name,
            "anchors": list(public_type.anchors),
            "severity": public_type.severity.name,
        }
        for public_type in CATALOGUE
    }


def chosen() -> dict[str, list[Fixture]]:
    """Events of each type: the first of as many lives as it takes, or else several of one."""
    firsts: dict[str, list[Fixture]] = defaultdict(list)
    others: dict[str, list[Fixture]] = defaultdict(list)
    for life in lives():
        for event in events_of(life):
            name = short_name(str(event.attributes["type"]))
            is_first = life.name not in {fixture.history for fixture in firsts[name]}
            of_type = firsts[name] if is_first else others[name]
            if len(of_type) < FIXTURES:
                of_type.append(Fixture(life.name, json.loads(structured(event))))
    return {name: [*kept, *others[name]][:FIXTURES] for name, kept in firsts.items()}


def freeze() -> Path:
    """The present version is released. Raises FileExistsError: it was before."""
    folder = FOLDER / VERSION
    (folder / "schemas").mkdir(parents=True)
    (folder / "fixtures").mkdir()
    for public_type in CATALOGUE:
        _write(folder / "schemas" / f"{public_type.name}.json", schema(public_type))
    _write(folder / "catalogue.json", catalogue())
    for name, kept in chosen().items():
        lines = (json.dumps(fixture._asdict(), ensure_ascii=False) for fixture in kept)
        text = "".join(f"{line}\n" for line in lines)
        (folder / "fixtures" / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
