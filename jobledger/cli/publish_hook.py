"""`jobledger events publish --to https://…`: public events to a web hook, or RunEvents to a lineage system."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from jobledger.cli import common
from jobledger.program.exit_codes import FAILED

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from datetime import timedelta

    from jobledger.publishing.beginnings import Begin
    from jobledger.publishing.filters import Wanted
    from jobledger.settings.model import Settings
    from projectors.sinks.feeding import Chosen, Feeder
    from projectors.sinks.webhook import Failed, Receiver, WebHook
    from statemachine.log.positions import Positions, SinkFailure

_LINEAGE: Final = "openlineage+"


class HookOptions(NamedTuple):
    """The options of the command line that only receivers over HTTP have, as they are given, with their defaults."""

    keys: tuple[Path, ...] = ()
    begin: str = "beginning"
    name: str = ""
    types: tuple[str, ...] = ()
    namespace: str = ""
    concurrency: int = 8
    give_up_after: str = ""
    insecure: bool = False
    handshake: bool = False
    origin: str = ""


class HookDelivery(NamedTuple):
    """What is sent where, from `begin` on. `is_named`: its position is kept in the ledger."""

    receiver: "Receiver"
    wanted: "Wanted"
    begin: "Begin"
    is_named: bool
    lineage: bool

    @classmethod
    def of(cls, to: str, options: HookOptions, *, once: bool) -> "HookDelivery":
        """As the address and the options say. Raises ConfigError."""
        from jobledger.publishing.beginnings import begin_of
        from jobledger.publishing.filters import Wanted, types_of
        from projectors.sinks.webhook import Receiver

        lineage, url = to.startswith(_LINEAGE), to.removeprefix(_LINEAGE)
        _check(url, options, lineage=lineage, once=once)
        receiver = Receiver(
            options.name or "--to",
            url,
            options.keys,
            options.insecure,
            options.concurrency,
            _span(options.give_up_after),
            _origin(options),
        )
        wanted = Wanted("", types_of(options.types), options.namespace)
        begin = begin_of("--from", options.begin)
        return cls(receiver, wanted, begin, bool(options.name), lineage)

    def opened(self, failed: "Failed") -> "tuple[WebHook, Chosen]":
        """The sink, and what of an entry it gets."""
        from projectors.sinks.webhook import WebHook

        if not self.lineage:
            return WebHook(self.receiver, failed), self.wanted.of
        from projectors.sinks.lineage import lineage_sink, runs_of

        return lineage_sink(self.receiver, failed), runs_of(self.wanted.of)


def _check(url: str, options: HookOptions, *, lineage: bool, once: bool) -> None:
    from statemachine.errors import ConfigError
    from statemachine.log.positions import NAME

    if url.partition(":")[0] not in {"http", "https"}:
        raise ConfigError(f'--to needs file:DIR, kafka:, https://… or openlineage+https://…, not "{url}"')
    if lineage and options.types:
        raise ConfigError("--to openlineage+https://… takes no --type: a run needs its start and its end")
    if lineage and options.handshake:
        raise ConfigError(
            "--to openlineage+https://… takes no --handshake: only web hooks are asked for leave"
        )
    if options.begin == "end" and once:
        raise ConfigError("--from end sends nothing with --once")
    if options.name and not NAME.fullmatch(options.name):
        raise ConfigError(
            f'--name "{options.name}" must be lower-case letters, digits, - and ., 63 of them at most'
        )


def _origin(options: HookOptions) -> str:
    """As whom the receiver is asked for leave; empty if it is not. Raises ConfigError."""
    from jobledger.settings.sinks import DEFAULT_ORIGIN, ORIGIN
    from statemachine.errors import ConfigError

    if options.origin and not options.handshake:
        raise ConfigError("--origin is a word of the handshake: give --handshake, too")
    if options.origin and not ORIGIN.fullmatch(options.origin):
        raise ConfigError(f'--origin "{options.origin}" must be a host name: letters, digits, - and .')
    return (options.origin or DEFAULT_ORIGIN) if options.handshake else ""


def _span(text: str) -> "timedelta | None":
    from jobledger.settings.values import duration
    from statemachine.errors import ConfigError

    try:
        return duration(text) if text else None
    except ValueError as error:
        raise ConfigError(f'--give-up-after "{text}" {error}') from None


async def to_hook(
    settings: "Settings",
    url: str | None,
    delivery: HookDelivery,
    feed: "Callable[[Sequence[Feeder]], Awaitable[int]]",
) -> int:
    """The receiver has the events of the log once `feed` says so; gives the exit code."""
    from contextlib import AsyncExitStack

    from jobledger.publishing.source import source_of
    from projectors.sinks.webhook import SinkDisabled

    name, failures = delivery.receiver.name, list[str]()
    positions: Positions | None = None

    async def failed(failure: "SinkFailure") -> None:
        failures.append(failure.event)
        if positions is not None:
            await positions.fail(name, failure)
        attempts = common.plural(failure.attempts, "attempt")
        common.warn(f"jobledger: event {failure.event} is not delivered: {failure.error} ({attempts})")

    async with AsyncExitStack() as stack:
        sink, chosen = delivery.opened(failed)
        stack.push_async_callback(sink.close)
        source = await stack.enter_async_context(source_of(settings, url))
        if delivery.is_named:
            positions = await _kept_positions(stack, settings, url, name)
        feeders = await source.feeders(sink, positions, chosen, delivery.begin)
        try:
            code = await feed(feeders)
        except SinkDisabled as error:
            if positions is not None:
                await positions.switch(name, disabled=str(error))
            raise
    sent = sum(feeder.settled.total() for feeder in feeders)
    refused = f", {len(failures)} of them not delivered" if failures else ""
    common.say(f"{common.plural(sent, 'event')} sent{refused}")
    return FAILED if failures else code


async def _kept_positions(
    stack: "AsyncExitStack", settings: "Settings", url: str | None, name: str
) -> "Positions":
    """The positions in the ledger, until the stack is left. Raises ConfigError: the sink is off."""
    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.positions import positions_of
    from statemachine.errors import ConfigError

    where = log_of(url, settings) if url else settings.store
    positions = await stack.enter_async_context(positions_of(where))
    if off := await positions.disabled(name):
        raise ConfigError(
            f"the sink {name} is off ({off}); `jobledger events sinks enable {name}` switches it on"
        )
    return positions
