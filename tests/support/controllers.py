"""Controllers as tests make them: a log, a cluster, a clock, and the few things that a test is about."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from jobledger.telemetry.instruments import Instruments
from jobledger.wiring import Controller
from jobledger.wiring.bridge_role import Turn
from jobledger.wiring.ledger import Ledger
from jobledger.wiring.options import ControllerOptions
from jobledger.wiring.share import Share
from jobledger.wiring.streams import Stream
from k8s_bridge.port import Cluster
from statemachine.engine.clock import Clock
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Worker
from statemachine.log.inbox import Inbox, Outbox
from statemachine.log.partitions import Partitions
from statemachine.log.port import EventLog


def controller_of(
    event_log: EventLog | Partitions,
    cluster: Cluster,
    clock: Clock,
    streams: Sequence[Sequence[Stream]] = (),
    *,
    inbox: Inbox | None = None,
    outbox: Outbox | None = None,
    worker: Worker | None = None,
    share: Share | None = None,
    check: ClockCheck | None = None,
    instruments: Instruments | None = None,
    turn: Turn = nullcontext,
    answered: Callable[[], int] = lambda: 0,
    **options: Any,
) -> Controller:
    """A controller over this log; `options` are those of `ControllerOptions`."""
    partitions = event_log if isinstance(event_log, Partitions) else Partitions([event_log])
    return Controller(
        Ledger(partitions, streams, inbox, outbox, worker, share, check),
        cluster,
        clock,
        ControllerOptions(**options),
        instruments=instruments,
        turn=turn,
        answered=answered,
    )
