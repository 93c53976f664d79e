"""Manifest in, children out: one file a case, in a folder for each kind.

The first document of a file is written by hand: what the case is, and what happened to the job before (`resumed`;
`attempts` of replicas; `settings` of the kind; `shared` is false if each replica has its own Service). The second is
the manifest. The rest is what jobledger makes of it: warnings, children.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.kinds.build import admit, children, state

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("*/*.yaml"))


def made(about: dict[str, Any], manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The documents that follow the two written by hand."""
    name, kind, spec = manifest["metadata"]["name"], manifest["kind"], manifest["spec"]
    warnings = {notice.reason: notice.message for notice in admit(spec, name=name, kind=kind).notices}
    job = state(
        spec,
        kind=kind,
        name=name,
        namespace=manifest["metadata"]["namespace"],
        resumed=about.get("resumed", False),
        attempts=about.get("attempts"),
        settings=about.get("settings"),
        shared=about.get("shared", True),
    )
    return [{"warnings": warnings}, *children(job)]


class Dumper(yaml.SafeDumper):
    """Writes every value out: no references to an earlier one."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: Dumper, data: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)


Dumper.add_representer(str, _text)  # scripts are read line by line


def dumped(documents: list[Any]) -> str:
    """Documents as they stand in a golden file."""
    return yaml.dump_all(
        documents, Dumper=Dumper, sort_keys=False, width=110, allow_unicode=True, explicit_start=True
    )


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_children_are_the_golden_ones(path: Path, update_golden: bool) -> None:
    about, manifest, *rest = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    now = made(about, manifest)
    if update_golden:
        path.write_text(dumped([about, manifest, *now]), encoding="utf-8")
    else:
        assert dumped(now) == dumped(rest)


WORKED = {
    "pytorchtrainingjob": "abcdefg",
    "deepspeedjob": "abcef",
    "colossalaijob": "abcefghi",
    "mpijob": "abc",
    "pytorchjob": "abc",
    "genericjob": "abcde",
    "tensorflowtrainingjob": "abc",
    "xgboosttrainingjob": "ab",
    "beamjob": "ab",
}
"""Kind → the worked examples of its page in the spec that have children."""


@pytest.mark.parametrize("kind", WORKED)
def test_every_worked_example_has_a_file(kind: str) -> None:
    lettered = {path.stem[0] for path in CASES if path.parent.name == kind and path.stem[1] == "-"}
    assert lettered == set(WORKED[kind])
