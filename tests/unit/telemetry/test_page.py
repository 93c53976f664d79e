"""The page that Prometheus reads: what is on it, what never is, and that a restart changes no count."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import httpx
import pytest
from prometheus_client.openmetrics import parser as openmetrics

from jobledger.api import create
from jobledger.service.health import Health
from jobledger.telemetry import page as page_module
from jobledger.telemetry.catalog import CATALOG, KAFKA, SINKS
from jobledger.telemetry.measured import OverApi
from jobledger.telemetry.page import MetricsPage
from jobledger.web.switchable import waiting
from jobledger.wiring.roles import Role
from k8s_bridge.admission import admit
from k8s_bridge.port import JobEvent
from projectors.contract.catalogue import CATALOGUE as PUBLIC
from statemachine.engine.source import Listener, Pulse, WorkerReport
from statemachine.errors import ClusterUnavailable, LogUnavailable
from statemachine.events import CauseClass
from statemachine.ids import JobUid, Position
from statemachine.kinds import KNOWN
from statemachine.log.inbox import MemoryInbox
from statemachine.log.port import DeadLetter, Record
from statemachine.phases import Phase
from statemachine.state import ReplicaPhase
from tests.support.logs import START, admitted, chain
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.unit.api.words import job, phase, until, written
from tests.unit.telemetry.words import controlling, deleted, read, samples, value

KIND: Final = "PyTorchTrainingJob"

ALLOWED: Final[dict[str, set[str] | None]] = {
    "kind": set(KNOWN),
    "phase": {*Phase, *ReplicaPhase},
    "from": set(Phase),
    "to": set(Phase),
    "result": {"Succeeded", "Failed"},
    "cause": {"", *CauseClass},
    "why": {"policy", "budget"},
    "child": {"Pod", "Service", "PodGroup", "TensorBoard", "ConfigMap", "Secret"},
    "retryable": {"true", "false"},
    "type": {
        "JobObserved",
        "JobGone",
        "PodObserved",
        "PodGone",
        "PodUnreadable",
        "TimerFired",
        "WriteRefused",
        "ChildObserved",
        *(public_type.name for public_type in PUBLIC),
    },
    "outcome": {"entry", "nothing", "delivered", "refused", "away", "gone"},
    "sink": None,  # the names in the operator's file of sinks
    "name": {"children", "status", "expiry"},
    "projector": {"kube-events", "history"},
    "loop": {
        "engine",
        "follower",
        "outbox",
        "inbox",
        "bridge",
        "children",
        "expiry",
        "status",
        "kube-events",
        "history",
    },
    "method": {"GET", "POST", "PUT", "PATCH", "DELETE", "WATCH"},
    "resource": {*KNOWN, "Pod", "Service", "PodGroup", "TensorBoard", "all"},
    "partition": None,  # numbers
    "error": {"OwnerLost", "LogUnavailable", "Hole"},  # after which a worker begins anew
    "code": None,  # what servers answer: three digits, or `none`
    "version": None,  # ours, one at a time
    "python": None,
    "le": None,  # bounds of buckets
}
"""Every label that there may be, with the values that it may have."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "_PATIENCE", 60.0)


async def lived(app: Any, name: str = "train") -> None:
    """A job of two replicas has run to its end."""
    await app.submit(written(job(name, replicas=2, run_seconds="0.05")), "alice")
    await phase(app, name, "Succeeded")


# ---- what is on it ----


async def test_it_says_what_the_catalog_says_and_nothing_else() -> None:
    async with controlling() as app:
        await lived(app)
        metrics = [
            metric
            for metric in await read(MetricsPage(app.controller))
            if not metric.name.startswith("process_")
        ]
    for family in metrics:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        about = CATALOG[name]
        assert (family.type, family.documentation) == (about.type, about.meaning)
        for sample in family.samples:
            assert {*sample.labels} - {"le"} == {*about.labels}, sample
            assert sample.name in about.series


