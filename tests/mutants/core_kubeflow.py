"""Mutants of kind PyTorchJob: its life, its counts, its objects."""

from typing import Final

from tests.mutants.model import Mutant

_LIFE: Final = (
    "tests/scenarios/test_pytorchjob.py",
    "tests/scenarios",
    *("tests/unit/test_restarts_in_place.py", "tests/unit/test_budget.py"),
)
_OBJECTS: Final = (
    *(
        "tests/golden",
        "tests/unit/kinds/test_kubeflow_children.py",
        "tests/unit/kinds/test_kubeflow_groups.py",
    ),
    "tests/scenarios/test_pytorchjob.py",
)
_RULES: Final = ("tests/unit/kinds/test_kubeflow_rules.py", "tests/unit/kinds/test_kubeflow_plan.py")


def _of(
    module: str, name: str, old: str, new: str, equivalent: str = "", *, tests: tuple[str, ...] = _LIFE
) -> Mutant:
    whole = f"statemachine.kinds.pytorchjob.{module}"
    return Mutant(f"kubeflow-{module}-{name}", whole, old, new, tests, equivalent)


MUTANTS: Final = (
    _of("admission", "jobs-of-another-cluster", "!= ELSEWHERE", "!= ''"),
    _of(
        "admission",
        "created-twice",
        "if recorded is None or not any(condition.type == words.CREATED for condition in recorded.conditions):",
        "if True:",
    ),
    _of(
        "conditions",
        "after-failed",
        '    if failed is not None and failed.status == "True":\n        return\n',
        "",
        equivalent="whatever sets a condition asks the phase table first, and Failed enters a final phase",
    ),
    _of(
        "conditions",
        "same-again",
        "if known is not None and (known.status, known.reason)",
        "if False and (known.status, known.reason)",
    ),
    _of(
        "conditions",
        "running-beside-restarting",
        "removed=(replaced,) if replaced in there else ()",
        "removed=()",
    ),
    _of(
        "conditions",
        "running-after-the-end",
        "if wished.type in _ENDS and words.RUNNING in there else ()",
        "if False else ()",
    ),
    _of(
        "creation",
        "made-again-is-made-twice",
        "    if replica.uid:\n        return  # it",
        "    if False:\n        return  # it",
    ),
    _of("creation", "service-is-made-again", "    if not replica.made:\n", "    if True:\n"),
    _of("creation", "restart-deletes-the-service", 'if replica.leaving != "restart":', "if True:"),
    _of(
        "creation",
        "autoscaler-is-announced-each-time",
        "if state.phase.is_active and creation.is_news(state, observation):",
        "if state.phase.is_active:",
    ),
    _of(
        "creation",
        "running-job-fails-of-a-refusal",
        "if not observation.retryable and state.phase in STARTING:",
        "if not observation.retryable:",
    ),
    _of(
        "creation",
        "accepted-while-deletions-are-refused",
        "        and not creation.cannot_delete(state)\n",
        "",
    ),
    _of("creation", "accepted-before-all-are-made", "        and creation.is_whole(state)\n", ""),
    _of(
        "creation", "exit-is-reported-again", "known is not None and known.restarts >= now.restarts", "False"
    ),
    _of("ending", "one-worker-is-enough", "(tally.is_elastic(state) and any(done))", "any(done)"),
    _of(
        "ending",
        "elastic-needs-all",
        "return all(done) or (tally.is_elastic(state) and any(done))",
        "return all(done)",
    ),
    _of(
        "ending",
        "disappearing-never-is-kept",
        "(replica.lost_for_good or tally.is_disappearing(replica))",
        "replica.lost_for_good",
    ),
    _of("ending", "past-limit-keeps-pods", "all_go = late or (", "all_go = late and ("),
    _of("ending", "running-pods-stay", "return replica.phase in _LIVING", "return False"),
    _of("ending", "tally-is-overwritten", "numbers = {} if state.tally else kept", "numbers = kept"),
    _of(
        "ending",
        "expires-while-suspended",
        "plan.ttl_seconds is None or plan.paused or",
        "plan.ttl_seconds is None or",
    ),
    _of("ending", "expires-again", "or state.deleted or state.expired:", "or state.deleted:"),
    _of(
        "ending",
        "early-expiry",
        "is_due(state, observation, EXPIRY) and observation.at >= wished",
        "is_due(state, observation, EXPIRY)",
        equivalent="each decision sets the timer to the time that is wished for, so none is due before it",
    ),
    _of(
        "ending",
        "group-after-the-end",
        'if job.phase is Phase.PAUSED or child.kind == "PodGroup":',
        "if job.phase is Phase.PAUSED:",
    ),
    _of(
        "ending",
        "children-of-a-pause",
        'if job.phase is Phase.PAUSED or child.kind == "PodGroup":',
        'if child.kind == "PodGroup":',
    ),
    _of(
        "ending",
        "services-of-pods-that-go",
        "return replica is not None and replica.has_pod and not replica.leaving",
        "return replica is not None and replica.has_pod",
    ),
    _of("life", "running-beside-a-failed-pod", " or any(map(tally.has_failed, members)):", ":"),
    _of("life", "worker-makes-it-run", "if master else members", "if False else members"),
    _of("life", "suspended-and-running", 'if running is not None and running.status == "True":', "if False:"),
    _of(
        "in_place",
        "earlier-starts-count",
        "0 if was.phase in _NOT_STARTED else tally.started_again(was)",
        "tally.started_again(was)",
    ),
    _of("in_place", "any-report-is-too-much", "        and _was_started_again(was, now)\n", ""),
    _of("tally", "limit-zero-is-free", "started >= max(1, limit)", "started >= max(2, limit)"),
    _of("tally", "one-more-in-place", "started >= max(1, limit)", "started > max(1, limit)"),
    _of(
        "tally",
        "ended-jobs-forget",
        "(state.in_place if state.cleaned else in_place(state))",
        "in_place(state)",
    ),
    _of(
        "tally",
        "never-counts-in-place",
        "        and state.running_plan.type_of(replica.name).restart_policy is not RestartPolicy.NEVER\n",
        "",
    ),
    _of(
        "tally",
        "disappearing-is-active",
        "ReplicaPhase.RUNNING and not replica.deleting and not replica.leaving",
        "ReplicaPhase.RUNNING and not replica.leaving",
    ),
    _of(
        "tally",
        "those-who-leave-are-not-counted",
        "(plan.holds(replica.name) or occupies(replica))",
        "plan.holds(replica.name)",
    ),
    _of("tally", "running-ones-have-not-succeeded", "tally.values() if succeeded else ()", "()"),
    _of(
        "restarts",
        "twice",
        "replica.phase is ReplicaPhase.FAILED and not replica.judged",
        "replica.phase is ReplicaPhase.FAILED",
        equivalent="a denied restart ends the job at once, and a granted one makes the replica leave",
    ),
    _of("restarts", "beyond-the-scale", "        or not state.running_plan.holds(replica.name)\n", ""),
    _of("restarts", "127-is-retryable", "return exit_code >= 128", "return exit_code >= 127"),
    _of("restarts", "128-is-not-retryable", "return exit_code >= 128", "return exit_code > 128"),
    _of(
        "restarts",
        "other-containers-count",
        "container.name == name and not container.init",
        "not container.init",
    ),
    _of("restarts", "terminating-is-exhausted", "exhausted=budget.is_spent", "exhausted=True"),
    _of(
        "gang_admission",
        "gone-of-another-group",
        "(known is None or known.uid != observation.gone_uid)",
        "known is None",
    ),
    _of(
        "gang_admission",
        "deleted-group-lets-in",
        "    if observation.uid and not state.phase.is_active:\n        return  # it is being deleted\n",
        "",
    ),
    _of(
        "gang_admission",
        "nobody-waits",
        "return known is None or not _is_let_in(known.facts)",
        "return False",
    ),
    _of(
        "gang_admission",
        "others-wait-too",
        "    if gang_scheduler(state.settings) != VOLCANO:\n        return False\n",
        "",
    ),
    _of(
        "status",
        "completed-count-is-the-present-one",
        "if not state.is_final or not state.tally:",
        "if True:",
    ),
    _of(
        "env",
        "rank-of-the-first-worker",
        "str(index + 1 if type_ == WORKER else index)",
        "str(index)",
        tests=_OBJECTS,
    ),
    _of("env", "world-without-processes", "str(total(spec) * per_node)", "str(total(spec))", tests=_OBJECTS),
    _of(
        "env",
        "user-wins",
        '[*own, *({"name": name, "value": value} for name, value in generated)]',
        '[*({"name": name, "value": value} for name, value in generated), *own]',
        tests=_OBJECTS,
    ),
    _of("gang", "members-of-the-master-only", "members -= pods", "members -= 0", tests=_OBJECTS),
    _of(
        "gang",
        "limits-beside-requests",
        '"resources.limits" if requests is None else "resources.requests"',
        '"resources.limits"',
        tests=_OBJECTS,
    ),
    _of(
        "ports",
        "declared-port-is-not-read",
        "return next((port for port in ports if port), DEFAULT_PORT)",
        "return DEFAULT_PORT",
        tests=_OBJECTS,
    ),
    _of(
        "ports",
        "one-number-twice",
        "ports.setdefault((value, protocol), port)",
        "ports.setdefault((value, text(item, 'name')), port)",
        tests=_OBJECTS,
    ),
    _of("elastic", "empty-keys", "if not key or wrong is not None:", "if wrong is not None:", tests=_RULES),
    _of(
        "elastic",
        "smaller-maximum",
        "low is None or high is None or low <= high",
        "low is None or high is None or low <= high + 1",
        tests=_RULES,
    ),
    _of(
        "template_rules",
        "sidecars-train",
        "if _has_containers(slot) and all(",
        "if _has_containers(slot) and not any(True for _ in slot.containers) and all(",
        tests=_RULES,
    ),
)
