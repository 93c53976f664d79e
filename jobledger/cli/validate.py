"""`jobledger validate`: every problem of every manifest at once, without a cluster or a server."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from jobledger.cli import common
from jobledger.program.exit_codes import BAD_INPUT

if TYPE_CHECKING:
    from jobledger.manifests import Manifest, ManifestUnusable
    from jobledger.manifests.places import Place


def validate(
    files: common.Files,
    *,
    strict: Annotated[
        bool, typer.Option("--strict", help="Warnings, such as those of unknown fields, are errors.")
    ] = False,
    output: common.OutputOption = common.Output.TABLE,
    verbose: common.Verbose = 0,
) -> None:
    """Check manifests against every rule of their kinds; exit code 2 if anything is wrong.

    Says all problems at once, and warnings too: in lines that editors understand, `file:line:column: field: text`,
    with the id of the rule behind it.
    """
    from jobledger.manifests import load

    common.settings(verbose=verbose)
    loaded = load(files)
    reports = [*map(_report, loaded.manifests), *map(_unusable, loaded.faults)]
    names = [
        *(manifest.place("metadata.name") for manifest in loaded.manifests),
        *(None for _ in loaded.faults),
    ]
    reports = _in_order(_with_twins(reports, names), files)
    if strict:
        reports = [*map(_strictly, reports)]
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
            {"rule": problem.rule, "path": problem.path, "text": problem.text}
            | _at(manifest, problem.path, problem.text)
            for problem in admission.problems
        ]
        notices = [(notice.reason, notice.message) for notice in admission.notices]
        report["notices"] = [
            {"reason": reason, "message": message} | _at(manifest, "", message)
            for reason, message in (*_strangers(manifest.raw), *notices)
        ]
    return report


_FIELDS: Final = ("apiVersion", "kind", "metadata", "spec", "status")
"""What every object of a job kind has. Source: Kubernetes API conventions, Objects."""

_OF_METADATA: Final = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "labels", "annotations"),
    *("finalizers", "ownerReferences", "managedFields", "selfLink"),
    *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
)
"""Source: Kubernetes API reference, ObjectMeta v1 meta."""


def _strangers(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields beside `spec` and in `metadata` that no API server keeps, as reason and message."""
    strangers = [name for name in raw if name not in _FIELDS]
    strangers += [f"metadata.{name}" for name in raw["metadata"] if name not in _OF_METADATA]
    for path in strangers:
        yield "UnknownField", f"{path} is no known field and is ignored"


def _at(manifest: "Manifest", path: str, text: str) -> dict[str, int]:
    """The place of the field that is meant: by its path, else by the one with which the sentence begins."""
    from jobledger.manifests.places import has_field

    first = text.split(maxsplit=1)[0].rstrip(":,;") if text else ""
    return _numbers(manifest.place(path or (first if has_field(manifest.raw, first) else "")))


def _numbers(place: "Place | None") -> dict[str, int]:
    return {"line": place.line, "column": place.column} if place else {"line": 0, "column": 0}


def _strictly(report: dict[str, Any]) -> dict[str, Any]:
    """The report with its warnings as problems."""
    more = [
        {"rule": notice["reason"], "path": "", "text": notice["message"]}
        | {"line": notice["line"], "column": notice["column"]}
        for notice in report["notices"]
    ]
    return report | {"problems": [*report["problems"], *more], "notices": []}


def _unusable(fault: "ManifestUnusable") -> dict[str, Any]:
    """What is wrong with a file, or with a manifest that is none."""
    said = {"rule": "", "path": fault.problem.path, "text": fault.problem.text}
    problem = said | _numbers(fault.place)
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


def _with_twins(reports: list[dict[str, Any]], names: "Sequence[Place | None]") -> list[dict[str, Any]]:
    """An object that was there before gets a problem for it, at its name: one of the two would be lost."""
    first: dict[tuple[str, str, str], dict[str, Any]] = {}
    for report, name in zip(reports, names, strict=True):
        key = report["kind"], report["namespace"], report["name"]
        if not report["name"]:
            continue
        twin = first.setdefault(key, report)
        if twin is not report:
            text = f'{report["kind"]} "{report["name"]}" is there already: {_where(twin)}'
            problem = {"rule": "", "path": "metadata.name", "text": text} | _numbers(name)
            report["problems"] = [problem, *report["problems"]]
    return reports


def _in_order(reports: list[dict[str, Any]], files: Sequence[str]) -> list[dict[str, Any]]:
    """As the files were named, and as things stand in them."""
    return sorted(
        reports, key=lambda report: (files.index(report["file"]), report["document"], report["item"])
    )


def _where(report: dict[str, Any]) -> str:
    from jobledger.manifests import ManifestSource

    return str(
        ManifestSource(report["file"], report["document"], report["line"], report["column"], report["item"])
    )


def _lines(reports: Sequence[dict[str, Any]]) -> Iterator[str]:
    for report in reports:
        title = f"{report['kind']} {report['name']}" if report["kind"] else "no usable manifest"
        state = "valid" if _valid(report) else common.plural(len(report["problems"]), "problem")
        notes = f", {common.plural(len(report['notices']), 'warning')}" if report["notices"] else ""
        yield f"{_where(report)}: {title}: {state}{notes}"
        for remark in report["problems"]:
            path, rule = (
                (f"{remark['path']}: " if remark["path"] else ""),
                f" [{remark['rule']}]" if remark["rule"] else "",
            )
            yield f"{_spot(report, remark)}: {_printable(path + remark['text'])}{rule}"
        for remark in report["notices"]:
            yield f"{_spot(report, remark)}: warning: {_printable(remark['message'])} [{remark['reason']}]"


def _spot(report: dict[str, Any], remark: dict[str, Any]) -> str:
    """`file:line:column`, as compilers have it; the file alone where it is wrong as a whole."""
    from jobledger.manifests import STDIN, shown_name

    file = "<stdin>" if report["file"] == STDIN else shown_name(report["file"])
    return f"{file}:{remark['line']}:{remark['column'] or 1}" if remark["line"] else file


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