async def test_metrics_that_need_no_api_server_are_all_there() -> None:
    async with controlling() as app:
        await lived(app)
        names = {name for name, _ in await samples(MetricsPage(app.controller))}
    absent = [
        about.name
        for about in CATALOG.values()
        if not names & set(about.series)
        and about.group not in (KAFKA, SINKS)
        # nothing was denied or refused, a cluster in memory is no API server, and there is no other clock here
        and about.name.removeprefix("jobledger_")
        not in (
            "restarts_denied_total",
            "children_refused_total",
            "api_requests_total",
            "watch_silence_seconds",
            "watch_lists_total",
            "clock_ahead_seconds",
        )
    ]
    assert absent == []


async def test_no_label_says_what_users_choose() -> None:
    assert {label for about in CATALOG.values() for label in about.labels} <= set(ALLOWED)
    async with controlling() as app:
        await lived(app, "a-job-of-mine")
        page = MetricsPage(app.controller)
        text, _ = await page.text("")
        for _, labels in await samples(page):
            for label, said in labels:
                allowed = ALLOWED[label]
                assert allowed is None or said in allowed, (label, said)
        uids = app.controller.reader.jobs
    for word in ("a-job-of-mine", "default", "alice", *uids):
        assert word.encode() not in text


async def test_jobs_and_pods_are_counted_by_phase_as_they_are_now() -> None:
    async with controlling() as app:
        page = MetricsPage(app.controller)
        await app.submit(written(job("runs", replicas=2)), "alice")
        await lived(app, "over")
        await phase(app, "runs", "Running")

        async def the_other_replica_has_ended_too() -> bool:  # the first one's end is the job's
            return value(await samples(page), "replicas", kind=KIND, phase="Running") == 2

        await until(the_other_replica_has_ended_too)
        values = await samples(page)
        assert value(values, "jobs", kind=KIND, phase="Running") == 1
        assert value(values, "jobs", kind=KIND, phase="Succeeded") == 1
        for name in ("runs", "over"):
            await deleted(app, name)
        values = await samples(page)
    assert sum(count for (name, _), count in values.items() if name == "jobledger_jobs") == 0
    assert sum(count for (name, _), count in values.items() if name == "jobledger_replicas") == 0
    assert value(values, "jobs_deleted_total", kind=KIND) == 2


async def test_a_job_that_is_deleted_is_none_though_its_pods_are_still_ending() -> None:
    lingering = job("lingers")
    template = lingering["spec"]["replicaSpecs"][0]["template"]
    template["metadata"]["annotations"] = {"sim.jobledger.dev/stop-seconds": "60"}
    async with controlling() as app:
        await app.submit(written(lingering), "alice")
        await phase(app, "lingers", "Running")
        await deleted(app, "lingers", closed=False)
        values = await samples(MetricsPage(app.controller))
    assert value(values, "jobs", kind=KIND, phase="Running") == 0
    assert value(values, "replicas", kind=KIND, phase="Running") == 1


async def test_observations_are_counted_by_what_came_of_them() -> None:
    async with controlling() as app:
        await lived(app)
        page = MetricsPage(app.controller)

        async def every_entry_had_an_observation() -> bool:
            values = await samples(page)
            entries = [
                count
                for (name, labels), count in values.items()
                if name == "jobledger_observations_total" and ("outcome", "entry") in labels
            ]
            durable = value(values, "entries_total")
            return sum(entries) == durable == value(values, "observation_to_entry_seconds_count")

        await until(every_entry_had_an_observation)


async def test_visits_of_the_work_queues_are_timed() -> None:
    async with controlling() as app:
        await lived(app)
        page, queues = MetricsPage(app.controller), app.controller.queues

        async def every_visit_was_timed() -> bool:
            values = await samples(page)
            return all(
                value(values, "workqueue_visit_seconds_count", name=name) == queues[name].visits > 0
                and value(values, "workqueue_longest_visit_seconds", name=name) == 0
                for name in ("children", "status")
            )

        await until(every_visit_was_timed)


async def test_letters_and_quarantine_are_counted() -> None:
    log = MemoryLog()
    await log.add_dead_letter(DeadLetter(START, JobUid("x"), b"{}", "odd"))
    first, second = chain(admitted(), admitted())
    await log.append([first])
    await log.append([type(second)(second.job, 2, b"no entry")])
    async with controlling(log) as app:
        values = await samples(MetricsPage(app.controller))
    assert value(values, "dead_letters") == 1
    assert value(values, "quarantined_jobs") == 1
    assert value(values, "entries_skipped_total") == 1


