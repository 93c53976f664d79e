"""Traces: observation → entry → write, as OpenTelemetry spans. The one module that imports its SDK.

`observe` lasts from noticing something until the engine has it in its queue, `decide` from there until the entry is
durable and folded, `write` is a call to the cluster. They are one trace: within a process, and where the log is in
Kafka also across processes, as records carry the trace context of the observation. Job uid and `seq` are attributes
of all, so that spans can be found together where neither holds.
"""

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from jobledger.telemetry.instruments import Instruments, Sink, Visit
from k8s_bridge.port import Cluster, JobEvent, Manifest, Ref
from statemachine.errors import ClusterError
from statemachine.ids import JobUid, Seq
from statemachine.log.entry import Entry
from statemachine.log.reader import Folded
from statemachine.observations import Observation

JOB: Final = "jobledger.job.uid"
SEQ: Final = "jobledger.entry.seq"
EVENTS: Final = "jobledger.entry.events"
PHASE: Final = "jobledger.job.phase"
KIND: Final = "jobledger.job.kind"
TYPE: Final = "jobledger.observation.type"
VERB: Final = "jobledger.write.verb"
OBJECT: Final = "jobledger.write.object"

_REMEMBERED: Final = 8192
"""Observations whose entry is awaited, at most: twice the engine's queue. One that becomes a dead letter is forgotten
when so many have come after it."""

_CLOSING: Final = 3.0
"""Seconds for handing over the last spans: a shutdown has ten for everything."""

_HEADER: Final = "traceparent"
_W3C: Final = TraceContextTextMapPropagator()

_VISITED: ContextVar[JobUid] = ContextVar("visited", default=JobUid(""))
"""The job that the running task visits."""


@dataclass(slots=True)
class _Observed:
    """An observation on its way to its entry."""

    observation: Observation
    context: Context
    queued_ns: int


@dataclass(frozen=True, slots=True)
class _Decided:
    """The last entry of a job: what writes on it follow from."""

    context: Context
    seq: Seq


def exporting() -> "TracedInstruments":
    """Instruments whose spans go where the `OTEL_*` variables say."""
    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return TracedInstruments(provider)


def _resource() -> Resource:
    """Who we are: what the environment says, else `jobledger`."""
    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        return resource.merge(Resource({SERVICE_NAME: "jobledger"}))
    return resource


