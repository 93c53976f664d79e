"""A process of `jobledger controller` from its start to its end: what it does, and what it answers meanwhile.

It may have to wait for its turn first. One that has a front answers then as well, from the log that another process
writes, so that callers need not know which of several works.
"""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any, Final

from jobledger.api import create
from jobledger.console.frame import ConsoleOptions
from jobledger.publishing.naming import unnamed
from jobledger.publishing.projected import Named
from jobledger.publishing.public_stream import PublicStream
from jobledger.service.app import App
from jobledger.service.health import Health
from jobledger.web.reviews import Reviews
from jobledger.web.server import serve
from jobledger.web.streams import Closing
from jobledger.web.switchable import SwitchableApp, waiting, without_front
from jobledger.wiring.bridge_role import Turn
from jobledger.wiring.cluster import ProcessPlan, leasing, opened
from jobledger.wiring.controller import Controller
from jobledger.wiring.roles import Role
from statemachine.backoff import backoff
from statemachine.engine.tasks import attempt
from statemachine.errors import JobledgerError, LogUnavailable, first

if TYPE_CHECKING:
    from k8s_bridge.apiserver.api import Api
    from k8s_bridge.apiserver.lease import Lease

log = logging.getLogger(__name__)

_LOOK: Final = 0.5
"""Seconds between looks whether somebody else works."""

_LONGEST_LOOK: Final = 8.0
"""Seconds between looks whether a log that was out of reach is there, when it has been away for long."""

_FINISH: Final = 3.0
"""Seconds that work in hand has when the process is asked to end, out of the ten that ending may take."""

_PATIENCE: Final = 8.0
"""Seconds after which what still runs then is cancelled again: a library may have lost the first time."""


class ControllerProcess:
    """Does what `plan` says; its front has a console with these options, and the ledger is `named`.

    `topic`: where its public events are, if the front need not make them itself.
    """

    def __init__(
        self,
        plan: ProcessPlan,
        options: ConsoleOptions | None = None,
        named: Named = unnamed,
        topic: PublicStream[Any] | None = None,
    ) -> None:
        self._plan, self._options, self._named, self._topic = plan, options, named, topic
        self._health = Health()
        self._front = SwitchableApp(waiting(self._health))

    async def run(self, sockets: Sequence[socket], asked: Awaitable[object]) -> None:
        """Works, and answers HTTP on `sockets`, until it is `asked` to end; then what is in hand is finished.

        Raises:
            ConfigError: there is no way to the API server.
            StoreInUse, StoreUnusable, LogUnavailable: the log cannot be this process's.
            LeaseLost: another process has taken over.
        """
        stop, others = asyncio.Event(), asyncio.all_tasks()
        reminding: asyncio.Task[None] | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(serve(self._front, sockets, Closing(), stop), name="http")
                work = tasks.create_task(self._work(), name="work")
                await asked
                reminding = asyncio.create_task(_remind(others), name="remind")
                self._front.close()
                stop.set()
                await self._finish()
                work.cancel()
        except BaseExceptionGroup as group:
            raise first(group) from None
        finally:
            if reminding is not None:
                reminding.cancel()

    async def _work(self) -> None:
        """Works from its turn on; only cancelling, or a failure, ends this."""
        async with leasing(self._plan) as lease:
            self._health.lease = lease
            if lease is None:
                await self._control(self._plan)
            elif not self._plan.waits_as_a_whole:
                await self._control(self._plan, lease.held)
            else:
                standby = asyncio.create_task(self._stand_by(lease), name="standby")
                try:
                    async with lease.held():
                        await _ended(standby)
                        await self._control(self._plan)
                finally:
                    await _ended(standby)

    async def _stand_by(self, lease: "Lease") -> None:
        """Callers are answered while another process works."""
        if Role.FRONT not in self._plan.roles:
            return
        while not lease.holder:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(_LOOK)
        try:
            await self._control(replace(self._plan, roles=frozenset({Role.FRONT})))
        except JobledgerError as error:
            log.warning("a standby cannot answer", extra={"action": "standby", "error": str(error)})

    async def _control(self, plan: ProcessPlan, turn: Turn = nullcontext) -> None:
        """The controller of `plan` works, as soon as its log is there; only cancelling, or a failure, ends this."""
        for failures in count(1):
            try:
                await attempt(self._controlled(plan, turn))
            except LogUnavailable as error:
                if isinstance(plan.log, Path):  # nobody but its owner could bring a file back
                    raise
                self._health.waits_for = f"the log cannot be reached: {error}"
                fields = {"action": "log-unavailable", "error": str(error)}
                log.warning("the log cannot be reached, the controller waits", extra=fields)
            await asyncio.sleep(backoff(failures, first=_LOOK, most=_LONGEST_LOOK))

    async def _controlled(self, plan: ProcessPlan, turn: Turn) -> None:
        async with opened(plan, turn) as (controller, api):
            self._health.controller, self._health.waits_for = controller, ""
            try:
                await controller.run(lambda: self._show(plan, controller, api))
            finally:
                self._health.controller = None
                self._front.show(waiting(self._health))

    def _show(self, plan: ProcessPlan, controller: Controller, api: "Api | None") -> None:
        log.info("working", extra={"action": "working", "roles": ",".join(sorted(plan.roles))})
        if Role.FRONT in plan.roles and api is not None:
            closing = Closing()
            app = App(controller, self._health)
            api_app = create(app, closing, Reviews(api), self._options, self._named, topic=self._topic)
            self._front.show(api_app, closing)
        else:
            self._front.show(without_front(self._health))

    async def _finish(self) -> None:
        """What is in hand is done, as far as that takes no longer than a moment."""
        if self._health.controller is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FINISH):
                    await self._health.controller.stop()


async def _ended(task: "asyncio.Task[None]") -> None:
    """Nothing of the task runs any more."""
    task.cancel()
    await asyncio.wait([task])


async def _remind(others: AbstractSet[asyncio.Task[Any]]) -> None:
    """What runs for too long is named and cancelled, again and again; `others` are none of this process's work."""
    while True:
        await asyncio.sleep(_PATIENCE)
        late = {task for task in asyncio.all_tasks() - others if task is not asyncio.current_task()}
        names = sorted(task.get_name() for task in late)
        log.warning(
            "ending takes long, what still runs is cancelled again", extra={"action": "end", "tasks": names}
        )
        for task in late:
            task.cancel()