# ---- partitions among processes ----


class Deciding:
    """A worker that does nothing and says what it is given."""

    log_error = ""

    def __init__(self, report: WorkerReport) -> None:
        self._report = report
        self.listeners: list[Listener] = []
        self.silent_listeners: list[Any] = []

    async def run(self) -> None:
        await asyncio.Event().wait()

    def pulses(self) -> dict[str, Pulse]:
        return {}

    def report(self) -> WorkerReport:
        return self._report


async def test_a_worker_says_what_waits_in_its_partitions_and_what_has_become_of_its_work() -> None:
    worker = Deciding(
        WorkerReport(
            partitions=6,
            waiting={1: 7, 4: 0},
            counts={"takeovers": 3, "repeats": 9, "letters": 2, "decided": 100},
            endings={"OwnerLost": 1, "LogUnavailable": 0, "Hole": 2},
            taken_over_at=START,
        )
    )
    roles = frozenset({Role.ENGINE})
    async with controlling(roles=roles, outbox=MemoryInbox(), worker=worker) as app:
        values = await samples(MetricsPage(app.controller))
    assert (value(values, "partitions"), value(values, "partitions_owned")) == (6, 2)
    assert value(values, "observations_waiting", partition="1") == 7
    assert value(values, "observations_waiting", partition="4") == 0
    assert value(values, "partition_takeovers_total") == 3
    assert value(values, "last_takeover_timestamp_seconds") == START.timestamp()
    assert value(values, "observations_repeated_total") == 9
    assert value(values, "dead_letters_written_total") == 2
    assert [value(values, "worker_restarts_total", error=ending) for ending in worker.report().endings] == [
        1,
        0,
        2,
    ]


async def test_a_worker_that_was_never_well_has_taken_over_nothing_at_no_time() -> None:
    roles = frozenset({Role.ENGINE})
    async with controlling(roles=roles, outbox=MemoryInbox(), worker=Deciding(WorkerReport())) as app:
        values = await samples(MetricsPage(app.controller))
    assert value(values, "partitions_owned") == 0
    assert value(values, "last_takeover_timestamp_seconds") is None


async def test_who_decides_nothing_says_that_it_owns_no_partition_and_what_it_has_not_read() -> None:
    """Else nothing would be missing when all who decide are gone."""
    async with controlling(roles=frozenset({Role.BRIDGE}), outbox=MemoryInbox()) as app:
        values = await samples(MetricsPage(app.controller))
    assert (value(values, "partitions"), value(values, "partitions_owned")) == (1, 0)
    assert value(values, "entries_unread", partition="0") == 0
    assert not {name for name, _ in values if name == "jobledger_observations_waiting"}


async def test_a_log_in_a_file_has_no_partitions_to_speak_of() -> None:
    async with controlling() as app:
        names = {name for name, _ in await samples(MetricsPage(app.controller))}
    assert not names & {
        series for family in CATALOG.values() if family.group == KAFKA for series in family.series
    }


# ---- counts and restarts ----


def counts(values: dict[Any, float]) -> dict[Any, float]:
    """What comes from the log: the counters and histograms about jobs."""
    from_log = [about.series for about in CATALOG.values() if about.group == "Jobs" and about.type != "gauge"]
    wanted = {name for series in from_log for name in series}
    return {sample: count for sample, count in values.items() if sample[0] in wanted}


async def test_a_restart_changes_no_count() -> None:
    log, cluster = MemoryLog(), MemoryCluster(admit=admit)
    async with controlling(log, cluster) as app:
        await lived(app, "one")
        await lived(app, "two")
        before = counts(await samples(MetricsPage(app.controller)))
    async with controlling(log, cluster) as app:
        page = MetricsPage(app.controller)
        assert counts(await samples(page)) == before
        assert value(before, "jobs_finished_total", kind=KIND, result="Succeeded", cause="") == 2
        await lived(app, "three")
        after = counts(await samples(page))
    assert value(after, "jobs_finished_total", kind=KIND, result="Succeeded", cause="") == 3


