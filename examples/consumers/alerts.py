"""An alert for every job that failed: a line, where you would call a pager.

    python examples/consumers/alerts.py localhost:9092 jobledger.cloudevents

Needs confluent-kafka. The group's offset is written behind the alert, so one comes twice rather than not at all.
"""

import json
import sys
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message

FAILED = b"dev.jobledger.job.failed.v1"


def alert(message: Message) -> str:
    """What to say of a record; empty if nothing."""
    headers: dict[str, Any] = dict(message.headers() or [])
    if headers.get("ce_type") != FAILED:
        return ""
    data: dict[str, Any] = json.loads(message.value() or b"{}")
    cause = data["cause"] or {"message": "", "reason": ""}
    words = (data["reason"], cause["reason"], cause["message"])
    return f"{data['job']['namespace']}/{data['job']['name']} failed: {': '.join(filter(None, words))}"


def main(servers: str, topic: str, group: str = "jobledger-alerts") -> None:
    """Reads for ever."""
    consumer = Consumer({
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
    })  # fmt: skip
    consumer.subscribe([topic])
    try:
        while True:
            message = consumer.poll(1)
            if message is None:
                continue
            if (error := message.error()) is not None:
                raise KafkaException(error)
            if text := alert(message):
                print(text, flush=True)
            consumer.commit(message=message, asynchronous=False)
    except KeyboardInterrupt:
        consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
