"""Configurations of other programs in examples/consumers: what can be said of them without these programs."""

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
import yaml
from jsonschema import Draft7Validator

from projectors.contract.binding import headers
from projectors.contract.catalogue import TYPES, short_name
from projectors.contract.schemas import schema
from statemachine.kinds import SERVED
from tests.contract.released import fixtures, versions

ROOT: Final = Path(__file__).parents[3]
CONSUMERS: Final = ROOT / "examples" / "consumers"


class _Dag:
    """Stands for Airflow's DAG, which is used as a block."""

    def __init__(self, dag_id: str, *, schedule: str | None) -> None:
        self.dag_id, self.schedule = dag_id, schedule

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class _Sensor:
    """Stands for AwaitMessageSensor, with parameters that it has in version 2.1.0 of the provider."""

    output = "the phase"

    def __init__(
        self,
        *,
        task_id: str,
        kafka_config_id: str,
        topics: list[str],
        apply_function: str,
        apply_function_kwargs: dict[str, str],
        timeout: float,
    ) -> None:
        self.apply_function, self.job = apply_function, apply_function_kwargs["job"]


@contextmanager
def airflow() -> Iterator[None]:
    """Modules of the names that Airflow 3 has."""
    kafka, sdk = ModuleType("airflow.providers.apache.kafka.sensors.kafka"), ModuleType("airflow.sdk")
    kafka.__dict__["AwaitMessageSensor"] = _Sensor
    sdk.__dict__.update(DAG=_Dag, task=lambda _: lambda *_: None)
    parents = ("airflow", "airflow.providers", "airflow.providers.apache")
    names = (*parents, "airflow.providers.apache.kafka", "airflow.providers.apache.kafka.sensors")
    made = {name: ModuleType(name) for name in names} | {kafka.__name__: kafka, sdk.__name__: sdk}
    with pytest.MonkeyPatch.context() as patch:
        for name, module in made.items():
            patch.setitem(sys.modules, name, module)
        yield


class Record:
    """A record as confluent-kafka gives it."""

    def __init__(self, event: dict[str, Any]) -> None:
        self._event = event

    def headers(self) -> list[tuple[str, bytes]]:
        return [(name, value.encode()) for name, value in headers(self._event).items()]

    def value(self) -> bytes:
        return json.dumps(self._event["data"]).encode()


def test_the_dag_waits_for_the_end_of_its_job_and_no_other() -> None:
    spec = importlib.util.spec_from_file_location("airflow_dag", CONSUMERS / "airflow_dag.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with airflow():
        spec.loader.exec_module(module)
    where, _, name = module.trained.apply_function.rpartition(".")
    assert where == "airflow_dag"
    events = [fixture.event for fixture in fixtures(versions()[-1])]
    ends = {
        (f"{event['namespace']}/{event['name']}", event["data"]["phase"]["to"])
        for event in events
        if short_name(event["type"]) in {"job.succeeded", "job.failed"}
    }
    assert {phase for _, phase in ends} == {"Succeeded", "Failed"}
    for job, _ in ends:
        phases = {getattr(module, name)(Record(event), job) for event in events} - {None}
        assert phases == {phase for other, phase in ends if other == job}
    assert {getattr(module, name)(Record(event), "team/none") for event in events} == {None}
    module.check("Succeeded")
    with pytest.raises(RuntimeError, match="ended as Failed"):
        module.check("Failed")


def test_knative_takes_the_trigger_and_filters_by_attributes_that_events_have() -> None:
    trigger = yaml.safe_load((CONSUMERS / "knative-trigger.yaml").read_text(encoding="utf-8"))
    knative = json.loads((ROOT / "tests" / "schemas" / "knative-trigger-v1.json").read_text(encoding="utf-8"))
    Draft7Validator(knative).validate(trigger)
    assert not Draft7Validator(knative).is_valid({**trigger, "spec": {"subscriber": {"ref": {"kind": 1}}}})
    wanted = trigger["spec"]["filter"]["attributes"]
    assert short_name(wanted["type"]) in TYPES
    assert wanted["kind"] in {names.kind for names in SERVED}


def test_the_sensor_of_argo_events_reads_what_its_source_gives() -> None:
    source, sensor = yaml.safe_load_all((CONSUMERS / "argo-events.yaml").read_text(encoding="utf-8"))
    [dependency] = sensor["spec"]["dependencies"]
    assert dependency["eventSourceName"] == source["metadata"]["name"]
    assert dependency["eventName"] in source["spec"]["kafka"]
    [wanted] = dependency["filters"]["data"]
    names = [short_name(value) for value in wanted["value"]]
    [trigger] = sensor["spec"]["triggers"]
    for item in trigger["template"]["http"]["payload"]:
        assert item["src"]["dependencyName"] == dependency["name"]
        _, *path = item["src"]["dataKey"].split(".")
        for name in names:
            data: Any = schema(TYPES[name])
            for part in path:
                data = data["properties"][part]
                data = (
                    schema(TYPES[name])["$defs"][data["$ref"].rpartition("/")[2]] if "$ref" in data else data
                )
            assert data


def test_connect_makes_a_row_of_every_event_with_the_attributes_that_it_names() -> None:
    connector = json.loads((CONSUMERS / "connect-jdbc.json").read_text(encoding="utf-8"))["config"]
    assert connector["consumer.override.isolation.level"] == "read_committed"
    taken = connector["transforms.attributes.headers"].split(",")
    columns = connector["transforms.attributes.fields"].split(",")
    assert [f"ce_{column}" for column in columns] == taken
    for fixture in fixtures(versions()[-1]):
        assert set(taken) <= headers(fixture.event).keys()
    assert (connector["insert.mode"], connector["pk.mode"]) == ("upsert", "record_value")
    assert connector["pk.fields"] in columns
    assert {f"transforms.{name}.type" for name in connector["transforms"].split(",")} <= connector.keys()


@pytest.mark.parametrize("name", ["flink.sql", "ksqldb.sql"])
def test_a_table_in_sql_has_columns_that_events_have(name: str) -> None:
    text = re.sub(r"--.*", "", (CONSUMERS / name).read_text(encoding="utf-8"))
    rows = re.findall(r"^  (\w+) (?:ROW|STRUCT)<(.*)>,?$", text, flags=re.MULTILINE)
    assert {"job", "phase"} <= {column for column, _ in rows}
    for column, fields in rows:
        made = schema(TYPES["job.running"])
        part = made["$defs"][made["properties"][column]["$ref"].rpartition("/")[2]]
        assert set(re.findall(r"`(\w+)`", fields)) <= part["properties"].keys()
    for type_ in re.findall(r"dev\.jobledger\.[a-z_.]+\.v1", text):
        assert short_name(type_) in TYPES
