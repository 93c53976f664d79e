"""Mutants of what puts the parts together, and of the HTTP API: levels, streams, keys, health, guards."""

from typing import Final

from tests.mutants.model import Mutant

_LEVELS: Final = "jobledger.wiring.levels"
_STREAMS: Final = "jobledger.wiring.streams"
_ENGINE: Final = "jobledger.wiring.engine_role"
_PROJECTORS: Final = "jobledger.wiring.projector_role"
_STARTUP: Final = "jobledger.wiring.startup"
_METRICS: Final = "jobledger.telemetry.page"
_STATES: Final = "jobledger.wiring.states"
_KEYS: Final = "jobledger.wiring.keys"
_HISTORY: Final = "jobledger.wiring.history"
_HEALTH: Final = "jobledger.service.health"
_INTAKE: Final = "jobledger.jobs.intake"
_WISHES: Final = "jobledger.jobs.changes"
_GUARDS: Final = "jobledger.web.guards"
_LIMITS: Final = "jobledger.web.limits"
_CACHE: Final = "jobledger.web.cache"
_FEEDS: Final = "jobledger.web.streams"

_AT: Final = "tests/unit/wiring/"
_API: Final = "tests/unit/api/"
_ON_LEVELS: Final = (_AT + "test_levels.py",)
_ON_STREAMS: Final = (_AT + "test_streams.py",)
_ON_STARTUP: Final = (_AT + "test_startup.py",)
_ON_REPLACED: Final = (_AT + "test_replaced.py",)
_ON_SPREAD: Final = (_AT + "test_spread.py",)
_ON_QUARANTINED_CHILDREN: Final = (
    "tests/simulation/test_projected.py::test_the_children_of_a_job_in_quarantine_go_with_its_object",
)
_ON_FORGOTTEN: Final = (_AT + "test_forgotten_jobs.py",)
_ON_KEYS: Final = (_AT + "test_keys.py",)
_ON_HISTORY: Final = (_AT + "test_history.py",)
_ON_HEALTH: Final = ("tests/unit/test_health.py",)
_ON_HTTP: Final = (_API + "test_app.py", _API + "test_http.py")
_ON_PLUGIN: Final = ("tests/unit/plugin/test_cluster.py",)
_ON_GUARDS: Final = (_API + "test_http.py", _API + "test_cluster_guard.py")
_ON_LIMITS: Final = (_API + "test_limits.py",)
_ON_REVIEWS: Final = (_API + "test_reviews.py",)
_ON_FEEDS: Final = (_API + "test_streams.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "levels-visit-jobs-of-others",
        _LEVELS,
        "return await projector.visit(job) if mine(job) else None",
        "return await projector.visit(job)",
        _ON_LEVELS,
    ),
    Mutant(
        "levels-begin-before-the-list", _LEVELS, "        await self.startup.listed.wait()\n", "", _ON_SPREAD
    ),
    Mutant(
        "startup-history-does-not-wait",
        _PROJECTORS,
        "Followed(stream, end, is_mine, startup.over)",
        "Followed(stream, end, is_mine)",
        _ON_STARTUP,
    ),
    Mutant("startup-metrics-do-not-wait", _METRICS, "        await of.settled()\n", "", _ON_STARTUP),
    Mutant("startup-waits-for-ever", _STARTUP, "asyncio.timeout(MOST)", "asyncio.timeout(None)", _ON_STARTUP),
    Mutant("startup-waits-again", _STARTUP, "            self._is_over = True\n", "", _ON_STARTUP),
    Mutant(
        "levels-urgent-change-waits",
        _LEVELS,
        "            if not projector.is_urgent(events):\n",
        "            if True:\n",
        _ON_LEVELS,
    ),
    Mutant(
        "levels-leisurely-change-at-once",
        _LEVELS,
        "            if not projector.is_urgent(events):\n",
        "            if False:\n",
        _ON_LEVELS,
    ),
    Mutant(
        "levels-silent-report-not-looked-at",
        _LEVELS,
        "            self.children.add(observation.job)\n\n    def _is_expected",
        "            pass\n\n    def _is_expected",
        _ON_LEVELS,
    ),
    Mutant(
        "levels-expected-pod-looked-at-at-once",
        _LEVELS,
        "replica is not None and replica.uid == observation.uid",
        "False",
        (*_ON_LEVELS, *_ON_REPLACED),
    ),
    Mutant(
        "levels-strange-pod-looked-at-later",
        _LEVELS,
        "replica is not None and replica.uid == observation.uid",
        "replica is not None",
        _ON_LEVELS,
    ),
    Mutant(
        "levels-free-name-not-looked-at",
        _LEVELS,
        "        elif isinstance(observation, PodObserved | PodGone | ChildObserved):\n",
        "        elif isinstance(observation, PodObserved | ChildObserved):\n",
        _ON_LEVELS,
    ),
    Mutant(
        "levels-free-name-not-looked-at-where-others-decide",
        _LEVELS,
        "        if isinstance(observation, PodObserved | PodGone | ChildObserved | JobGone):\n",
        "        if isinstance(observation, PodObserved | ChildObserved | JobGone):\n",
        _ON_LEVELS,
    ),
    Mutant(
        "levels-takeover-with-old-changes", _LEVELS, "        self._status.begin_anew()\n", "", _ON_LEVELS
    ),
    Mutant(
        "streams-other-processes-view-brought-on",
        _STREAMS,
        "            if self.mine():\n                await self.advance()",
        "            if True:\n                await self.advance()",
        _ON_STREAMS,
    ),
    Mutant(
        "streams-place-remembered-while-it-is-anothers",
        _STREAMS,
        "                self.stream.forget()\n",
        "                pass\n",
        _ON_STREAMS,
    ),
    Mutant(
        "streams-pace-of-what-is-anothers",
        _STREAMS,
        "if self._pace is not None and self.mine():",
        "if self._pace is not None:",
        _ON_STREAMS,
    ),
    Mutant(
        "streams-without-their-pace",
        _STREAMS,
        "                await self._pace()\n",
        "                pass\n",
        _ON_STREAMS,
    ),
    Mutant(
        "levels-urgent-entry-is-no-rush",
        _LEVELS,
        "                self.rush.write()\n",
        "                pass\n",
        _ON_LEVELS,
    ),
    Mutant(
        "levels-others-urgent-entry-is-a-rush",
        _LEVELS,
        "            if is_mine:\n                self.rush.write()\n",
        "            if True:\n                self.rush.write()\n",
        _ON_LEVELS,
    ),
    Mutant(
        "streams-growth-lost",
        _STREAMS,
        "            self.grown.clear()\n"
        "            if self._pace is not None and self.mine():\n"
        "                await self._pace()\n"
        "            if self.mine():\n"
        "                await self.advance()\n"
        "            else:\n"
        "                self.stream.forget()\n",
        "            if self._pace is not None and self.mine():\n"
        "                await self._pace()\n"
        "            if self.mine():\n"
        "                await self.advance()\n"
        "            else:\n"
        "                self.stream.forget()\n"
        "            self.grown.clear()\n",
        _ON_STREAMS,
    ),
    Mutant(
        "streams-of-every-partition-woken",
        _STREAMS,
        "return self.mine() and self.reached < self.end()",
        "return True",
        _ON_STREAMS,
    ),
    Mutant(
        "streams-that-do-not-grow-left-alone-for-ever",
        _STREAMS,
        "asyncio.timeout(_LOOK)",
        "asyncio.timeout(None)",
        _ON_STREAMS,
    ),
    Mutant(
        "streams-database-away-is-waited-for",
        _STREAMS,
        "            if unless_away and self._is_away:\n                break\n",
        "",
        _ON_STREAMS,
    ),
    Mutant(
        "projectors-pods-of-forgotten-jobs-stay",
        _PROJECTORS,
        "            if job in forgotten and self._mine.job(job):\n",
        "            if False:\n",
        _ON_FORGOTTEN,
    ),
    Mutant(
        "projectors-reports-of-quarantined-jobs-lead-nowhere",
        _PROJECTORS,
        " or self._reader.tracked(observation.job).quarantined",
        "",
        _ON_QUARANTINED_CHILDREN,
    ),
    Mutant(
        "levels-a-job-that-is-gone-leads-nowhere",
        _LEVELS,
        "PodGone | ChildObserved | JobGone",
        "PodGone | ChildObserved",
        _ON_LEVELS,
    ),
    Mutant(
        "states-quarantined-state-given",
        _STATES,
        "if tracked.quarantined or tracked.seq == 0 or tracked.forgotten:",
        "if tracked.seq == 0 or tracked.forgotten:",
        (_AT + "test_quarantine.py",),
    ),
    Mutant(
        "states-of-other-namespaces",
        _STATES,
        "return state if self._covers(state.api_version, state.kind, state.namespace) else None",
        "return state",
        _ON_SPREAD,
    ),
    Mutant(
        "engine-inbox-left-at-the-start",
        _ENGINE,
        "            await self._drain.empty()\n",
        "            pass\n",
        _ON_SPREAD,
    ),
    Mutant(
        "projectors-visits-in-hand-broken-off",
        _PROJECTORS,
        "        await self.levels.finish()\n",
        "        return\n",
        _ON_SPREAD,
    ),
    Mutant(
        "key-that-others-may-read",
        _KEYS,
        "if mode & (stat.S_IRWXO | stat.S_IWGRP):",
        "if mode & stat.S_IRWXO & ~stat.S_IRWXO:",
        _ON_KEYS,
    ),
    Mutant(
        "key-that-the-group-may-change",
        _KEYS,
        "if mode & (stat.S_IRWXO | stat.S_IWGRP):",
        "if mode & stat.S_IRWXO:",
        _ON_KEYS,
    ),
    Mutant("key-that-is-short", _KEYS, "if len(key) < LEAST:", "if len(key) < LEAST - 1:", _ON_KEYS),
    Mutant(
        "key-of-the-second-stays",
        _KEYS,
        "            os.link(made, file)\n",
        "            os.replace(made, file)\n",
        _ON_KEYS,
    ),
    Mutant("key-for-any-role", _KEYS, "    if not roles & _HOLDERS:\n        return None\n", "", _ON_KEYS),
    Mutant(
        "history-at-a-host-without-a-name",
        _HISTORY,
        'if not path or path.startswith("//"):',
        "if not path:",
        _ON_HISTORY,
    ),
    Mutant(
        "health-idle-loop-is-stuck",
        _HEALTH,
        "            if not pulse.busy:\n                continue\n",
        "",
        _ON_HEALTH,
    ),
    Mutant(
        "health-progress-does-not-count",
        _HEALTH,
        "(beats, since) if beats == pulse.beats else (pulse.beats, now)",
        "(beats, since)",
        _ON_HEALTH,
    ),
    Mutant(
        "health-stuck-too-soon",
        _HEALTH,
        "            if stuck > PATIENCE:\n",
        "            if stuck > PATIENCE / 2:\n",
        _ON_HEALTH,
    ),
    Mutant(
        "health-standby-is-in-trouble",
        _HEALTH,
        "standby = self.lease is not None and not self.lease.is_held",
        "standby = False",
        _ON_HEALTH,
    ),
    Mutant(
        "health-log-that-takes-no-write",
        _HEALTH,
        "        except (LogError, ClusterError) as error:\n"
        '            return [f"the log cannot be written: {error}"]\n'
        "        return []",
        "        except (LogError, ClusterError):\n            return []\n        return []",
        _ON_HEALTH,
    ),
    Mutant(
        "intake-creates-before-all-are-examined",
        _INTAKE,
        "        inspect(manifests, as_api_server=True)\n",
        "",
        _ON_HTTP,
    ),
    Mutant(
        "intake-taken-name-discovered-late",
        _INTAKE,
        "            await self._refuse_taken(job)\n",
        "            pass\n",
        _ON_HTTP,
    ),
    Mutant(
        "intake-old-fields-stay",
        _INTAKE,
        "patch[key] = {**dict.fromkeys(before), **after}",
        "patch[key] = after",
        _ON_HTTP,
    ),
    Mutant("wishes-ended-job-paused", _WISHES, "    if phase in FINAL:\n", "    if False:\n", _ON_HTTP),
    Mutant("wishes-deleted-job-changed", _WISHES, "    if is_gone(job):\n", "    if False:\n", _ON_PLUGIN),
    Mutant("guard-any-host", _GUARDS, "if host_name(host.lower()) not in LOCAL:", "if False:", _ON_GUARDS),
    Mutant(
        "guard-any-origin",
        _GUARDS,
        'if origin is not None and origin.lower() != f"http://{host.lower()}":',
        "if False:",
        _ON_GUARDS,
    ),
    Mutant(
        "guard-page-of-another-site-on-a-cluster",
        _GUARDS,
        '    if origin is None or origin.lower().partition("://")[2] == headers.get("host", "").lower():\n',
        "    if True:\n",
        _ON_GUARDS,
    ),
    Mutant(
        "limits-declared-length-believed",
        _LIMITS,
        "        if self._taken > self._most:\n",
        "        if False:\n",
        _ON_LIMITS,
    ),
    Mutant(
        "limits-large-body-read",
        _LIMITS,
        "        if body.length > self._most:\n",
        "        if False:\n",
        _ON_LIMITS,
    ),
    Mutant(
        "limits-slow-body-waited-for",
        _LIMITS,
        "asyncio.timeout_at(self._deadline)",
        "asyncio.timeout_at(None)",
        _ON_LIMITS,
    ),
    Mutant(
        "limits-connection-kept",
        _LIMITS,
        'if message["type"] == "http.response.start" and not self._whole:',
        "if False:",
        _ON_LIMITS,
    ),
    Mutant(
        "cache-answer-for-ever",
        _CACHE,
        "            if self._clock() < until:\n",
        "            if True:\n",
        _ON_REVIEWS,
    ),
    Mutant(
        "cache-age-from-the-answer",
        _CACHE,
        "self._answers[key] = (begun + self._keep(answer), answer)",
        "self._answers[key] = (self._clock() + self._keep(answer), answer)",
        _ON_REVIEWS,
    ),
    Mutant("cache-asks-for-each", _CACHE, "        if task is None:\n", "        if True:\n", _ON_REVIEWS),
    Mutant(
        "cache-without-bound", _CACHE, "while len(self._answers) > self._most:", "while False:", _ON_REVIEWS
    ),
    Mutant(
        "streams-outage-counts-as-a-right",
        _FEEDS,
        "                if time() - confirmed > PATIENCE:\n",
        "                if False:\n",
        _ON_FEEDS,
    ),
    Mutant(
        "streams-outage-ends-at-once",
        _FEEDS,
        "                if time() - confirmed > PATIENCE:\n",
        "                if True:\n",
        _ON_FEEDS,
    ),
)
