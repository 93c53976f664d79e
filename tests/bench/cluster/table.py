"""One table of everything, and the goals under it."""

from collections.abc import Iterator

from rich.table import Table

from tests.bench.cluster.figures import ROWS, Row, Run, Sort, Verdict

_SIGNS = {"least": "≥", "most": "≤"}
_MET = {True: "yes", False: "NO", None: "not measured"}


def figures(runs: list[Run]) -> Table:
    """A row a figure, a column a program."""
    table = Table(box=None)
    table.add_column("what", no_wrap=True)
    columns = list(dict.fromkeys(run.who for run in runs))
    for who in columns:
        table.add_column(who, justify="right", no_wrap=True)
    for sort, size in dict.fromkeys((run.sort, run.size) for run in runs):
        here = {run.who: run for run in runs if (run.sort, run.size) == (sort, size)}
        table.add_row(f"[bold]{sort.heading(size)}")
        for row in ROWS[sort]:
            table.add_row(f"  {row.text}", *(_cell(here.get(who), row) for who in columns))
        for key in sorted({key for run in here.values() for key in run.requests}):
            counts = (here[who].requests.get(key, 0) if who in here else None for who in columns)
            table.add_row(f"    {key}", *("" if count is None else f"{count:.2f}" for count in counts))
    return table


def goals(verdicts: list[Verdict]) -> Table:
    """A row a goal and number of jobs."""
    table = Table(box=None)
    for heading in ("goal", "size", "reached", "wanted", "met"):
        table.add_column(heading, justify="right" if heading in ("size", "reached") else "left", no_wrap=True)
    for verdict in verdicts:
        reached = "" if verdict.value is None else f"{verdict.value:.2f}"
        wanted = f"{_SIGNS[verdict.goal.bound]} {verdict.goal.factor:g}"
        table.add_row(
            verdict.goal.text,
            "idle" if verdict.goal.sort is Sort.IDLE else f"{verdict.size:,}",
            reached,
            wanted,
            _met(verdict),
        )
    return table


def _met(verdict: Verdict) -> str:
    doubt = f", in doubt: others had {verdict.others:.0f} %" if verdict.doubtful else ""
    return f"{_MET[verdict.met]}{doubt if verdict.met is not None else ''}"


def notes(runs: list[Run]) -> Iterator[str]:
    """What would spoil a figure, a sentence each."""
    for run in runs:
        for note in run.notes:
            yield f"{run.who}, {run.sort.heading(run.size)}: {note}"


def _cell(run: Run | None, row: Row) -> str:
    if run is None or row.key not in run.figures:
        return ""
    value, p99 = run.figures[row.key], run.figures.get(f"{row.key}_p99")
    if value is None:
        return "never"
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
    return shown if p99 is None else f"{shown} ({p99:,.0f})"