class Slow(MemoryLog):
    """A log of which a metrics page, and nobody else, gets the first two records, the others once asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.error = False

    async def scan(self, after: Position = 0, **of: Any) -> AsyncIterator[Sequence[Record]]:
        task = asyncio.current_task()
        if task is None or task.get_name() != "metrics":
            async for batch in super().scan(after, **of):
                yield batch
            return
        if self.error:
            raise LogUnavailable("gone for now")
        async for batch in super().scan(after, **of):
            yield batch[:2]
            await self.go_on.wait()
            yield batch[2:]


async def test_half_counted_logs_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count that grows from part of the truth to all of it looks like so many new failures."""
    log = Slow()
    await log.append(chain(admitted(), *([event] for event in admitted()[1:] * 3)))
    async with controlling(log) as app:
        page = MetricsPage(app.controller)
        monkeypatch.setattr(page_module, "_PATIENCE", 0.01)
        early = await samples(page)
        assert counts(early) == {}
        assert value(early, "uncounted_entries") == app.controller.reader.position - 2
        log.go_on.set()
        monkeypatch.setattr(page_module, "_PATIENCE", 60.0)
        late = await samples(page)
        assert value(late, "entries_total") == app.controller.reader.position >= 4
    assert value(late, "uncounted_entries") == 0


async def test_while_the_log_cannot_be_read_the_last_counts_stand() -> None:
    log = Slow()
    log.go_on.set()
    async with controlling(log) as app:
        page = MetricsPage(app.controller)
        await lived(app)
        before = counts(await samples(page))
        log.error = True
        assert counts(await samples(page)) == before


async def test_two_scrapes_at_a_time_count_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Slow()
    await log.append(chain(admitted(), *([event] for event in admitted()[1:] * 3)))
    async with controlling(log) as app:
        page = MetricsPage(app.controller)
        monkeypatch.setattr(page_module, "_PATIENCE", 0.01)
        await asyncio.gather(page.text(""), page.text(""))
        log.go_on.set()
        monkeypatch.setattr(page_module, "_PATIENCE", 60.0)
        values = await samples(page)
        assert value(values, "entries_total") == app.controller.reader.position
        assert value(values, "entries_skipped_total") == 0


async def test_projectors_that_have_read_everything_are_not_behind() -> None:
    async with controlling() as app:
        await lived(app)
        page = MetricsPage(app.controller)

        async def caught_up() -> bool:
            return value(await samples(page), "projector_lag_entries", projector="kube-events") == 0

        await until(caught_up)
        assert app.controller.reader.position > 5


class Deaf(MemoryCluster):
    """Takes no Events."""

    async def emit(self, event: JobEvent) -> None:
        raise ClusterUnavailable("not now")


async def test_a_projector_that_cannot_go_on_is_behind() -> None:
    async with controlling(cluster=Deaf(admit=admit)) as app:
        await lived(app)
        page = MetricsPage(app.controller)

        async def tried() -> bool:
            return value(await samples(page), "loop_busy", loop="kube-events") == 1

        await until(tried)
        lag = value(await samples(page), "projector_lag_entries", projector="kube-events")
        assert lag == app.controller.reader.position


# ---- roles ----


async def test_a_process_that_does_not_decide_says_nothing_of_jobs() -> None:
    async with controlling(roles=frozenset({Role.FRONT})) as app:
        values = await samples(MetricsPage(app.controller))
    names = {name for name, _ in values}
    assert not any(name.startswith(("jobledger_jobs", "jobledger_entries")) for name in names)
    assert value(values, "leader") is None
    assert "jobledger_build_info" in names


async def test_a_process_that_waits_for_its_turn_says_so() -> None:
    values = await samples(MetricsPage(None))
    assert value(values, "leader") == 0
    assert {name for name, _ in values if name.startswith("jobledger_")} == {
        "jobledger_build_info",
        "jobledger_leader",
    }


# ---- an API server ----


class Watch:
    """The watch of one collection, heard of `ago` seconds ago."""

    def __init__(self, kind: str, *, synced: bool = True, absent: bool = False, ago: float = 0.0) -> None:
        self.kind, self.synced, self.absent = kind, synced, absent
        self.heard = asyncio.get_running_loop().time() - ago
        self.lists, self.watches = 2, 4


