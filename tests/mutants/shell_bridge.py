"""Mutants of the bridge to an API server: writes, index, lease, watches, flow."""

from typing import Final

from tests.mutants.model import Mutant

_CLUSTER: Final = "k8s_bridge.apiserver.cluster"
_INDEX: Final = "k8s_bridge.apiserver.index"
_LEASE: Final = "k8s_bridge.apiserver.lease"
_REFLECTOR: Final = "k8s_bridge.apiserver.reflector"
_WATCHING: Final = "k8s_bridge.apiserver.watching"
_FLOW: Final = "k8s_bridge.apiserver.flow"

_AT: Final = "tests/unit/bridge/apiserver/"
_ON_WRITES: Final = (_AT + "test_writes.py",)
_ON_INDEX: Final = (_AT + "test_index.py",)
_ON_LEASE: Final = (_AT + "test_lease.py",)
_ON_REFLECTOR: Final = (_AT + "test_reflector.py",)
_ON_WATCHING: Final = (_AT + "test_watching.py",)
_ON_FLOW: Final = (_AT + "test_flow.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "apiserver-delete-without-preconditions",
        _CLUSTER,
        '            options["preconditions"] = preconditions\n',
        "            pass\n",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-delete-without-version",
        _CLUSTER,
        'conditions = {"uid": uid, "resourceVersion": version}',
        'conditions = {"uid": uid}',
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-delete-leaves-what-is-owned",
        _CLUSTER,
        '"propagationPolicy": "Background"',
        '"propagationPolicy": "Orphan"',
        _ON_WRITES,
    ),
    Mutant("apiserver-grace-rounded-down", _CLUSTER, "ceil(grace)", "int(grace)", _ON_WRITES),
    Mutant(
        "apiserver-patch-without-uid", _CLUSTER, '    if uid:\n        meta["uid"] = uid\n', "", _ON_WRITES
    ),
    Mutant(
        "apiserver-release-without-uid",
        _CLUSTER,
        '{"metadata": {"uid": uid, "$deleteFromPrimitiveList',
        '{"metadata": {"$deleteFromPrimitiveList',
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-status-without-uid",
        _CLUSTER,
        '            {"op": "test", "path": "/metadata/uid", "value": uid},\n',
        "",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-status-without-version",
        _CLUSTER,
        '            {"op": "test", "path": "/metadata/resourceVersion", "value": version},\n',
        "",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-older-status-written",
        _CLUSTER,
        "if seq < self._status_seq.get(uid, 0):",
        "if False:",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-same-status-not-written-again",
        _CLUSTER,
        "if seq < self._status_seq.get(uid, 0):",
        "if seq <= self._status_seq.get(uid, 0):",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-refused-status-looks-like-a-race",
        _CLUSTER,
        '        if job["metadata"]["resourceVersion"] == version:\n            raise error\n',
        "",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-job-of-another-uid",
        _CLUSTER,
        '        if job["metadata"]["uid"] != uid:\n            raise Missing(f\'{ref.kind}',
        "        if False:\n            raise Missing(f'{ref.kind}",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-quota-conflict-is-a-taken-name",
        _CLUSTER,
        "            if error.exists:\n                raise\n",
        "            raise\n",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-secret-read-whole",
        _CLUSTER,
        'await self.api.call("GET", await self._to(ref), accept=METADATA_ONLY)',
        'await self.api.call("GET", await self._to(ref))',
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-lost-secret-stays-known",
        _CLUSTER,
        "        except Missing:\n            self._note_missing(ref)\n            raise\n",
        "        except Missing:\n            raise\n",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-released-pod-stays-known",
        _CLUSTER,
        'if "deletionTimestamp" in meta and not is_held:',
        "if False:",
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-held-pod-is-gone",
        _CLUSTER,
        'if "deletionTimestamp" in meta and not is_held:',
        'if "deletionTimestamp" in meta:',
        _ON_WRITES,
    ),
    Mutant(
        "apiserver-orphans-before-everything-is-listed",
        _CLUSTER,
        "if watching is None or not watching.synced.is_set():",
        "if watching is None:",
        (_AT + "test_orphans.py",),
    ),
    Mutant(
        "apiserver-pod-of-a-known-job-is-an-orphan",
        _CLUSTER,
        "if EVIDENCE in child.finalizers and child.job not in watching.versions",
        "if EVIDENCE in child.finalizers",
        (_AT + "test_orphans.py",),
    ),
    Mutant(
        "apiserver-pod-without-finalizer-is-an-orphan",
        _CLUSTER,
        "if EVIDENCE in child.finalizers and child.job not in watching.versions",
        "if child.job not in watching.versions",
        (_AT + "test_orphans.py",),
    ),
    Mutant(
        "index-older-report-undoes-a-write",
        _INDEX,
        "(old is not None and old.version >= version > 0)",
        "False",
        _ON_INDEX,
    ),
    Mutant(
        "index-same-version-is-news",
        _INDEX,
        "(old is not None and old.version >= version > 0)",
        "(old is not None and old.version > version > 0)",
        _ON_INDEX,
    ),
    Mutant(
        "index-late-report-brings-back",
        _INDEX,
        "(gone is not None and gone.precedes(version)) or",
        "",
        _ON_INDEX,
    ),
    Mutant(
        "index-late-answer-brings-back",
        _INDEX,
        'if meta["uid"] not in self._seen and version_of(meta) <= position:',
        "if False:",
        _ON_INDEX,
    ),
    Mutant(
        "index-other-collection-vanishes",
        _INDEX,
        "if known.collection == collection and known.version <= version",
        "if known.version <= version",
        (*_ON_INDEX, *_ON_WATCHING),
    ),
    Mutant(
        "index-newer-object-vanishes",
        _INDEX,
        "if known.collection == collection and known.version <= version",
        "if known.collection == collection",
        (*_ON_INDEX, *_ON_WATCHING),
    ),
    Mutant(
        "index-former-owner-keeps-it",
        _INDEX,
        "            self._disown(old)\n        self._seen[uid] = known",
        "            pass\n        self._seen[uid] = known",
        _ON_INDEX,
    ),
    Mutant(
        "index-deletion-of-ours-never-reported",
        _INDEX,
        "self._bury(uid, _Gone(inf, known))",
        "self._bury(uid, _Gone(inf))",
        _ON_INDEX,
    ),
    Mutant(
        "index-returned-object-is-late",
        _INDEX,
        "return version <= self.until if version else self.until == inf",
        "return True",
        _ON_INDEX,
    ),
    Mutant("index-vanished-pod-has-a-phase", _INDEX, '        manifest.pop("status", None)\n', "", _ON_INDEX),
    Mutant(
        "index-no-grace-is-grace-zero",
        _INDEX,
        'if "deletionTimestamp" in meta else None,',
        "if True else None,",
        _ON_INDEX,
    ),
    Mutant(
        "lease-taken-while-it-is-held",
        _LEASE,
        'self.holder not in ("", self.identity) and not self._has_run_out(lease)',
        "False",
        _ON_LEASE,
    ),
    Mutant(
        "lease-judged-by-its-own-times",
        _LEASE,
        "if self._seen is None or _version(lease) != _version(self._seen):",
        "if True:",
        _ON_LEASE,
    ),
    Mutant(
        "lease-held-too-long",
        _LEASE,
        "elif now() >= renewed + self._timing.deadline:",
        "elif now() >= renewed + self._timing.duration * 2:",
        _ON_LEASE,
    ),
    Mutant(
        "lease-loss-is-ignored",
        _LEASE,
        'elif self.holder not in ("", self.identity):',
        "elif False:",
        _ON_LEASE,
    ),
    Mutant(
        "lease-write-without-a-look",
        _LEASE,
        "lease = self._seen if self._is_ours and not self._is_stale else await self._look()",
        "lease = self._seen if self._is_ours else await self._look()",
        _ON_LEASE,
    ),
    Mutant(
        "lease-of-another-given-back",
        _LEASE,
        "if lease is None or not self._is_ours:",
        "if lease is None:",
        _ON_LEASE,
    ),
    Mutant(
        "lease-not-given-back", _LEASE, "            await self._release()\n", "            pass\n", _ON_LEASE
    ),
    Mutant(
        "lease-transitions-not-counted",
        _LEASE,
        '{"leaseTransitions": transitions + 1}',
        '{"leaseTransitions": transitions}',
        _ON_LEASE,
    ),
    Mutant(
        "reflector-goes-on-at-a-forgotten-place",
        _REFLECTOR,
        '        self._version = ""\n        self._expirations += 1',
        "        self._expirations += 1",
        _ON_REFLECTOR,
    ),
    Mutant(
        "reflector-place-before-it-was-reported",
        _REFLECTOR,
        "            if event.verb is not None:\n"
        "                await self._changed(event.verb, event.object)\n"
        "            # only now: the next watch brings a change again that could not be passed on\n"
        '            self._version = event.object["metadata"]["resourceVersion"]\n',
        '            self._version = event.object["metadata"]["resourceVersion"]\n'
        "            if event.verb is not None:\n"
        "                await self._changed(event.verb, event.object)\n",
        _ON_REFLECTOR,
    ),
    Mutant(
        "reflector-vanished-not-reported",
        _REFLECTOR,
        "            await self.vanished(uid)\n",
        "            pass\n",
        _ON_REFLECTOR,
    ),
    Mutant(
        "reflector-first-page-only",
        _REFLECTOR,
        "            if not place:\n                break\n",
        "            break\n",
        _ON_REFLECTOR,
    ),
    Mutant(
        "reflector-streams-again-what-never-ended",
        _REFLECTOR,
        "                self._streams = False  # until it has brought the list to its end\n",
        "",
        _ON_REFLECTOR,
    ),
    Mutant(
        "reflector-takes-any-bookmark-for-the-end-of-the-list",
        _REFLECTOR,
        'elif (meta.get("annotations") or {}).get(_END_OF_LIST) == "true":',
        "else:",
        _ON_REFLECTOR,
    ),
    Mutant(
        "reflector-streamed-list-is-given-up-for-good",
        _REFLECTOR,
        "                self._streams = True\n",
        "",
        _ON_REFLECTOR,
    ),
    Mutant(
        "reflector-deleted-object-vanishes-again",
        _REFLECTOR,
        "            self._known.discard(uid)\n",
        "            pass\n",
        _ON_REFLECTOR,
    ),
    Mutant(
        "reflector-asks-too-soon",
        _REFLECTOR,
        "return max(after or 0.0, backoff(self.progress.failures, chance=self.chance))",
        "return backoff(self.progress.failures, chance=self.chance)",
        _ON_REFLECTOR,
    ),
    Mutant(
        "reflector-expired-again-and-again-at-once",
        _REFLECTOR,
        "if self._expirations > 1 else 0.0",
        "if False else 0.0",
        _ON_REFLECTOR,
    ),
    Mutant(
        "watching-children-before-jobs",
        _WATCHING,
        "            await _known_enough(jobs)\n",
        "",
        _ON_WATCHING,
    ),
    Mutant(
        "watching-synced-before-children",
        _WATCHING,
        "                await reflector.settled.wait()\n            self.synced.set()",
        "                pass\n            self.synced.set()",
        _ON_WATCHING,
    ),
    Mutant(
        "watching-withheld-kinds-not-named",
        _WATCHING,
        "await self._items.put(Synced(_now(), _kinds(late)))",
        "await self._items.put(Synced(_now(), frozenset()))",
        _ON_WATCHING,
    ),
    Mutant(
        "watching-older-version-of-a-job",
        _WATCHING,
        'if not version or version > number(self.versions.get(uid, "")):',
        "if True:",
        (*_ON_WATCHING, *_ON_WRITES),
    ),
    Mutant(
        "watching-ends-without-a-word",
        _WATCHING,
        "asyncio.ensure_future(self._items.put(cause))",
        "str(cause)",
        _ON_WATCHING,
    ),
    Mutant(
        "flow-never-fewer-places",
        _FLOW,
        "self._places = max(_LEAST, self._places / 2)",
        "self._places = max(_LEAST, self._places)",
        _ON_FLOW,
    ),
    Mutant("flow-each-complaint-halves", _FLOW, "if now >= self._closed_until:", "if True:", _ON_FLOW),
    Mutant(
        "flow-does-not-wait-after-a-complaint",
        _FLOW,
        "self._closed_until = max(self._closed_until, now + retry_after)",
        "self._closed_until = now",
        _ON_FLOW,
    ),
    Mutant(
        "flow-place-of-a-cancelled-one-is-lost",
        _FLOW,
        "            else:\n                self._leave(behind)\n            raise",
        "            raise",
        _ON_FLOW,
    ),
    Mutant(
        "flow-second-rank-never-stands-back",
        _FLOW,
        "self._inside - self._behind < _BUSY else None",
        "True else None",
        _ON_FLOW,
    ),
    Mutant(
        "flow-second-rank-starves",
        _FLOW,
        "if self._waiting[True] and self._behind < max(1, self.places // _SHARE):",
        "if False:",
        _ON_FLOW,
    ),
    Mutant(
        "observe-children-are-jobs",
        "k8s_bridge.observe",
        " and (group, kind) not in _OWNED",
        "",
        ("tests/unit/bridge/test_observe.py",),
    ),
)
