"""Mutants of what watches say, and of clusters without an API server: bridge, observations, objects, pods."""

from typing import Final

from tests.mutants.model import Mutant

_WATCHERS: Final = "k8s_bridge.watchers"
_TRACKS: Final = "k8s_bridge.tracks"
_OBSERVE: Final = "k8s_bridge.observe"
_POD_STATUS: Final = "k8s_bridge.pod_status"
_OBJECTS: Final = "k8s_bridge.objects"
_STORED: Final = "k8s_bridge.stored"
_MEMORY: Final = "tests.support.memory_cluster"
_RESTARTS: Final = "k8s_bridge.kubelet.restarts"
_ATTENDED: Final = "k8s_bridge.attended"

_AT: Final = "tests/unit/bridge/"
_ON_WATCHERS: Final = (_AT + "test_watchers.py",)
_ON_OBSERVE: Final = (_AT + "test_observe.py",)
_ON_OBJECTS: Final = (_AT + "test_objects.py", _AT + "test_memory.py")
_PORT: Final = "tests/ports/test_cluster.py::"
_ON_MEMORY: Final = (_AT + "test_memory.py",)
_ON_RESTARTS: Final = (_AT + "test_local_restarts.py",)
_ON_ATTENDED: Final = (_AT + "test_attended.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "watchers-same-report-passed-on-again",
        _WATCHERS,
        "        if track is not None and track.sent == mark:\n",
        "        if False:\n",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-change-counts-before-it-was-taken",
        _WATCHERS,
        "        await self._send(observation)\n        if track is not None and track.is_later_than",
        "        self._tracks[uid] = Track(gone(observation), mark)\n"
        "        await self._send(observation)\n"
        "        if track is not None and track.is_later_than",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-older-report-is-the-last",
        _WATCHERS,
        "if track is not None and track.is_later_than(observation):",
        "if False:",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-late-report-of-the-same-second-is-the-last",
        _TRACKS,
        "return (written_at, observation.at) < (self.written_at, self.at)",
        "return written_at < self.written_at",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-after-a-late-report-the-last-counts-as-sent",
        _WATCHERS,
        'track.sent = b""',
        "pass",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-pods-vanish-before-jobs",
        _WATCHERS,
        "vanished.sort(key=lambda uid: not isinstance",
        "vanished.sort(key=lambda uid: isinstance",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-vanished-not-reported",
        _WATCHERS,
        "await self._report_gone(uid, synced.at)",
        "pass",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-gone-reported-twice",
        _WATCHERS,
        "        if track is not None and track.sent != fingerprint(track.gone):\n",
        "        if track is not None:\n",
        _ON_WATCHERS,
        "A report that an object is gone takes its track away: nothing that is said to be gone is tracked.",
    ),
    Mutant(
        "watchers-withheld-jobs-are-gone",
        _WATCHERS,
        "        if not self._withheld or not isinstance(gone, JobGone):\n"
        "            return False\n"
        "        return",
        "        return False\n        return",
        (_AT + "apiserver/test_watching.py",),
    ),
    Mutant(
        "watchers-pod-becomes-another-attempt",
        _WATCHERS,
        "            observation = as_known(observation, track.gone)\n",
        "            pass\n",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-foreign-jobs-observed",
        _WATCHERS,
        "        if sort is Sort.JOB and not self._is_attended(item.object):\n            return\n",
        "",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-record-of-a-known-job",
        _WATCHERS,
        "        if is_known and self._listed is None:\n            return observation\n",
        "",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-back-off-of-a-busy-server-ignored",
        _WATCHERS,
        "await self.sleep(max(wait, backoff(",
        "await self.sleep(min(wait, backoff(",
        _ON_WATCHERS,
    ),
    Mutant(
        "looking-bookmarks-are-silence",
        "k8s_bridge.looking",
        "            if self._signs() == self._last_signs:\n",
        "            if True:\n",
        ("tests/unit/wiring/test_silent_watch.py", *_ON_WATCHERS),
    ),
    Mutant(
        "watchers-deleted-object-still-listed",
        _WATCHERS,
        "                self._listed.discard(uid)\n",
        "                pass\n",
        _ON_WATCHERS,
        "What is listed is looked up by the uids of tracks, and a deleted object has none.",
    ),
    Mutant(
        "watchers-stripped-pod-is-not-taken-back",
        _WATCHERS,
        "        elif known is not None and item.verb is not Verb.DELETED and not is_controlled(item.object):\n",
        "        elif False:\n",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-held-pod-wakes-nobody",
        _WATCHERS,
        "return is_held(change.object) and not is_gone if sort is Sort.POD",
        "return False if sort is Sort.POD",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-pod-that-is-gone-wakes-somebody-before-its-report",
        _WATCHERS,
        "return is_held(change.object) and not is_gone if sort is Sort.POD",
        "return is_held(change.object) or is_gone if sort is Sort.POD",
        (*_ON_WATCHERS, "tests/unit/wiring/test_replaced.py"),
    ),
    Mutant(
        "watchers-strange-pod-that-is-gone-wakes-nobody",
        _WATCHERS,
        "            self.signals.touched(owner)  # it may have had the name of a child\n",
        "            pass\n",
        _ON_WATCHERS,
    ),
    Mutant(
        "observe-held-by-anybody",
        _OBSERVE,
        "isinstance(finalizers, list | tuple) and EVIDENCE in finalizers",
        "bool(finalizers)",
        _ON_WATCHERS,
    ),
    Mutant(
        "observe-end-of-a-deleted-pod-lost",
        _OBSERVE,
        "observations = (_end(change, known), pod(change, known), ",
        "observations = (pod(change), ",
        _ON_OBSERVE,
    ),
    Mutant(
        "observe-end-after-the-deletion",
        _OBSERVE,
        "observations = (_end(change, known), pod(change, known), ",
        "observations = (pod(change, known), _end(change, known), ",
        _ON_OBSERVE,
    ),
    Mutant(
        "watchers-out-of-sight-is-gone",
        _WATCHERS,
        "known is not None and known.job in self._tracks and not tells_no_more(item.object)",
        "False",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-edited-labels-are-believed",
        _WATCHERS,
        "return bool(name) and name != raw",
        "return False and name != raw",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-edited-labels-wake-nobody",
        _WATCHERS,
        "            self.signals.touched(owner_of(item.object))  # the controller puts the labels back\n",
        "",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-unlisted-is-gone",
        _WATCHERS,
        "self.log.place_of(known) if known is not None and known.job in self._tracks else None",
        "None",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-looks-at-all-that-goes",
        _WATCHERS,
        "known is not None and known.job in self._tracks and not tells_no_more(item.object)",
        "known is not None",
        _ON_WATCHERS,
    ),
    Mutant(
        "watchers-out-of-sight-looked-at-once",
        _WATCHERS,
        "            self._looks.again(answer.uid)\n",
        "            self._looks.drop(answer.uid)\n",
        _ON_WATCHERS,
    ),
    Mutant(
        "looking-dropped-look-ends-all",
        "k8s_bridge.looking",
        "        if look is None:  # dropped since the batch was made\n",
        "        if False:\n",
        ("tests/unit/bridge/test_looking.py",),
    ),
    Mutant(
        "looking-failed-look-is-not-tried-again",
        "k8s_bridge.looking",
        "            self._schedule(uid, max(after or 0.0",
        "            raise ValueError(max(after or 0.0",
        _ON_WATCHERS,
    ),
    Mutant(
        "observe-known-pod-without-labels-is-nobody-s",
        _OBSERVE,
        "    if known is not None and known.uid == uid and (owner",
        "    if False and known is not None and known.uid == uid and (owner",
        _ON_WATCHERS,
    ),
    Mutant(
        "observe-any-owner-controls",
        _OBSERVE,
        'if owner.get("controller") is True and is_job(owner):',
        "if is_job(owner):",
        _ON_OBSERVE,
    ),
    Mutant(
        "observe-owner-of-another-group",
        _OBSERVE,
        'if owner.get("controller") is True and is_job(owner):',
        'if owner.get("controller") is True:',
        _ON_OBSERVE,
    ),
    Mutant(
        "observe-false-disruption",
        _POD_STATUS,
        'condition.get("type") == "DisruptionTarget" and condition.get("status") == "True"',
        'condition.get("type") == "DisruptionTarget"',
        _ON_OBSERVE,
    ),
    Mutant(
        "observe-not-ready-is-ready",
        _OBSERVE,
        'condition.get("type") == "Ready" and condition.get("status") == "True" for condition',
        'condition.get("type") == "Ready" for condition',
        _ON_OBSERVE,
    ),
    Mutant(
        "observe-end-explained-by-a-start",
        _POD_STATUS,
        'if "running" in state and phase not in ENDED:',
        'if "running" in state:',
        _ON_OBSERVE,
    ),
    Mutant(
        "observe-exit-code-of-any-size",
        _POD_STATUS,
        "return code if type(code) is int and -(1 << 31) <= code < 1 << 32 else None",
        "return code if isinstance(code, int) else None",
        _ON_OBSERVE,
    ),
    Mutant(
        "observe-pod-without-attempt",
        _OBSERVE,
        "if phase is None or attempt is None:",
        "if phase is None:",
        _ON_OBSERVE,
    ),
    Mutant(
        "observe-own-ends-of-a-running-pod",
        _OBSERVE,
        "own_ends=tuple(own_ends(meta, containers)) if phase in ENDED else (),",
        "own_ends=tuple(own_ends(meta, containers)),",
        _ON_OBSERVE,
    ),
    Mutant(
        "observe-oldest-change",
        _OBSERVE,
        "return max([time for time in times if time is not None], default=None)",
        "return min([time for time in times if time is not None], default=None)",
        _ON_OBSERVE,
    ),
    Mutant(
        "objects-uid-not-compared",
        _OBJECTS,
        "if uid and stored.uid != uid:",
        "if False:",
        (_PORT + "test_delete_of_another_uid_conflicts",),
    ),
    Mutant(
        "objects-version-of-a-deletion-not-compared",
        _OBJECTS,
        'if version and meta["resourceVersion"] != version:',
        "if False:",
        (_PORT + "test_delete_of_an_older_version_conflicts",),
    ),
    Mutant(
        "objects-version-of-a-patch-not-compared",
        _OBJECTS,
        'if new["metadata"].get("resourceVersion", version) != version:',
        "if False:",
        (_PORT + "test_patch_of_an_older_version_conflicts",),
    ),
    Mutant(
        "objects-older-status-written",
        _OBJECTS,
        "if seq >= old.status_seq:",
        "if True:",
        (_PORT + "test_a_status_of_a_lower_seq_is_not_written",),
    ),
    Mutant(
        "objects-second-deletion-gives-more-time",
        _OBJECTS,
        'seconds >= meta["deletionGracePeriodSeconds"]',
        "False",
        _ON_OBJECTS,
    ),
    Mutant(
        "objects-generation-of-any-patch",
        _OBJECTS,
        'if new.get("spec") != old.object.get("spec"):',
        "if True:",
        (
            _PORT + "test_patch_of_the_spec_raises_the_generation",
            _PORT + "test_patch_merges_and_null_removes",
        ),
    ),
    Mutant(
        "objects-patch-writes-the-status",
        _OBJECTS,
        'if key != "status"}',
        "if True}",
        (_PORT + "test_patch_leaves_the_status_alone",),
    ),
    Mutant(
        "objects-held-object-is-gone",
        _STORED,
        'if "deletionTimestamp" not in meta or meta.get("finalizers"):',
        'if "deletionTimestamp" not in meta:',
        (_PORT + "test_an_object_with_a_finalizer_stays_until_it_is_off",),
    ),
    Mutant(
        "objects-running-pod-is-gone",
        _STORED,
        'return stored.object["kind"] == "Pod" and not stored.ended',
        "return False",
        (_PORT + "test_a_deleted_pod_is_marked_and_goes_when_its_processes_are_gone",),
    ),
    Mutant(
        "objects-ended-pod-has-time",
        _STORED,
        'seconds = 0 if manifest["kind"] != "Pod" or over else grace',
        'seconds = 0 if manifest["kind"] != "Pod" else grace',
        _ON_OBJECTS,
    ),
    Mutant(
        "objects-change-of-owner-not-indexed",
        _OBJECTS,
        "        elif _owners(old) == _owners(new):\n",
        "        elif True:\n",
        _ON_OBJECTS,
    ),
    Mutant(
        "memory-ended-pod-runs-again",
        _MEMORY,
        "or _has_ended(pod):\n            return\n        self.objects.set_status(ref, uid, moved",
        "or False:\n            return\n        self.objects.set_status(ref, uid, moved",
        _ON_MEMORY,
    ),
    Mutant(
        "memory-stopped-pod-succeeds",
        _MEMORY,
        "codes = (143,) * len",
        "codes = (0,) * len",
        (_PORT + "test_the_last_form_of_a_deleted_pod_tells_its_exit_code",),
    ),
    Mutant(
        "memory-late-script-meets-the-next-pod",
        _MEMORY,
        'if pod is None or pod["metadata"]["uid"] != uid or _has_ended(pod):',
        "if pod is None or _has_ended(pod):",
        _ON_MEMORY,
        "The timer of a pod is cancelled when the pod goes, so nothing of it comes later.",
    ),
    Mutant(
        "restarts-init-container-again-and-again",
        _RESTARTS,
        'return not ended.well or (policy == "Always" and not init)',
        'return not ended.well or policy == "Always"',
        _ON_RESTARTS,
    ),
    Mutant(
        "restarts-hopeless-container",
        _RESTARTS,
        "if ended.reason in (NEVER, CANNOT_START) or policy",
        "if policy",
        _ON_RESTARTS,
    ),
    Mutant(
        "restarts-first-one-waits",
        _RESTARTS,
        "        short -= 1  # the very first restart does not wait\n",
        "        pass\n",
        _ON_RESTARTS,
    ),
    Mutant(
        "restarts-long-run-counts",
        _RESTARTS,
        "        if run.was_long:\n            break\n",
        "",
        _ON_RESTARTS,
    ),
    Mutant(
        "restarts-wait-without-bound",
        _RESTARTS,
        "most=_MOST)",
        "most=2 * _MOST)",
        _ON_RESTARTS,
    ),
    Mutant(
        "attended-opt-in-kind-without-a-word",
        _ATTENDED,
        "        if opted_in is None:\n            return ()\n",
        "        if opted_in is None:\n            return everywhere\n",
        _ON_ATTENDED,
    ),
    Mutant(
        "attended-namespace-of-others",
        _ATTENDED,
        "tuple(filter(self._is_ours, opted_in.namespaces))",
        "tuple(opted_in.namespaces)",
        _ON_ATTENDED,
    ),
    Mutant(
        "attended-owned-kind-not-switched-on",
        _ATTENDED,
        "if child.when is None or settings.get(child.when[0]) == child.when[1]\n",
        "if True\n",
        _ON_ATTENDED,
    ),
)
