"""What a ledger is called, wherever its log is."""

from pathlib import Path

from jobledger.wiring.ledger import Kafka
from statemachine.log.identity import Identity, identity, known_identity


async def identity_of(log: Path | Kafka, name: str = "") -> Identity:
    """The ledger's identity, made now if it has none; `name`: what it is to be called.

    Raises:
        ConfigError: it is called otherwise, for good.
        LogUnavailable: no broker answers.
        StoreUnusable: it has none, and cannot be written.
    """
    if isinstance(log, Kafka):
        from statemachine.log.kafka import identity as in_kafka

        return await in_kafka.identity(log.address, name)
    return identity(log, name)


async def known_identity_of(log: Path | Kafka) -> Identity | None:
    """The identity that the ledger has; None without one. Raises LogUnavailable, StoreUnusable."""
    if isinstance(log, Kafka):
        from statemachine.log.kafka import identity as in_kafka

        return await in_kafka.known_identity(log.address)
    return known_identity(log)
