"""The dashboard, the alert rules and the documentation speak of metrics that there are, with the labels they have."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from jobledger.generate.files import files
from jobledger.telemetry.catalog import CATALOG
from tests.unit.telemetry.promql import Wrong, query

ROOT = Path(__file__).resolve().parents[3]
MONITORING = ROOT / "deploy" / "monitoring"

TARGET: Final = {"instance", "job", "namespace", "pod"}
"""Labels that Prometheus gives to everything that it scrapes in a cluster."""

PROCESS: Final = {"process_cpu_seconds_total", "process_resident_memory_bytes"}

LABELS: Final = {
    **{series: {*about.labels} for about in CATALOG.values() for series in about.series},
    **{f"{about.name}_bucket": {*about.labels, "le"} for about in CATALOG.values() if about.bounds},
    **{name: set() for name in PROCESS},
}


def dashboard() -> Any:
    return json.loads((MONITORING / "dashboard.json").read_text())


def rules() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def wrongs(expr: str) -> Iterator[str]:
    """What an expression asks for that there is not."""
    asked = query(expr)
    if not asked.selected:
        yield "it asks for no metric"
    for name, matched in asked.selected:
        if name not in LABELS:
            yield f"there is no metric {name}"
        else:
            for label in {*matched} - LABELS[name] - TARGET:
                yield f"{name} has no label {label}"
    known = set().union(*(LABELS.get(name, set()) for name, _ in asked.selected)) | TARGET
    for label in asked.grouped - known:
        yield f"no metric in it has a label {label}"


# ---- the checker itself ----


@pytest.mark.parametrize(
    ("expr", "says"),
    [
        ("sum(rate(jobledger_restarts[5m]))", "there is no metric jobledger_restarts"),
        ('jobledger_jobs{fase="Running"}', "jobledger_jobs has no label fase"),
        ("sum by (cause) (jobledger_jobs)", "no metric in it has a label cause"),
        ("jobledger_job_start_seconds > 1", "there is no metric jobledger_job_start_seconds"),
        ('jobledger_leader{kind="x"}', "jobledger_leader has no label kind"),
        ("1 > 0", "it asks for no metric"),
    ],
)
def test_what_there_is_not_is_reported(expr: str, says: str) -> None:
    assert list(wrongs(expr)) == [says]


@pytest.mark.parametrize(
    "expr",
    [
        "sum(jobledger_jobs",
        "jobledger_jobs)",
        "summ(jobledger_jobs)",
        "jobledger_jobs{kind=PyTorchJob}",
        "rate(jobledger_jobs[5x])",
        "sum by kind (jobledger_jobs)",
        '{kind="x"}',
    ],
)
def test_what_is_no_promql_is_reported(expr: str) -> None:
    with pytest.raises(Wrong):
        query(expr)


def test_expressions_are_read() -> None:
    asked = query(
        'sum by (le, kind) (rate(a_total{x="1",y=~"}"}[5m])) / on (z) group_left () b > 0.5 and absent(c)'
    )
    assert asked.selected == [("a_total", ["x", "y"]), ("b", []), ("c", [])]
    assert asked.grouped == {"le", "kind", "z"}


# ---- dashboard ----


def queries() -> list[Any]:
    return [
        pytest.param(target["expr"], target["legendFormat"], id=f"{panel['title']} {target['refId']}")
        for panel in dashboard()["panels"]
        for target in panel.get("targets", ())
    ]


@pytest.mark.parametrize(("expr", "legend"), queries())
def test_every_chart_asks_for_metrics_that_there_are(expr: str, legend: str) -> None:
    expr = expr.replace('"$kind"', '"x"')
    assert list(wrongs(expr)) == []
    named = set(re.findall(r"\{\{(\w+)\}\}", legend))
    asked = query(expr)
    assert named <= asked.grouped | TARGET, "the legend names a label that the lines do not have"


def test_every_metric_is_on_the_dashboard() -> None:
    asked = {
        name
        for panel in dashboard()["panels"]
        for target in panel.get("targets", ())
        for name, _ in query(target["expr"]).selected
    }
    assert [name for name, about in CATALOG.items() if not asked & set(about.series)] == []


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    board = dashboard()
    assert board["schemaVersion"] >= 38  # Grafana 10
    assert [variable["name"] for variable in board["templating"]["list"]] == ["datasource", "kind"]
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    for panel in board["panels"]:
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])
            assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    rows = [panel["title"] for panel in board["panels"] if panel["type"] == "row"]
    assert rows == [
        "Jobs",
        "Restarts and causes",
        "Latency",
        "Work queues",
        "API server",
        "Log",
        "Sinks of public events",
        "Kafka",
        "Controller",
    ]


def test_no_chart_lies_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        taken |= cells


# ---- alerts ----


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_alert_is_about_metrics_that_there_are(rule: dict[str, Any]) -> None:
    assert list(wrongs(rule["expr"])) == []
    said = " ".join(rule["annotations"].values())
    named = set(re.findall(r"\$labels\.(\w+)", said))
    labels = set().union(*(LABELS[name] for name, _ in query(rule["expr"]).selected))
    assert named <= labels | TARGET


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_alert_says_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"\d+[mh]", rule["for"])
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    for sentence in rule["annotations"].values():
        assert sentence.strip().endswith(".")
        assert sentence.count("{{") == sentence.count("}}")


def test_there_is_an_alert_for_each_thing_that_must_not_last() -> None:
    alerts = [rule["alert"] for rule in rules()]
    assert len(alerts) == len(set(alerts))
    assert set(alerts) >= {
        "JobledgerDown",
        "JobledgerNoLeader",
        "JobledgerWatchSilent",
        "JobledgerQueueStuck",
        "JobledgerDeadLettersGrow",
        "JobledgerJobQuarantined",
        "JobledgerEvidenceOrphans",
        "JobledgerApiErrors",
        "JobledgerLogNotWritable",
        "JobledgerPartitionUnowned",
        "JobledgerEngineBehind",
    }


def test_runbooks_name_commands_that_there_are() -> None:
    said = " ".join(rule["annotations"]["runbook"] for rule in rules())
    verbs = set(re.findall(r"`jobledger ([a-z-]+)", said))
    documented = (ROOT / "docs" / "cli.md").read_text()
    assert verbs == {"dead-letters", "events", "replay"}
    for verb in verbs:
        assert f"jobledger {verb} " in documented


def test_the_operators_rules_are_the_same() -> None:
    resource = yaml.safe_load((MONITORING / "prometheusrule.yaml").read_text())
    assert (resource["apiVersion"], resource["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert resource["spec"] == yaml.safe_load((MONITORING / "alerts.yaml").read_text())


# ---- documentation ----


@pytest.mark.parametrize(
    "path", ["docs/metrics.md", "deploy/monitoring/dashboard.json", "deploy/monitoring/prometheusrule.yaml"]
)
def test_generated_files_are_up_to_date(path: str) -> None:
    assert (ROOT / path).read_text() == files(ROOT)[path](), "run `make generate`"


def test_every_metric_is_documented_once_with_its_labels() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    for name, about in CATALOG.items():
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        _, _, type_, labels, meaning, _ = (cell.strip() for cell in line.split("|"))
        assert type_ == about.type
        assert re.findall(r"`(\w+)`", labels) == list(about.labels)
        assert meaning.startswith(about.meaning)


def test_names_follow_prometheus() -> None:
    for name, about in CATALOG.items():
        assert re.fullmatch(r"jobledger_[a-z][a-z_]*[a-z]", name)
        assert name.endswith("_total") == (about.type == "counter")
        assert name.endswith("_seconds") or about.type != "histogram"
        assert about.meaning.endswith(".")
        assert list(about.bounds) == sorted(set(about.bounds))
