"""How many restarts every job had, in a table of Faust.

    KAFKA=localhost:9092 TOPIC=jobledger.cloudevents python examples/consumers/faust_app.py worker --without-web

Needs faust-streaming. Faust reads uncommitted records, too, so what came before is known by its `sequence`, which
grows within a job.
"""

import os
from typing import Any

import faust

TOPIC = os.environ.get("TOPIC", "jobledger.cloudevents")
RESTARTED = b"dev.jobledger.replica.restart_scheduled.v1"

app = faust.App(
    os.environ.get("APP", "jobledger-restarts"),
    broker=f"kafka://{os.environ.get('KAFKA', 'localhost:9092')}",
    topic_partitions=int(os.environ.get("PARTITIONS", "12")),
    datadir=os.environ.get("DATA", ".faust"),
    consumer_auto_offset_reset="earliest",
)
events = app.topic(TOPIC, key_type=str, key_serializer="raw", value_serializer="json", internal=False)
jobs = app.Table("jobs", key_type=str)
"""Uid → job, restarts, sequence of the last event."""


@app.agent(events)
async def count(stream: Any) -> None:
    """The table has every restart once."""
    async for event in stream.events():
        headers, data = dict(event.message.headers), event.value
        uid, sequence = data["job"]["uid"], headers["ce_sequence"].decode()
        job = jobs.get(uid) or {"job": data["job"]["name"], "restarts": 0, "sequence": ""}
        if sequence > job["sequence"]:
            again = headers["ce_type"] == RESTARTED
            jobs[uid] = {**job, "sequence": sequence, "restarts": job["restarts"] + again}
            if again:
                print(f"{job['job']} {job['restarts'] + 1}", flush=True)


if __name__ == "__main__":
    app.main()