class TracedInstruments(Instruments):
    """Makes spans with `provider`, and owns it."""

    def __init__(self, provider: TracerProvider) -> None:
        super().__init__()
        self._provider = provider
        self._tracer = provider.get_tracer("jobledger")
        self._observed: dict[int, _Observed] = {}
        """By identity: comparing observations would compare all that is in them."""
        self._last: dict[JobUid, _Decided] = {}
        self._closed = False

    def sink(self, sink: Sink) -> Sink:
        """`sink`, with a span for each observation."""

        async def traced(observation: Observation) -> None:
            span = self._tracer.start_span(
                "observe",
                start_time=_since(observation.at),
                attributes={JOB: observation.job, TYPE: observation.type},
            )
            observed = _Observed(observation, set_span_in_context(span), time.time_ns())
            self._remember(observed)
            try:
                await sink(observation)
            finally:
                observed.queued_ns = time.time_ns()
                span.end(observed.queued_ns)

        return traced

    def _remember(self, observed: _Observed) -> None:
        self._observed[id(observed.observation)] = observed
        if len(self._observed) > _REMEMBERED:
            del self._observed[next(iter(self._observed))]

    def _recall(self, observation: Observation) -> _Observed | None:
        """What is remembered of `observation`, for the last time; None for one that passed no traced sink."""
        observed = self._observed.pop(id(observation), None)
        return observed if observed is not None and observed.observation is observation else None

    def trace(self, observation: Observation) -> str:
        """The trace context of the `observe` span of `observation`."""
        observed = self._observed.get(id(observation))
        if observed is None or observed.observation is not observation:
            return ""
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, observed.context)
        return carrier.get(_HEADER, "")

    def silent(self, observation: Observation) -> None:
        """An observation changed nothing."""
        super().silent(observation)
        self._recall(observation)

    def entry(self, folded: Folded) -> None:
        """A span for an entry that this process has decided; one of another is what writes here follow from."""
        super().entry(folded)
        entry, record = folded.entry, folded.record
        if not isinstance(entry, Entry):
            last = self._last.get(record.job)
            if record.trace and (last is None or last.seq < record.seq):
                self._decided(folded, _context(record.trace))
            return
        observed = self._recall(entry.cause)
        span = self._tracer.start_span(
            "decide",
            context=observed.context if observed else _context(record.trace),
            start_time=observed.queued_ns if observed else _since(entry.seen_at),
            attributes={
                JOB: entry.job,
                SEQ: entry.seq,
                TYPE: entry.cause.type,
                KIND: folded.state.kind,
                PHASE: folded.state.phase.value,
                EVENTS: [event.type for event in entry.events],
            },
        )
        span.end()
        self._decided(folded, set_span_in_context(span))

    def _decided(self, folded: Folded, context: Context) -> None:
        job = folded.record.job
        if folded.state.closed:
            self._last.pop(job, None)
        else:
            self._last[job] = _Decided(context, folded.record.seq)

    def visit(self, name: str, visit: Visit) -> Visit:
        """`visit`, whose writes know which job they are for."""
        timed = super().visit(name, visit)

        async def traced(job: JobUid) -> float | None:
            token = _VISITED.set(job)
            try:
                return await timed(job)
            finally:
                _VISITED.reset(token)

        return traced

    def cluster(self, cluster: Cluster) -> Cluster:
        """`cluster`, with a span for each write."""
        return TracedCluster(cluster, self)

    @contextmanager
    def writing(self, verb: str, ref: Ref, job: str = "", seq: Seq | None = None) -> Iterator[None]:
        """The block is a write on `ref`, for `job` (default: the one that is visited) as of its entry `seq`."""
        job = job or _VISITED.get()
        last = self._last.get(JobUid(job))
        number = seq if seq is not None else last.seq if last else None
        attributes: dict[str, Any] = {JOB: job, VERB: verb, OBJECT: str(ref)}
        if number is not None:
            attributes[SEQ] = number
        context = last.context if last else Context()
        span = self._tracer.start_span("write", context=context, kind=SpanKind.CLIENT, attributes=attributes)
        try:
            yield
        except ClusterError as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR, str(error)))
            raise
        finally:
            span.end()

    async def close(self) -> None:
        """The spans made so far are handed over, if the collector takes them within seconds."""
        if self._closed:
            return
        self._closed = True
        # a thread that the process does not wait for: an exporter out of reach tries again and again
        thread = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
        thread.start()
        await asyncio.to_thread(thread.join, _CLOSING)


class TracedCluster:
    """A Cluster whose writes are spans; reads go straight to the one within."""

    def __init__(self, cluster: Cluster, spans: TracedInstruments) -> None:
        self._cluster, self._spans = cluster, spans
        self.watch, self.get, self.list, self.children, self.owners = (
            cluster.watch,
            cluster.get,
            cluster.list,
            cluster.children,
            cluster.owners,
        )
        self.look = cluster.look
        self.orphans, self.events, self.logs = cluster.orphans, cluster.events, cluster.logs
        self.events_about, self.close = cluster.events_about, cluster.close

    async def create(self, manifest: Manifest) -> Manifest:
        """See Cluster."""
        with self._spans.writing("create", Ref.of(manifest)):
            return await self._cluster.create(manifest)

    async def patch(self, ref: Ref, merge: Mapping[str, Any], *, uid: str = "") -> Manifest:
        """See Cluster."""
        with self._spans.writing("patch", ref):
            return await self._cluster.patch(ref, merge, uid=uid)

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        """See Cluster."""
        with self._spans.writing("patch_status", ref, uid, seq):
            await self._cluster.patch_status(ref, uid, status, seq)

    async def delete(self, ref: Ref, *, uid: str = "", version: str = "", grace: float | None = None) -> None:
        """See Cluster."""
        with self._spans.writing("delete", ref):
            await self._cluster.delete(ref, uid=uid, version=version, grace=grace)

    async def release(self, ref: Ref, uid: str) -> None:
        """See Cluster."""
        with self._spans.writing("release", ref):
            await self._cluster.release(ref, uid)

    async def emit(self, event: JobEvent) -> None:
        """See Cluster."""
        with self._spans.writing("emit", event.about, event.uid):
            await self._cluster.emit(event)


def _context(trace: str) -> Context:
    """The context that a `traceparent` names; an empty one, so that a trace begins, if it names none."""
    return _W3C.extract({_HEADER: trace}, Context())


def _since(at: datetime) -> int:
    """`at` in nanoseconds since 1970, and not after now: a span does not begin behind its end."""
    return min(int(at.timestamp() * 1e6) * 1000, time.time_ns())
