"""Mutants of BeamJob."""

from typing import Final

from tests.mutants.model import Mutant

_TESTS: Final = (
    "tests/unit/kinds/test_beam.py",
    "tests/unit/bridge/test_made_pods.py",
    "tests/unit/projectors/test_asking.py",
    "tests/scenarios/test_beam_examples.py",
    "tests/golden",
)


def _own(module: str, name: str, old: str, new: str, *, equivalent: str = "") -> Mutant:
    whole = f"statemachine.kinds.beamjob.{module}"
    return Mutant(f"beam-{module}-{name}", whole, old, new, _TESTS, equivalent=equivalent)


MUTANTS: Final = (
    _own("life", "job-before-the-cluster", "return is_launched(job)", "return True"),
    _own("life", "cluster-always-stays", "return not (job.is_final and _cleans_up(job))", "return True"),
    _own("life", "launch-comes-too-early", "missing is None and not _holds", "not _holds"),
    _own(
        "life",
        "a-leaving-pod-serves",
        "and not replica.leaving and",
        "and",
        equivalent="a Flink pod that runs is dismissed only when its job has ended, and then nothing is said of it",
    ),
    _own(
        "life",
        "an-end-is-not-running",
        "or _end(state):\n        yield entered",
        "and True:\n        yield entered",
    ),
    _own("life", "failed-is-success", 'if ended == "Complete":', "if ended:"),
    _own("life", "a-deleted-job-is-waited-for", "elif submit.LOST in known.facts:", "elif False:"),
    _own("life", "cleaned-cluster-runs", "    if _cleans_up(state):\n", "    if False:\n"),
    _own("life", "unknown-forgets-running", "if state.has_run else", "if not state.has_run else"),
    _own("submit", "late-reports-count", "< _PROGRESS.get(phase_of(known), 0)", "< 0"),
    _own("submit", "an-end-is-forgotten", "and ENDED in known.facts and ENDED not in", "and ENDED in"),
    _own("submit", "pods-without-bound", "len(submit_pods(state)) < _MOST_PODS", "True"),
    _own("submit", "any-condition-is-the-end", 'and text(condition, "status") == "True"', ""),
    _own("submit", "asked-for-ever", "not flink_id(state) and", ""),
    _own("flink", "two-runners", 'arg == "--runner" or ', ""),
    _own("flink", "whole-version", 'version.split(".")[:2]', 'version.split(".")'),
    _own("flink", "properties-as-written", "sorted(properties.items())", "properties.items()"),
    _own("flink", "any-id-will-do", "if _ID.fullmatch(id_ :=", "if (id_ :="),
    _own("flink", "first-job-counts", "return max(started", "return min(started"),
    _own(
        "roles",
        "never-cleaned-up",
        "CleanUpPolicy.ALL if spec.run_policy.clean_up_cluster else CleanUpPolicy.NONE",
        "CleanUpPolicy.NONE",
    ),
    _own(
        "children",
        "submit-pods-are-nobody-s",
        "{**slot.annotations, JOB_UID: job.state.uid}",
        "dict(slot.annotations)",
    ),
    _own("children", "flink-ends-like-any-pod", '"restartPolicy": "Always"', '"restartPolicy": "Never"'),
    _own("status", "submit-pods-are-not-counted", ".lower()] += 1", ".lower()] += 0"),
    _own(
        "status",
        "pending-stays-pending",
        "INITIALIZING if phase is Phase.PENDING else phase.value",
        "phase.value",
    ),
    _own("status", "last-failure-counts", "for pod in pods[:-1])", "for pod in pods)"),
    _own("rules", "properties-overwrite-addresses", "for name in OURS:", "for name in OURS[:2]:"),
    _own("rules", "several-lines", "len(said.splitlines()) > 1", "False"),
)