class Server(MemoryCluster):
    """A cluster in memory with what one behind an API server tells about itself."""

    def __init__(self) -> None:
        super().__init__(admit=admit)
        self.api = self
        self.sent = Counter({("GET", "200"): 7, ("WATCH", "none"): 1})
        self.watches: list[Watch] = []


async def test_requests_and_watches_are_those_of_the_api_server() -> None:
    cluster = Server()
    cluster.watches = [
        Watch("Pod", ago=30),
        Watch("Pod", ago=90, synced=False),  # another namespace
        Watch(KIND),
        Watch("PodGroup", absent=True),
    ]
    async with controlling(cluster=cluster) as app:
        values = await samples(MetricsPage(app.controller))
    assert value(values, "api_requests_total", method="GET", code="200") == 7
    assert value(values, "api_requests_total", method="WATCH", code="none") == 1
    assert value(values, "watch_synced", resource="Pod") == 0
    assert value(values, "watch_synced", resource=KIND) == 1
    assert value(values, "watch_synced", resource="PodGroup") is None
    assert value(values, "watch_silence_seconds", resource="Pod") == pytest.approx(90, abs=5)
    assert value(values, "watch_restarts_total", resource="Pod") == 6
    assert value(values, "watch_lists_total", resource="Pod") == 4


async def test_orphans_are_those_that_the_sweeper_counted() -> None:
    cluster = MemoryCluster(admit=admit)
    orphan = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}
    meta = {"name": "left", "namespace": "default", "finalizers": ["jobledger.dev/evidence"]}
    await cluster.create({**orphan, "metadata": meta})
    async with controlling(cluster=cluster) as app:
        assert app.controller.projectors is not None
        page, sweeper = MetricsPage(app.controller), app.controller.projectors.sweeper
        await sweeper.sweep()
        values = await samples(page)
        assert value(values, "evidence_orphans") == 1
        assert value(values, "evidence_orphans_released_total") == 0
        await sweeper.sweep()
        await sweeper.sweep()
        values = await samples(page)
    assert value(values, "evidence_orphans") == 0
    assert value(values, "evidence_orphans_released_total") == 1


async def test_the_cluster_of_an_api_server_tells_what_is_asked_of_it() -> None:
    from k8s_bridge.apiserver.access import Access, ApiServerChoice
    from k8s_bridge.apiserver.api import Api
    from k8s_bridge.apiserver.cluster import ApiServerCluster
    from k8s_bridge.kubeconfig.files import Context

    nowhere = Access(ApiServerChoice(), Context("it", {"server": "https://localhost:1"}, {}))
    async with Api(nowhere) as api:
        cluster: OverApi = ApiServerCluster(api)  # the type checker compares the two
        assert isinstance(cluster, OverApi)
        assert (list(cluster.watches), cluster.api.sent) == ([], Counter())


# ---- over HTTP ----


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with controlling() as app:
        transport = httpx.ASGITransport(create(app))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


async def test_it_is_served_as_prometheus_asks_for_it(http: httpx.AsyncClient) -> None:
    plain = await http.get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain; version=")
    assert "jobledger_build_info" in plain.text
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    modern = await http.get("/metrics", headers={"Accept": accept})
    assert modern.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    families = openmetrics.text_string_to_metric_families(modern.text)  # type: ignore[no-untyped-call]
    assert "jobledger_build_info" in [sample.name for family in families for sample in family.samples]


@pytest.mark.parametrize("accept", ["", "no/such", "application/openmetrics-text; version=abc", ";;,q=\x7f"])
async def test_whatever_the_accept_header_says_there_is_an_answer(
    http: httpx.AsyncClient, accept: str
) -> None:
    answer = await http.get("/metrics", headers={"Accept": accept})
    assert answer.status_code == 200
    assert "jobledger_log_writable 1.0" in answer.text


async def test_it_is_served_before_there_is_anything_to_control() -> None:
    transport = httpx.ASGITransport(waiting(Health()))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert "jobledger_leader 0.0" in answer.text


async def test_many_scrapes_at_a_time_count_everything_once(http: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(http.get("/metrics") for _ in range(8)))
    entries = {
        line
        for answer in answers
        for line in answer.text.splitlines()
        if line.startswith("jobledger_entries_total")
    }
    assert len(entries) == 1
