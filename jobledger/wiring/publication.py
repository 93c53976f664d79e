"""What the settings say of the public events of a ledger."""

from pathlib import Path

from jobledger.settings.model import Settings
from jobledger.wiring.identity import identity_of
from jobledger.wiring.ledger import Kafka
from projectors.contract.gpus import USUAL, resources
from projectors.contract.publication import Publication
from statemachine.errors import ConfigError


async def publication_of(settings: Settings, where: Path | Kafka) -> Publication:
    """What the settings say of the public events of the ledger at `where`.

    Raises ConfigError, LogUnavailable, StoreUnusable.
    """
    try:
        counted = resources(settings.accounting.gpu_resources) or USUAL
    except ValueError as error:
        raise ConfigError(f"the setting accounting.gpu_resources {error}") from None
    labels = tuple(filter(None, map(str.strip, settings.events.labels.split(","))))
    ledger = await identity_of(where, settings.ledger.name)
    return Publication(ledger.name, labels, settings.events.actors, counted, settings.events.classification)
