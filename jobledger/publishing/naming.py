"""Whose public events a server gives: asked when somebody first wants them, as a ledger is named then, for good."""

from pathlib import Path

from jobledger.publishing.projected import Named, Naming
from jobledger.settings.model import Settings
from jobledger.wiring.identity import identity_of
from jobledger.wiring.ledger import Kafka
from jobledger.wiring.publication import publication_of
from projectors.contract.publication import Publication


def named_by(settings: Settings, log: Path | Kafka) -> Named:
    """The naming of the ledger whose log is there. Raises ConfigError, LogUnavailable, StoreUnusable when asked."""

    async def named() -> Naming:
        publication = await publication_of(settings, log)
        return Naming((await identity_of(log, settings.ledger.name)).id, publication)

    return named


async def unnamed() -> Naming:
    """The naming of a ledger that is gone with its process."""
    return Naming("00000000", Publication("unnamed"))
