"""The embedded controller as commands open it: the installation looked at, the default folder made."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from jobledger.guard import intruder
from statemachine.errors import ConfigError, StoreUnusable

if TYPE_CHECKING:
    from jobledger.settings import Settings
    from jobledger.wiring import Controller


@asynccontextmanager
async def controller_of(settings: "Settings") -> "AsyncIterator[Controller]":
    """A controller over the store of these settings, not started.

    Raises:
        ConfigError: another distribution owns one of our packages.
        StoreInUse, StoreUnusable: the store cannot be this process's.
    """
    from jobledger.settings import default_store
    from jobledger.wiring import embedded

    sentence = intruder()
    if sentence:
        raise ConfigError(sentence)
    if settings.store == default_store():
        try:
            settings.store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnusable(
                f"the folder {settings.store.parent} cannot be made ({error.strerror}); "
                "name a store elsewhere with --store"
            ) from error
    async with embedded(settings.store, evidence=settings.evidence, python=settings.python) as controller:
        yield controller
