"""A DAG that waits for the end of a training job, and fails if the job did. In the folder of DAGs, under this name.

Needs Airflow 3, apache-airflow-providers-apache-kafka, and a connection `jobledger_events` with these extras:
`{"bootstrap.servers": "localhost:9092", "group.id": "evaluate", "auto.offset.reset": "earliest",
"isolation.level": "read_committed"}`.
"""

import json
from typing import Any

from airflow.providers.apache.kafka.sensors.kafka import AwaitMessageSensor
from airflow.sdk import DAG, task

SUCCEEDED = b"dev.jobledger.job.succeeded.v1"
FAILED = b"dev.jobledger.job.failed.v1"


def ended(message: Any, job: str) -> str | None:
    """The phase in which the job, `namespace/name`, ended; None of any other record. Airflow's triggerer calls it."""
    if dict(message.headers() or []).get("ce_type") not in {SUCCEEDED, FAILED}:
        return None
    data = json.loads(message.value())
    name = f"{data['job']['namespace']}/{data['job']['name']}"
    return str(data["phase"]["to"]) if name == job else None


def check(phase: str) -> None:
    """The task fails if the job did."""
    if phase != "Succeeded":
        raise RuntimeError(f"the job ended as {phase}")


with DAG("evaluate_after_training", schedule=None):
    trained = AwaitMessageSensor(
        task_id="trained",
        kafka_config_id="jobledger_events",
        topics=["jobledger.cloudevents"],
        apply_function="airflow_dag.ended",
        apply_function_kwargs={"job": "team-a/digits"},
        timeout=24 * 3600,
    )
    task(check)(trained.output)
