"""One entry on its way out: what all of its public events share, and how one of them is put together."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

from projectors.contract import scrub
from projectors.contract.catalogue import TYPES, PublicType, Severity
from projectors.contract.fitting import fitted
from projectors.contract.model import parts
from projectors.contract.model.written import encoded, struct_of, written
from projectors.contract.publication import Publication
from statemachine.events import Event
from statemachine.ids import Position, ReplicaName
from statemachine.kinds import kind_of, names_of
from statemachine.log.codec import entry_hash
from statemachine.log.entry import Entry
from statemachine.log.port import Record
from statemachine.observations import Observation
from statemachine.state import JobState

T = TypeVar("T")

MOST_LABELS: Final = 64
SOURCE: Final = "jobledger://"
"""What the attribute `source` begins with; ledger, namespace, kind and uid follow."""

_NOTHING: Final = timedelta()

_JobName = written(parts.JobName)
_Job = written(parts.Job)
_Entry = written(parts.Entry)


class PublicEvent(NamedTuple):
    """An event that leaves: the attributes of its envelope, and its data as JSON.

    `position`: of its entry in the log. `is_scrubbed`: something was taken out of one of its texts as it was made;
    of one that is read from a topic that is not known, and False.
    """

    attributes: Mapping[str, str | int]
    data: bytes
    position: Position
    is_scrubbed: bool = False


def index_of(event: PublicEvent) -> int:
    """The place in its entry of the internal event that the event stands for: the end of its id."""
    return int(str(event.attributes["id"]).rpartition("/")[2])


class Page:
    """An entry, the states before and behind it, and what is configured. `hash`: of the entry, as it is stored."""

    def __init__(
        self, record: Record, entry: Entry, before: JobState, after: JobState, publication: Publication
    ) -> None:
        self.entry, self.before, self.after, self.publication = entry, before, after, publication
        self.hash = entry_hash(record.body)
        self._position = record.position
        self.kind = kind_of(after.api_version, after.kind)
        self.specs = scrub.specs_of(before, after)
        self._times = instant(entry.seen_at), maybe(entry.happened_at)
        self._identity = _identity(after)
        self._job_name = _JobName(**self._identity)
        self._attributes = self._shared(record.trace)
        self._first = ""

    def _shared(self, trace: str) -> dict[str, str | int]:
        """Of the envelope, the attributes that all events of the entry share."""
        state = self.after
        object_kind = state.object_kind or state.kind
        place = f"{state.namespace}/{_served_as(state.api_version, object_kind)}/{state.uid}"
        recorded, happened = self._times
        classification = self.publication.classification
        return {
            "source": f"{SOURCE}{self.publication.ledger}/{place}",
            "time": happened or recorded,
            "datacontenttype": "application/json",
            "partitionkey": state.uid,
            "correlationid": state.uid,
            "recordedtime": recorded,
            **self.publication.author(self.entry),
            **({"traceparent": trace} if trace else {}),
            **({"dataclassification": classification} if classification else {}),
            "apiversion": state.api_version,
            "kind": object_kind,
            "name": state.name,
            "namespace": state.namespace,
        }

    def event(self, index: int, draft: "Draft") -> PublicEvent:
        """The event at place `index` of the entry. Those of an entry are made in their order."""
        public_type, seq = TYPES[draft.type], self.entry.seq
        id_ = f"{self.after.uid}/{seq}/{index}"
        caused = {"causationid": self._first} if self._first else {}
        self._first = self._first or id_
        attributes: dict[str, str | int] = {
            "specversion": "1.0",
            "id": id_,
            "type": public_type.full_name,
            "subject": f"{self.after.name}/{draft.replica}" if draft.replica else self.after.name,
            "dataschema": public_type.schema,
            "sequence": f"{seq:010}.{index:04}",
            **self._attributes,
            **caused,
            "severitynumber": int(draft.severity),
            "severitytext": draft.severity.name,
        }
        data = self._data(index, public_type, draft)  # also its labels are scrubbed
        return PublicEvent(attributes, data, self._position, draft.is_scrubbed)

    def _data(self, index: int, public_type: PublicType, draft: "Draft") -> bytes:
        job = self._job_name if draft.replica else self._labelled(draft)
        fields: dict[str, Any] = {"job": job, "entry": self._entry(index), **draft.fields}
        return fitted(encoded(struct_of(public_type.model)(**fields, truncated=draft.truncated)))

    def _labelled(self, draft: "Draft") -> parts.Job:
        labels = draft.few(sorted(self.publication.published(self.after.labels).items()), MOST_LABELS)
        return _Job(labels={key: draft.text(value) for key, value in labels}, **self._identity)

    def _entry(self, index: int) -> parts.Entry:
        entry, (recorded, happened) = self.entry, self._times
        return _Entry(
            seq=entry.seq,
            index=index,
            hash=self.hash,
            policy=entry.policy,
            cause=cause_name(entry.cause),
            seen_at=recorded,
            happened_at=happened,
        )


def _identity(state: JobState) -> dict[str, Any]:
    return {
        "api_version": state.api_version,
        "kind": state.kind,
        "object_kind": state.object_kind or state.kind,
        "namespace": state.namespace,
        "name": state.name,
        "uid": state.uid,
        "generation": state.generation,
    }


@lru_cache
def _served_as(api_version: str, kind: str) -> str:
    names = names_of(api_version, kind)
    return f"{names.plural}.{names.group}"


class Draft:
    """An event in the making: its type, and what its data has beside the common parts."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.type, self.replica = "", ReplicaName("")
        self.severity = Severity.INFO
        self.fields: dict[str, Any] = {}
        self.truncated = self.is_scrubbed = False

    def of(self, type_: str, severity: Severity | None = None, **fields: Any) -> "Draft":
        """The event is of this type; `severity` where it is not that of the type."""
        self.type, self.severity = type_, severity or TYPES[type_].severity
        self.fields |= fields
        return self

    def text(self, text: str) -> str:
        """The text without secrets, and not too long."""
        if not text:
            return text
        safe = scrub.scrubbed(text, self._page.specs)
        self.is_scrubbed |= safe != text
        self.truncated |= len(safe) > scrub.LONGEST
        return scrub.cut(safe)

    def few(self, items: Iterable[T], most: int) -> tuple[T, ...]:
        """The first of the items, as many as a list may have."""
        whole = tuple(items)
        self.truncated |= len(whole) > most
        return whole[:most]


def instant(at: datetime) -> str:
    """RFC 3339, UTC, with microseconds and `Z`."""
    utc = at if at.utcoffset() == _NOTHING else at.astimezone(UTC)
    return utc.isoformat(timespec="microseconds")[:26] + "Z"


def maybe(at: datetime | None) -> str | None:
    """The same of an instant that may not be known."""
    return None if at is None else instant(at)


def cause_name(cause: Observation) -> str:
    """What users call an observation."""
    match cause.type:
        case "JobObserved":
            return "JobChanged"
        case "JobGone":
            return "JobDeleted"
        case "PodObserved":
            return "PodChanged"
        case "PodGone":
            return "PodDeleted"
        case "PodUnreadable":
            return "PodUnreadable"
        case "TimerFired":
            return "Timer"
        case "WriteRefused":
            return "WriteRefused"
        case "ChildObserved":
            return "ChildChanged"
        case "WorkloadObserved":
            return "QueueChanged"


def warnings(events: Iterable[Event]) -> list[tuple[int, str, str]]:
    """The warnings that users are given in an entry: place, reason, message."""
    return [
        (index, event.reason, event.message)
        for index, event in enumerate(events)
        if event.type == "Announced" and event.level == "Warning"
    ]
