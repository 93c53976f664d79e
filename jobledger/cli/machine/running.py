"""One `jobledger run`: submit, follow, stop when asked to, say what happened."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from jobledger.cli import common
from jobledger.cli.machine.follow import JobFollower, story, where_to_look
from jobledger.cli.machine.screen import PlainScreen, Screen, screen
from jobledger.cli.suggestions import repeating
from jobledger.manifests import Manifest
from jobledger.program.errors import NotPossible
from jobledger.program.exit_codes import FAILED, OK
from jobledger.program.signals import EndSignals
from jobledger.service.app import App
from jobledger.settings.loading import Held
from k8s_bridge.port import EndsPods, Ref
from statemachine.errors import ConfigError, Missing
from statemachine.kinds import kind_of
from statemachine.phases import FINAL

_PAUSED: Final = (
    'job "{name}" is paused, and `run` cannot resume it: start `jobledger serve`, then `jobledger submit` and '
    "`jobledger resume`"
)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What the command line asked for; `timeout` in seconds."""

    manifests: Sequence[Manifest]
    timeout: float | None = None
    logs: bool = False
    everything: bool = False


class JobRun:
    """The run of some jobs in a store that this process owns."""

    def __init__(self, app: App, held: Held, wanted: RunOrder, asked: EndSignals) -> None:
        self._app, self._held, self._wanted, self._asked = app, held, wanted, asked
        self._console = Console(highlight=False)
        self.follower = JobFollower(app, [])
        self.screen: Screen = PlainScreen(self._console)
        self._stopped = ""
        self._begun = asyncio.Event()

    async def begun(self) -> JobFollower:
        """The jobs are submitted; who follows them."""
        await self._begun.wait()
        return self.follower

    async def to_its_end(self) -> int:
        """Every job is over; the exit code."""
        self._refuse_paused()
        uids = await self._submit()
        self.follower = JobFollower(self._app, uids, logs=self._wanted.logs)
        self._begun.set()
        everything = self._wanted.everything
        with (
            screen(self._console, self.follower.shown, everything=everything) as self.screen,
            self.follower.on(self.screen),
        ):
            self._stopped = await self._watched()
            if self._stopped:
                await self._stop(self.screen)
            else:
                await self._settle()
            await self.follower.flush()
        return self._code()

    async def give_up(self) -> str:
        """The jobs' processes have ended, without a word in the log: there is no room. The sentence about it."""
        cluster = self._app.cluster
        if isinstance(cluster, EndsPods):
            await cluster.end_pods(self._ours())
        names = ", ".join(manifest.name for manifest in self._wanted.manifests if manifest.is_job)
        return (
            f"no space is left for store {self._held.settings.store}: the processes of {names} were ended, "
            "nothing in the log is lost; free some, then the same command goes on from there"
        )

    def _ours(self) -> set[str]:
        """The uids of the jobs that were asked for and live, as far as they have been looked at."""
        named = {
            (manifest.raw["kind"], manifest.name) for manifest in self._wanted.manifests if manifest.is_job
        }
        living = (state for state in self._app.states() if not state.closed)
        return {state.uid for state in living if (state.object_kind, state.name) in named}

    def summarise(self) -> None:
        """What happened, and where to look next, on standard output."""
        flag = common.store_flag(self._held)
        for state in self.follower.states():
            common.say(repeating("\n".join(story(state, self.follower.shown, self._stopped))))
        states = self.follower.states()
        ours = {state.uid for state in states}
        others = [s.name for s in self._app.states() if s.uid not in ours and not (s.is_final or s.deleted)]
        if others:
            going_on = f"also in this store, and going on: {', '.join(others)}"
            common.say(repeating(f"{going_on} (`jobledger serve` follows them)"))
        if states:
            common.say("\n".join(where_to_look(states[0], self._held.settings.namespace, flag)))

    def _code(self) -> int:
        if self._asked.times:
            return self._asked.exit_code
        good = [state.phase == "Succeeded" for state in self.follower.states()]
        return OK if all(good) and not self._stopped else FAILED

    # ---- beginning -----------------------------------------------------------------------------------------

    def _refuse_paused(self) -> None:
        for manifest in self._wanted.manifests:
            if manifest.is_job:
                plan = (
                    kind_of(manifest.raw["apiVersion"], manifest.kind)
                    .admit(manifest.name, manifest.spec)
                    .plan
                )
                if plan is not None and plan.paused:
                    raise ConfigError(_PAUSED.format(name=manifest.name))

    async def _submit(self) -> list[str]:
        """The uids of the jobs, which exist now; those of an earlier run that are the same are taken over."""
        taken_over: list[str] = []
        rest: list[Manifest] = []
        for manifest in self._wanted.manifests:
            uid = await self._left_over(manifest) if manifest.is_job else ""
            if uid:
                taken_over.append(uid)
            else:
                rest.append(manifest)
        created = await self._app.submit(rest, common.actor("run"))
        return [*taken_over, *(job["metadata"]["uid"] for job in created)]

    async def _left_over(self, manifest: Manifest) -> str:
        """The uid of the same job, still unfinished from an earlier run; one that has ended makes room.

        Raises:
            NotPossible: another job of this name is not over.
        """
        try:
            left_over = await self._app.cluster.get(Ref.of(manifest.raw))
        except Missing:
            return ""
        uid: str = left_over["metadata"]["uid"]
        state = self._app.state(uid)
        phase = state.phase if state else "New"
        if phase in FINAL:
            common.say(f"{manifest.name}: replaces the one that has {str(phase).lower()}; its history stays")
            await self._app.delete(left_over, common.actor("run"))
            return ""
        if state is not None and state.plan is not None and state.plan.paused:
            raise ConfigError(_PAUSED.format(name=manifest.name))
        if left_over.get("spec") != manifest.raw.get("spec"):
            raise NotPossible(
                f'another job "{manifest.name}" is not over in this store ({phase}): `jobledger serve` lets it '
                "go on, and `jobledger delete` ends it"
            )
        common.say(f"{manifest.name}: is here already, left over from an earlier run; following it")
        return uid

    # ---- the end -------------------------------------------------------------------------------------------

    async def _watched(self) -> str:
        """Every job is over; else why they are to be stopped."""
        over = asyncio.create_task(self.follower.until(lambda: self.follower.all_over))
        asked = asyncio.create_task(self._asked.at_least(1))
        await asyncio.wait((over, asked), timeout=self._wanted.timeout, return_when=asyncio.FIRST_COMPLETED)
        done, interrupted = over.done(), asked.done()
        await _cancelled(over, asked)
        if interrupted:
            return "interrupted"
        return "" if done else f"stopped after {common.span(self._wanted.timeout or 0)} (--timeout)"

    async def _settle(self) -> None:
        """Replicas that end by themselves have done so, and their end is in the log."""
        limit = self._held.settings.settle.total_seconds()
        resting = asyncio.create_task(self.follower.until(lambda: self.follower.at_rest))
        asked = asyncio.create_task(self._asked.at_least(1))
        await asyncio.wait((resting, asked), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        await _cancelled(resting, asked)

    async def _stop(self, shown: Screen) -> None:
        """The jobs that are not over are deleted: SIGTERM, and at once if asked again."""
        more = "; Ctrl-C again ends them at once" if self._asked.times else ""
        shown.note(f"{self._stopped}: asking the jobs to stop{more}")
        for state in self.follower.states():
            if not state.is_final and not state.deleted:
                job = await self._app.job(state.namespace, state.name, uid=state.uid)
                await self._app.delete(job, f"{common.actor('run')} ({self._stopped})")
        await self.follower.until(lambda: all(s.deleted or s.is_final for s in self.follower.states()))
        closed = asyncio.create_task(self.follower.until(lambda: self.follower.all_closed))
        again = asyncio.create_task(self._again())
        await asyncio.wait((closed, again), return_when=asyncio.FIRST_COMPLETED)
        await _cancelled(closed, again)

    async def _again(self) -> None:
        """Asked a second time everything is killed; asked a third time nobody waits any more."""
        await self._asked.at_least(2)
        for state in self.follower.states():
            if state.deleted and not state.closed:
                await self._app.hurry(state.uid)
        await self._asked.at_least(3)


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
