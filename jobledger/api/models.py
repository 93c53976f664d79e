"""What `/v1` answers, as JSON schemas: `/v1/openapi.json` is made from these, and tests hold every answer to them.

Routes return plain data, which nobody copies into models on its way out. Manifests, specs and statuses are those of
the kinds, which `jobledger crds` describes.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from jobledger.lives.answer import LifeAnswer
from projectors.explain import Explanation

__all__ = ["Explanation", "LifeAnswer", "answers"]

Object = dict[str, Any]


def answers(model: Any, status: int = 200) -> dict[str, Any]:
    """Arguments of a route: it answers `model`, which describes the answer and does not make it."""
    return {"response_model": None, "status_code": status, "responses": {status: {"model": model}}}


def text(*media_types: str) -> dict[str, Any]:
    """Arguments of a route that answers a text of one of these media types."""
    content = {type_: {"schema": {"type": "string"}} for type_ in media_types}
    return {"response_model": None, "responses": {200: {"content": content}}}


class Model(BaseModel):
    """Fields are camelCase in JSON, as in Kubernetes."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True)


class Discovery(Model):
    """Where the description of the API is."""

    openapi: str


class Violation(Model):
    """A rule that a manifest breaks: its id, the path of the field, a sentence; of several manifests whose it is."""

    rule: str
    path: str
    text: str
    kind: str = ""
    name: str = ""


class ProblemView(Model):
    """An error (RFC 9457), with a `code` for programs; of a cursor that is too old the `earliest` that is not."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    problems: list[Violation] = []
    earliest: str = ""


class JobView(Model):
    """A job object as Kubernetes shows it, with the status that the log says."""

    api_version: str
    kind: str
    metadata: Object
    spec: Object = {}
    status: Object = {}


class JobsView(Model):
    """Job objects, or all objects that were created."""

    api_version: Literal["v1"]
    kind: Literal["List"]
    items: list[JobView]


class Event(Model):
    """A Kubernetes Event."""

    name: str
    at: datetime
    type: str
    reason: str
    message: str


class Events(Model):
    """Kubernetes Events, oldest first."""

    items: list[Event]


class HistoryView(Model):
    """The job's entries as they are written in the log, oldest first; the cause has a spec that it shares, too."""

    items: list[Object]


class EntryView(Model):
    """An entry in words: what was observed, who did it and how that is known, what was decided, phases around it."""

    seq: int
    at: datetime
    delay: float | None
    cause: str
    actor: str
    actor_source: str
    who: str = ""
    events: list[str]
    types: list[str]
    before: str | None
    after: str


class Entries(Model):
    """A page of the job's entries, oldest first; `doubt` says why they cannot be read to their end."""

    items: list[EntryView]
    total: int
    page: int
    size: int
    doubt: str


class Sum(Model):
    """What all replicas together request of a resource, and may use."""

    request: float | None
    limit: float | None


class RestartsView(Model):
    """Restarts that were granted, and how many may be."""

    count: int
    limit: int | None


class Command(Model):
    """What a container starts."""

    container: str
    command: str


class Commands(Model):
    """The launch command, and those of the containers of each replica."""

    launch: str
    replicas: dict[str, list[Command]]


class Summary(Model):
    """A job as its page shows it: `spec` in its canonical form, sums, restarts, the actions that it has now."""

    api_version: str = ""
    namespace: str
    kind: str
    name: str
    uid: str
    phase: str
    gone: bool
    metadata: Object
    spec: Object
    status: Object
    sums: dict[str, Sum]
    restarts: RestartsView
    commands: Commands
    actions: list[str]


class RowView(Model):
    """A job as the list shows it. `cpu` and `memory` are requests and limits, `conditions` their fields in a row."""

    uid: str
    namespace: str
    api_version: str
    kind: str
    name: str
    phase: str
    is_error: bool
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    scheduler: str
    queue: str
    deleting: bool
    restarts: int
    backoff_limit: int | None
    cpu: list[float | None]
    memory: list[float | None]
    extended: dict[str, float | None]
    priority: int
    paused: bool
    elastic: list[int | None] | None
    error: str
    labels: dict[str, str]
    counts: dict[str, dict[str, int]]
    conditions: list[list[str | None]]


class Rows(Model):
    """A page of the list."""

    items: list[RowView]
    total: int
    page: int
    size: int


class ContainerSpec(Model):
    """A container as its pod's manifest has it; `cpu` and `memory` are request and limit."""

    name: str
    image: str
    command: str
    cpu: list[str]
    memory: list[str]
    others: list[str]


class ReplicaView(Model):
    """A replica with its pod of now; `seen` is what containers were doing last."""

    name: str
    type: str
    pod: str
    uid: str
    phase: str
    attempt: int
    restarts: int
    ready: bool
    node: str
    error: str
    labels: list[str]
    seen: list[Object]
    containers: list[ContainerSpec]
    primary: bool


class Replicas(Model):
    """All replicas of a job."""

    items: list[ReplicaView]


class LineView(Model):
    """A line of a panel: points are seconds since 1970, and the value."""

    name: str
    metric: str
    points: list[list[float]]


class PanelView(Model):
    """What is measured over time beside request and limit; `error` says what kept it from its lines."""

    name: str
    unit: str
    request: float | None
    limit: float | None
    start: int
    end: int
    step: int
    lines: list[LineView]
    lines_in_all: int
    error: str


class Metrics(Model):
    """What the pods use over time; without a `source`, requests and limits alone."""

    source: bool
    range: str
    by: str
    sums: dict[str, Sum]
    panels: list[PanelView]


class FindingView(Model):
    """What is wrong with a field."""

    path: str
    text: str
    rule: str


class Warned(Model):
    """What is worth knowing and keeps nobody from creating the job."""

    reason: str
    text: str


class Validated(Model):
    """What all rules say of a manifest, and its canonical form; None for what describes no job."""

    manifest: Object | None
    errors: list[FindingView]
    warnings: list[Warned]


class Claim(Model):
    """A volume claim."""

    name: str
    phase: str
    size: str
    access_modes: list[str]


class Claims(Model):
    """The volume claims of the namespace."""

    items: list[Claim]


class QueueView(Model):
    """A queue of the T9k scheduler."""

    name: str


class Queues(Model):
    """The queues of the namespace; none where the scheduler is not installed, or not used."""

    items: list[QueueView]


class FreshnessView(Model):
    """How far the read model is behind the log."""

    status: Literal["ok", "behind"]
    seconds_behind: float
