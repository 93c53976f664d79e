"""The admin client of the model: what the product asks about topics, and how it makes them."""

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any, Final

from aiokafka.errors import TopicAlreadyExistsError

from tests.support.kafka_model.brokers import LEADER
from tests.support.kafka_model.wire import Wire

_OWN: Final = 1
"""A setting of the topic's own. Source: Kafka, DescribeConfigs."""


class ModelAdmin:
    """See AIOKafkaAdminClient."""

    def __init__(self, *, bootstrap_servers: Sequence[str] | str, **_: Any) -> None:
        self._client = Wire(bootstrap_servers)

    async def start(self) -> None:
        """Brokers are there. Raises KafkaConnectionError."""
        await self._client.request(lambda: None)

    async def close(self) -> None:
        """Nothing is open any more."""

    async def describe_topics(self) -> list[dict[str, Any]]:
        """Every topic with its partitions."""
        counts = await self._client.answered(self._client.brokers.topics)
        return [{"topic": name, "partitions": _parts(count)} for name, count in counts.items()]

    async def describe_configs(self, resources: Iterable[Any]) -> list[Any]:
        """The topics' own settings, as brokers spell them."""
        settings = await self._client.answered(lambda: self._client.brokers.settings)
        answers = [
            (0, None, resource.resource_type, resource.name, _entries(settings[resource.name]))
            for resource in resources
        ]
        return [SimpleNamespace(resources=answers)]

    async def describe_cluster(self) -> dict[str, Any]:
        """One broker."""
        return {"brokers": [{"node_id": LEADER}]}

    async def create_topics(self, topics: Iterable[Any], _: int | None = None) -> Any:
        """Those that are not there yet."""
        brokers, wanted = self._client.brokers, list(topics)
        made = await self._client.answered(
            lambda: [
                brokers.create(topic.name, topic.num_partitions, topic.topic_configs) for topic in wanted
            ]
        )
        codes = [0 if is_new else TopicAlreadyExistsError.errno for is_new in made]
        return SimpleNamespace(
            topic_errors=[(topic.name, code, None) for topic, code in zip(wanted, codes, strict=True)]
        )


def _parts(count: int) -> list[dict[str, Any]]:
    return [{"partition": number, "leader": LEADER, "replicas": [LEADER]} for number in range(count)]


def _entries(settings: Any) -> list[tuple[str, str, bool, int]]:
    return [(name, value, False, _OWN) for name, value in settings.items()]
