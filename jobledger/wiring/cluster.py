"""The controller of a Kubernetes cluster: which parts a process of `jobledger controller` is made of."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobledger.settings.model import Settings
from jobledger.settings.sections import PrivacySettings
from jobledger.telemetry.instruments import Instruments
from jobledger.telemetry.tracing import measuring
from jobledger.wiring.bridge_role import Turn
from jobledger.wiring.controller import Controller
from jobledger.wiring.history import Where, history_of
from jobledger.wiring.ledger import Kafka, Ledger, ledger_of
from jobledger.wiring.options import ControllerOptions
from jobledger.wiring.roles import Role, Roles, roles_of
from jobledger.wiring.sinks import Sinks, checked, sinks_of
from projectors.asking import ask
from statemachine.errors import ConfigError
from statemachine.ids import is_dns_label

if TYPE_CHECKING:
    from k8s_bridge.apiserver.access import ApiServerChoice
    from k8s_bridge.apiserver.api import Api
    from k8s_bridge.apiserver.lease import Lease
    from k8s_bridge.attended import Attended, OptIn
    from k8s_bridge.env_values import EnvValues
    from k8s_bridge.port import Cluster


@dataclass(frozen=True)
class ProcessPlan:
    """What a process is to be, worked out of the settings before anything is opened."""

    kubeconfig: Path | None
    context: str
    log: Path | Kafka
    namespaces: tuple[str, ...]
    roles: Roles
    evidence: bool
    leader_elect: bool
    lease_namespace: str
    history: Where | None = None
    opted_in: "Mapping[str, OptIn]" = field(default_factory=dict)
    kept: "Mapping[str, str]" = field(default_factory=dict)
    silence: float = 100.0
    key_file: Path | None = None
    kueue: bool = False
    privacy: PrivacySettings = field(default_factory=PrivacySettings)
    published: Settings | None = None
    """The settings that say where public events go; None: nowhere."""

    @classmethod
    def of(cls, settings: Settings, *, in_pod: bool) -> "ProcessPlan":
        """What the settings say. Raises ConfigError."""
        said = settings.controller
        own_pod = in_pod and not said.kubeconfig and not said.context
        return cls(
            Path(said.kubeconfig).expanduser() if said.kubeconfig else None,
            said.context,
            log_of(said.log, settings) if said.log else settings.store,
            namespaces_of(said.namespaces),
            roles_of(said.roles),
            settings.evidence,
            own_pod if said.leader_elect is None else said.leader_elect,
            said.lease_namespace,
            history_of(settings),
            opted_in_of(settings),
            {**settings.restart.of_jobs(), **settings.cluster.of_jobs()},
            said.silence.total_seconds(),
            settings.snapshot_key_file,
            settings.kueue.enabled,
            settings.privacy,
            settings,
        )

    @property
    def attended(self) -> "Attended":
        """Which jobs are managed."""
        from k8s_bridge.attended import Attended

        return Attended(self.namespaces, self.opted_in, self.kept, self.kueue)

    def wanted(self) -> "ApiServerChoice":
        """The API server to talk to."""
        from k8s_bridge.apiserver.access import ApiServerChoice

        return ApiServerChoice(self.kubeconfig, self.context)

    def env_values(self) -> "EnvValues":
        """What keeps values of variables out of the log, or puts them into pods. Raises ConfigError."""
        from k8s_bridge.env_values import EnvValues

        if not self.roles & {Role.BRIDGE, Role.PROJECTORS}:
            return EnvValues()
        return self.privacy.values_beside(self.log if isinstance(self.log, Path) else None)

    @property
    def needs_api(self) -> bool:
        """Some role talks to the API server."""
        return self.roles != {Role.ENGINE}

    @property
    def waits_as_a_whole(self) -> bool:
        """An engine or projectors beside the bridge wait for its turn, too; a front does not."""
        return bool(self.roles - {Role.BRIDGE, Role.FRONT})


class Opened(NamedTuple):
    """A controller that is not started, and its session with the API server; an engine alone has none."""

    controller: Controller
    api: "Api | None"


async def check(plan: ProcessPlan) -> None:
    """There is a way to the API server, whether or not it answers, and all keys and sinks. Raises ConfigError."""
    from k8s_bridge.apiserver.access import Access

    plan.env_values()
    if plan.published is not None and Role.PROJECTORS in plan.roles:
        await checked(plan.published, plan.log)
    if plan.needs_api:
        (await Access.load(plan.wanted())).tls()


@asynccontextmanager
async def leasing(plan: ProcessPlan) -> AsyncIterator["Lease | None"]:
    """The lease that the plan needs, not acquired; None if it needs none. Raises ConfigError."""
    if not plan.leader_elect or Role.BRIDGE not in plan.roles:
        yield None
        return
    from k8s_bridge.apiserver.api import Api
    from k8s_bridge.apiserver.lease import Lease

    # a session of its own: a renewal must not queue behind the requests of the projectors
    async with await Api.connect(plan.wanted()) as api:
        yield Lease(api, plan.lease_namespace or api.namespace)


@asynccontextmanager
async def opened(plan: ProcessPlan, turn: Turn = nullcontext) -> AsyncIterator[Opened]:
    """The parts that the plan names, opened; then all is closed. `turn`: when the bridge may watch.

    Raises:
        ConfigError: there is no way to the API server or to the history's database, or traces are asked for that
            cannot be had.
        StoreInUse, StoreUnusable, LogUnavailable: the log cannot be this process's.
    """
    from k8s_bridge.apiserver.api import Api

    async with AsyncExitStack() as stack:
        instruments = await stack.enter_async_context(measuring(os.environ))
        api = await stack.enter_async_context(await Api.connect(plan.wanted())) if plan.needs_api else None
        ledger = await stack.enter_async_context(
            ledger_of(plan.log, plan.roles, plan.history, instruments.trace, key_file=plan.key_file)
        )
        sinks = None
        if plan.published is not None and Role.PROJECTORS in plan.roles:
            sinks = await stack.enter_async_context(sinks_of(plan.published, plan.log, ledger))
        yield Opened(_controller(plan, ledger, api, turn, instruments, sinks=sinks), api)


def _controller(
    plan: ProcessPlan,
    ledger: Ledger,
    api: "Api | None",
    turn: Turn,
    instruments: Instruments,
    *,
    sinks: Sinks | None,
) -> Controller:
    from k8s_bridge.apiserver.actor_guard import ActorGuard
    from statemachine.engine.clock import WallClock
    from statemachine.engine.skew import ClockCheck

    clock = WallClock()
    if api is not None and ledger.worker is None and plan.roles >= {Role.BRIDGE, Role.ENGINE}:
        # its bridge asks the API server again and again (`guard`), so there is something to compare with
        api.check = ClockCheck(clock)
        ledger = replace(ledger, check=api.check)
    return Controller(
        ledger,
        _cluster(plan, api),
        clock,
        ControllerOptions(
            roles=plan.roles,
            attended=plan.attended,
            evidence=plan.evidence,
            env_values=plan.env_values(),
            silence=plan.silence,
            ask=ask,
        ),
        instruments=instruments,
        turn=turn,
        guard=ActorGuard(api, plan.attended) if api is not None and Role.BRIDGE in plan.roles else None,
        answered=(lambda: 0) if api is None else api.sent.total,
        sinks=sinks,
    )


def _cluster(plan: ProcessPlan, api: "Api | None") -> "Cluster":
    from k8s_bridge.apiserver.cluster import ApiServerCluster
    from k8s_bridge.apiserver.reflector import WatchPatience
    from k8s_bridge.nowhere import NoCluster

    if api is None:
        return NoCluster()
    return ApiServerCluster(api, attended=plan.attended, patience=WatchPatience(silence=plan.silence))


def log_of(url: str, settings: Settings) -> Path | Kafka:
    """Where a log is: a file, or topics in Kafka. Raises ConfigError for what is no such URL."""
    if not url.startswith("kafka:"):
        return store_of(url)
    return Kafka.of(url, settings.kafka)


def store_of(url: str) -> Path:
    """The file of a log's URL. Raises ConfigError for what is no `sqlite:` URL."""
    scheme, _, rest = url.partition(":")
    path = f"/{rest.lstrip('/')}" if rest.startswith("///") else rest  # four slashes are usual elsewhere
    if scheme != "sqlite" or not path or path.startswith("//"):
        raise ConfigError(f'--log needs a URL such as sqlite:///var/lib/jobledger/ledger.db, not "{url}"')
    return Path(path).expanduser().absolute()


def opted_in_of(settings: Settings) -> "Mapping[str, OptIn]":
    """The opt-in kinds that are switched on. Raises ConfigError."""
    from k8s_bridge.attended import OptIn
    from statemachine.kinds import OPT_IN

    ours = namespaces_of(settings.controller.namespaces)
    opt_ins = {}
    for kind, _ in OPT_IN:
        said, flag = settings.of(kind), f"--{kind.names.plural}"
        text = said.namespaces.strip()
        names = () if text == "*" else namespaces_of(text, flag)
        if ours and (elsewhere := [namespace for namespace in names if namespace not in ours]):
            raise ConfigError(f'{flag}: "{elsewhere[0]}" is not among the namespaces of --namespaces')
        if text:
            opt_ins[kind.names.kind] = OptIn(names, said.of_jobs())
    return opt_ins


def namespaces_of(text: str, flag: str = "--namespaces") -> tuple[str, ...]:
    """The namespaces in `a,b`; none for an empty text, which means all. Raises ConfigError."""
    names = tuple(dict.fromkeys(namespace.strip() for namespace in text.split(",") if namespace.strip()))
    for name in names:
        if not is_dns_label(name):
            raise ConfigError(f'{flag}: "{name}" cannot be the name of a namespace')
    return names
