"""Why a job failed, or what it last recovered from: the cause, and what the container said, for its overview."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobledger.console.details.lives import KeptLife
from jobledger.console.details.log_target import Choice, chosen_log
from jobledger.console.details.subject import Subject
from jobledger.console.logs import window
from jobledger.program.errors import NotPossible, UnknownReplica
from jobledger.service.app import App
from jobledger.web.rights import AccessRight, Caller
from k8s_bridge.port import Cluster, Ref
from projectors.explain.model import Evidence, Explanation, Nature
from projectors.phrases import Language
from statemachine.errors import ClusterError, Missing
from statemachine.phases import Phase
from statemachine.redact import redacted

LINES: Final = 10
"""Lines of a log that are shown."""


@dataclass(frozen=True, slots=True)
class Why:
    """An answer with its cause, in entry `seq`; `attempt` is 0 where no pod is behind it.

    `message` is the container's own; without one `lines` are the last of its log, as far as it is kept.
    """

    failed: bool
    answer: str
    says: str
    seq: int
    replica: str = ""
    container: str = ""
    attempt: int = 0
    message: str = ""
    lines: tuple[str, ...] = ()


async def why(app: App, subject: Subject, life: KeptLife, caller: Caller, language: Language) -> Why | None:
    """Why the job has failed, else the last failure that it recovered from; None if there was none.

    Raises:
        ClusterUnavailable: nobody can say what the caller may read.
    """
    explained = await asyncio.to_thread(life.explained, language)
    cause = _cause(explained)
    failed = explained.phase is Phase.FAILED
    if cause is None:
        return Why(failed, explained.answer, "", explained.entries) if failed else None
    says, seq, replica, evidence = cause
    answer = explained.answer if failed else ""
    if evidence is None:
        return Why(failed, answer, says, seq, replica)
    attempt = next((known for known in life.attempts() if known.uid == evidence.pod_uid), None)
    if attempt is None:
        return Why(failed, answer, says, seq, replica, message=evidence.message)
    choice = Choice(attempt.replica, evidence.container, attempt.number)
    message = evidence.message or await _message(app.cluster, subject, life, caller, choice)
    lines = () if message else await _last_lines(app.cluster, subject, life, caller, choice)
    return Why(failed, answer, says, seq, attempt.replica, evidence.container, attempt.number, message, lines)


def _cause(explained: Explanation) -> tuple[str, int, str, Evidence | None] | None:
    """What is said of the cause, its entry, its replica, and the evidence."""
    if root := explained.root_cause:
        return root.says, root.seq, root.replica, root.cause
    for incident in reversed(explained.incidents):
        if incident.nature is Nature.ABNORMAL and incident.cause is not None:
            return incident.says, incident.seq, incident.replica, incident.cause
    return None


async def _message(cluster: Cluster, subject: Subject, life: KeptLife, caller: Caller, choice: Choice) -> str:
    """What the container left as its termination message; the log does not have it, the pod does while it exists.

    A pod that has ended says nothing else later, and one that is gone nothing: the cluster is asked once.
    """
    try:
        log = chosen_log(cluster, subject, life.attempts(), choice)
        if not await caller.may(AccessRight("get", "", "pods", subject.namespace, log.pod)):
            return ""
        if (kept := life.messages.get(choice)) is not None:
            return kept
        pod = await cluster.get(Ref("v1", "Pod", subject.namespace, log.pod))
    except (Missing, UnknownReplica, NotPossible):
        message = ""
    except ClusterError:  # it may answer next time
        return ""
    else:
        message = _left(pod, log.attempt.uid, log.container)
    life.messages[choice] = message
    return message


def _left(pod: Mapping[str, Any], uid: str, container: str) -> str:
    """The termination message of a container, if the pod is still the one with this uid."""
    if pod["metadata"]["uid"] != uid:
        return ""
    status = redacted(dict(pod)).get("status") or {}
    for part in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        ended = (part.get("state") or {}).get("terminated") or {}
        if part.get("name") == container and ended.get("message"):
            return str(ended["message"])
    return ""


async def _last_lines(
    cluster: Cluster, subject: Subject, life: KeptLife, caller: Caller, choice: Choice
) -> tuple[str, ...]:
    """The end of a log. It is kept, and so is that there is none: a pod that has ended writes nothing more."""
    if not await caller.may(AccessRight("get", "", "pods", subject.namespace, subresource="log")):
        return ()
    if (kept := life.last_lines.get(choice)) is not None:
        return kept
    lines: tuple[str, ...] = ()
    try:
        log = chosen_log(cluster, subject, life.attempts(), choice)
        shown = await window.tail(await log.source(LINES), LINES)
        lines = (*shown.lines, *filter(None, [shown.tail]))[-LINES:]
    except (Missing, UnknownReplica, NotPossible):
        pass
    except ClusterError:  # it may answer next time
        return ()
    life.last_lines[choice] = lines
    return lines
