"""Mutants of the projector of children."""

from typing import Final

from tests.mutants.model import Mutant

_CHILDREN: Final = "projectors.children"
_WRITER: Final = "projectors.child_writer"
_DIFF: Final = "projectors.diff"

_AT: Final = "tests/unit/projectors/"
_ON_CHILDREN: Final = (_AT + "test_children.py",)
_ON_CALLS: Final = (_AT + "test_calls.py", _AT + "test_creations.py")
_ON_ADOPTION: Final = (_AT + "test_adoption.py",)
_ON_CONFIRMING: Final = (_AT + "test_confirming.py",)
_ON_LEISURE: Final = (_AT + "test_leisure.py",)
_ON_GENERATED: Final = (_AT + "test_generated_children.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "release-not-put-off",
        _CHILDREN,
        "remaining = self._releases.remaining(job)",
        "remaining = 0.0",
        _ON_LEISURE,
    ),
    Mutant(
        "release-put-off-although-the-pod-leaves",
        _DIFF,
        "awaited=not stays or _is_deleting(manifest)",
        "awaited=not stays",
        _ON_LEISURE,
    ),
    Mutant(
        "release-is-a-rush",
        _CHILDREN,
        "if any(not isinstance(write, Hold | Await) for write in urgent):",
        "if any(not isinstance(write, Hold | Await) for write in writes):",
        _ON_LEISURE,
    ),
    Mutant(
        "rush-waited-for-without-end",
        "projectors.leisure",
        "min(self._at + QUIET, begun + self.most(patience))",
        "self._at + QUIET",
        _ON_LEISURE,
    ),
    Mutant(
        "crowd-is-nothing-special",
        "projectors.leisure",
        "return patience.crowded if self._counted() >= _CROWD * _WINDOW else patience.usual",
        "return patience.usual",
        _ON_LEISURE,
    ),
    Mutant(
        "crowd-never-forgotten",
        "projectors.leisure",
        "self._recent * exp((self._at - asyncio.get_running_loop().time()) / _WINDOW)",
        "self._recent",
        _ON_LEISURE,
    ),
    Mutant(
        "leisure-looked-for-all-the-time",
        "projectors.leisure",
        "min(max(QUIET, now - since), remaining)",
        "min(QUIET, remaining)",
        _ON_LEISURE,
    ),
    Mutant(
        "counts-not-put-off",
        "projectors.status",
        "elif job in self._written and (remaining := self._counts.remaining(job)):",
        "elif (remaining := 0.0):",
        (_AT + "test_status.py",),
    ),
    Mutant(
        "children-with-the-state-of-before-the-list",
        _CHILDREN,
        "        # the state must not be older than `live`: a pod of the older one may be gone\n"
        "        state = self._states.state(job) or state\n",
        "",
        _ON_CALLS,
    ),
    Mutant(
        "children-made-without-asking-for-the-latest",
        _CHILDREN,
        "if any(map(_needs_the_latest, writes)):",
        "if False:",
        (*_ON_CALLS, _AT + "test_behind.py"),
    ),
    Mutant(
        "children-doubtful-deletion-without-the-latest",
        _CHILDREN,
        "isinstance(write, Create | Report) or (isinstance(write, Delete) and write.doubtful)",
        "isinstance(write, Create | Report)",
        (_AT + "test_behind.py",),
    ),
    Mutant(
        "children-no-look-for-a-lost-secret",
        _CHILDREN,
        "            live = await self._still_there(wished, live)\n",
        "",
        (*_ON_CALLS, *_ON_GENERATED),
    ),
    Mutant(
        "children-made-unconfirmed",
        _CHILDREN,
        "writes = [write for write in writes if not _makes(write)]",
        "writes = list(writes)",
        _ON_CONFIRMING,
    ),
    Mutant(
        "children-unconfirmed-not-read-again",
        _CHILDREN,
        "again = later if again is None or not dones else min(again, later)",
        "pass",
        _ON_CALLS,
    ),
    Mutant(
        "children-refused-kind-in-full-batches",
        _CHILDREN,
        "size = 1 if (namespace, kind) in self._refusing else _FIRST_BATCH",
        "size = _FIRST_BATCH",
        _ON_CHILDREN,
    ),
    Mutant(
        "children-a-name-that-is-taken-holds-others-back",
        _CHILDREN,
        "if any(not refusal.name_taken for refusal in refused):",
        "if refused:",
        _ON_CHILDREN,
    ),
    Mutant(
        "children-a-name-that-is-taken-shows-no-end-of-a-refusal",
        _CHILDREN,
        "elif refused or Done.MADE in outcomes:",
        "elif Done.MADE in outcomes:",
        _ON_CHILDREN,
    ),
    Mutant(
        "children-pods-that-were-released-are-held-again",
        _WRITER,
        "evidence = self._evidence and not has_its_end",
        "evidence = self._evidence",
        _ON_CALLS,
    ),
    Mutant("children-batches-do-not-grow", _CHILDREN, "size *= 2", "size *= 1", _ON_CALLS),
    Mutant(
        "children-go-on-after-a-refusal",
        _CHILDREN,
        "            if Done.REFUSED in dones:\n                break",
        "            if False:\n                break",
        (*_ON_CALLS, *_ON_CHILDREN),
    ),
    Mutant(
        "children-report-the-refusal-that-may-pass",
        _CHILDREN,
        "min(refused, key=lambda refusal: refusal.retryable)",
        "max(refused, key=lambda refusal: refusal.retryable)",
        _ON_CALLS,
    ),
    Mutant(
        "children-quarantined-job-of-an-old-name-keeps-pods",
        _CHILDREN,
        'return bool(job_object["metadata"]["uid"] != job)',
        "return False",
        _ON_CALLS,
    ),
    Mutant(
        "children-conflict-ends-the-visit",
        _WRITER,
        "except (Missing, Conflict):\n                dones.append(Done.NOT_THERE)",
        "except Missing:\n                dones.append(Done.NOT_THERE)",
        _ON_CALLS,
    ),
    Mutant(
        "children-vanished-pod-reported-at-once",
        _WRITER,
        "if now - made.missing_since < _REPORTED_WITHIN:",
        "if False:",
        _ON_CALLS,
    ),
    Mutant(
        "children-labels-not-put-back",
        _WRITER,
        "                await self._make_visible(live, manifest)\n                return Done.NOT_THERE if",
        "                return Done.NOT_THERE if",
        _ON_CALLS,
    ),
    Mutant(
        "children-unconfirmed-read-every-ten-seconds",
        _CHILDREN,
        "if again is None or not dones else",
        "if again is None else",
        _ON_CALLS,
    ),
    Mutant(
        "children-take-a-pod-of-another-controller",
        _WRITER,
        "if child.replica and may_be_taken_back(live, manifest):",
        "if child.replica:",
        _ON_ADOPTION,
    ),
    Mutant(
        "children-unreachable-cluster-is-final",
        _WRITER,
        "return self._refusal(state, child, 503, str(error))",
        "return self._refusal(state, child, 422, str(error))",
        _ON_CALLS,
    ),
    Mutant(
        "children-quota-is-final",
        _WRITER,
        "frozenset({403, 404, 408, 409, 429})",
        "frozenset({404, 408, 409, 429})",
        (*_ON_CALLS, *_ON_CHILDREN),
    ),
    Mutant(
        "children-server-error-is-final",
        _WRITER,
        "status in _RETRYABLE or status >= 500",
        "status in _RETRYABLE or status > 500",
        _ON_CALLS,
    ),
    Mutant(
        "children-finalizer-on-everything",
        _WRITER,
        'if self._evidence and child.kind == "Pod":',
        "if self._evidence:",
        _ON_CALLS,
    ),
    Mutant(
        "children-values-of-another-job",
        _WRITER,
        'if job["metadata"]["uid"] != state.uid:',
        "if False:",
        _ON_CALLS,
    ),
    Mutant(
        "children-delete-without-uid",
        _WRITER,
        "self._cluster.delete(ref, uid=uid, version=version)",
        "self._cluster.delete(ref, version=version)",
        _ON_CALLS,
    ),
    Mutant(
        "children-delete-without-version",
        _WRITER,
        "self._cluster.delete(ref, uid=uid, version=version)",
        "self._cluster.delete(ref, uid=uid)",
        _ON_CALLS,
    ),
    Mutant(
        "children-update-without-uid",
        _WRITER,
        "self._cluster.patch(ref, merge, uid=uid)",
        "self._cluster.patch(ref, merge)",
        _ON_CALLS,
    ),
    Mutant(
        "children-release-without-uid",
        _WRITER,
        "self._cluster.release(ref, uid)",
        'self._cluster.release(ref, "")',
        _ON_CALLS,
    ),
    Mutant(
        "children-refused-deletion-not-retried",
        _WRITER,
        "            raise ClusterUnavailable(error.message) from error\n",
        "            return\n",
        (*_ON_CALLS, *_ON_CHILDREN),
    ),
    Mutant(
        "children-report-of-another-object",
        _WRITER,
        'if live["metadata"]["uid"] == uid:\n            for observation in',
        "if True:\n            for observation in",
        _ON_CALLS,
    ),
    Mutant(
        "children-take-back-what-is-controlled-by-now",
        _WRITER,
        'pod["metadata"]["uid"] == uid and not is_controlled(pod)',
        'pod["metadata"]["uid"] == uid',
        _ON_CALLS,
    ),
    Mutant(
        "children-secret-made-twice",
        _WRITER,
        "with suppress(Missing):\n            ref = Ref.of(",
        "with suppress(Missing, Conflict):\n            ref = Ref.of(",
        _ON_CALLS,
    ),
    Mutant(
        "children-unheard-pod-not-looked-for",
        _CHILDREN,
        "return _UNHEARD_AGAIN if Done.MADE in dones or _waits_for_a_report(state) else None",
        "return None",
        _ON_CHILDREN,
    ),
    Mutant(
        "children-optional-refusal-blocks",
        _CHILDREN,
        "Done.OPTIONAL_REFUSED if child.optional else Done.REFUSED",
        "Done.REFUSED",
        _ON_CALLS,
    ),
)
