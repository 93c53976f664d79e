"""`jobledger validate`: every problem of every manifest at once, without a cluster or a server."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from jobledger.cli import common
from jobledger.cli.ending import BAD_INPUT

if TYPE_CHECKING:
    from jobledger.manifests import Manifest, ManifestUnusable


def validate(
    files: common.Files,
    output: common.OutputOption = common.Output.TABLE,
    verbose: common.Verbose = 0,
) -> None:
    """Check manifests against every rule of their kinds; exit code 2 if anything is wrong.

    Says all problems at once, each with its field, the id of the rule and a sentence, and warnings too.
    """
    from jobledger.manifests import load

    common.settings(verbose=verbose)
    found = load(files)
    reports = [*map(_report, found.manifests), *map(_unusable, found.faults)]
    reports = _in_order(_with_twins(reports), files)
    if output is common.Output.TABLE:
        for line in _lines(reports):
            common.say(line)
    else:
        common.dump({"valid": all(map(_valid, reports)), "manifests": reports}, output)
    if not all(map(_valid, reports)):
        raise typer.Exit(BAD_INPUT)


def _valid(report: dict[str, Any]) -> bool:
    return not report["problems"]


def _report(manifest: "Manifest") -> dict[str, Any]:
    """What the rules say of a manifest."""
    from statemachine.kinds import kind_of

    report = _place(manifest.source) | {
        "kind": manifest.kind,
        "namespace": manifest.raw["metadata"].get("namespace") or "",
        "name": manifest.name,
        "problems": [],
        "notices": [],
    }
    if manifest.is_job:
        admission = kind_of(manifest.raw["apiVersion"], manifest.kind).admit(manifest.name, manifest.spec)
        report["problems"] = [
            {"rule": each.rule, "path": each.path, "text": each.text} for each in admission.problems
        ]
        report["notices"] = [{"reason": each.reason, "message": each.message} for each in admission.notices]
    return report


def _unusable(fault: "ManifestUnusable") -> dict[str, Any]:
    """What is wrong with a file, or with a manifest that is none."""
    problem = {"rule": "", "path": fault.problem.path, "text": fault.problem.text}
    blank = {"kind": "", "namespace": "", "name": ""}
    return _place(fault.source) | blank | {"problems": [problem], "notices": []}


def _place(source: Any) -> dict[str, Any]:
    return {
        "file": source.file,
        "document": source.document,
        "item": source.item,
        "line": source.line,
        "column": source.column,
    }


def _with_twins(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An object that was there before gets a problem for it: one of the two would be lost."""
    first: dict[tuple[str, str, str], dict[str, Any]] = {}
    for report in reports:
        key = report["kind"], report["namespace"], report["name"]
        if not report["name"]:
            continue
        twin = first.setdefault(key, report)
        if twin is not report:
            text = f'{report["kind"]} "{report["name"]}" is there already: {_where(twin)}'
            report["problems"] = [{"rule": "", "path": "metadata.name", "text": text}, *report["problems"]]
    return reports


def _in_order(reports: list[dict[str, Any]], files: Sequence[str]) -> list[dict[str, Any]]:
    """As the files were named, and as things stand in them."""
    return sorted(reports, key=lambda each: (files.index(each["file"]), each["document"], each["item"]))


def _where(report: dict[str, Any]) -> str:
    from jobledger.manifests import Source

    return str(Source(report["file"], report["document"], report["line"], report["column"], report["item"]))


def _lines(reports: Sequence[dict[str, Any]]) -> Iterator[str]:
    for report in reports:
        title = f"{report['kind']} {report['name']}" if report["kind"] else "no usable manifest"
        state = "valid" if _valid(report) else common.plural(len(report["problems"]), "problem")
        notes = f", {common.plural(len(report['notices']), 'warning')}" if report["notices"] else ""
        yield f"{_where(report)}: {title}: {state}{notes}"
        for each in report["problems"]:
            path = f"{each['path']}: " if each["path"] else ""
            yield f"  error    {each['rule'] or '-':<5}{_printable(path + each['text'])}"
        for each in report["notices"]:
            yield f"  warning  {each['reason']}: {_printable(each['message'])}"


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
