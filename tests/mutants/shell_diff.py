"""Mutants of the difference between wished and live children."""

from typing import Final

from tests.mutants.model import Mutant

_DIFF: Final = "projectors.diff"

_AT: Final = "tests/unit/projectors/"
_ON_DIFF: Final = (_AT + "test_diff.py",)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        "diff-group-that-outlived-a-pause-not-reported",
        _DIFF,
        "differs = last is None or (last.uid, last.facts) != (_uid(manifest), facts)",
        "differs = last is None or last.facts != facts",
        _ON_DIFF,
    ),
    Mutant(
        "diff-group-of-which-a-pause-hid-the-report-not-reported",
        _DIFF,
        "differs = last is None or (last.uid",
        "differs = last is not None and (last.uid",
        _ON_DIFF,
    ),
    Mutant(
        "diff-group-whose-last-report-is-old-not-reported",
        _DIFF,
        "(last.uid, last.facts) != (_uid(manifest), facts)",
        "last.uid != _uid(manifest)",
        _ON_DIFF,
    ),
    Mutant(
        "diff-child-that-goes-not-waited-for",
        _DIFF,
        "elif not child.replica and _is_deleting(live_child):",
        "elif False:",
        _ON_DIFF,
    ),
    Mutant(
        "diff-deletes-what-others-made",
        _DIFF,
        "elif key not in desired_by_name and key[0] in MANAGED and",
        "elif key not in desired_by_name and",
        _ON_DIFF,
    ),
    Mutant(
        "diff-deletes-again-what-goes",
        _DIFF,
        "key[0] in MANAGED and not _is_deleting(manifest)",
        "key[0] in MANAGED",
        _ON_DIFF,
    ),
    Mutant(
        "diff-edited-labels-are-believed",
        _DIFF,
        "if desired_child is not None and _replica_name(manifest) != desired_child.replica:",
        "if False:",
        _ON_DIFF,
    ),
    Mutant(
        "diff-nothing-is-doubtful",
        _DIFF,
        "yield _delete(state, manifest, doubtful=not state.deleted)",
        "yield _delete(state, manifest, doubtful=False)",
        _ON_DIFF,
    ),
    Mutant(
        "diff-creates-while-the-retry-timer-runs",
        _DIFF,
        "if not blocked and _may_create(state, child):",
        "if _may_create(state, child):",
        _ON_DIFF,
    ),
    Mutant(
        "diff-deletes-a-later-attempt",
        _DIFF,
        "attempt > replica.attempt and not state.deleted:",
        "attempt > replica.attempt + 1 and not state.deleted:",
        _ON_DIFF,
    ),
    Mutant(
        "diff-reports-a-pod-of-another-name",
        _DIFF,
        "if ref.name == kind_of(state.api_version, state.kind).pod_name(state, replica.name):",
        "if True:",
        _ON_DIFF,
    ),
    Mutant(
        "diff-believes-a-late-report-of-a-tensorboard",
        _DIFF,
        "(last.outdated or differs)",
        "last.outdated",
        _ON_DIFF,
    ),
    Mutant(
        "diff-current-attempt-is-retired",
        _DIFF,
        "or attempt < replica.attempt or not",
        "or attempt <= replica.attempt or not",
        _ON_DIFF,
    ),
    Mutant(
        "diff-spared-pod-deleted-after-its-end",
        _DIFF,
        "if spared and _will_be_told(manifest):",
        "if False:",
        _ON_DIFF,
    ),
    Mutant(
        "diff-deletes-pods-of-a-refused-job",
        _DIFF,
        "if stays or _is_deleting(manifest) or _is_not_understood(state)",
        "if stays or _is_deleting(manifest)",
        _ON_DIFF,
    ),
    Mutant(
        "diff-spared-pod-deleted-in-any-version",
        _DIFF,
        "doubtful=doubtful, as_seen=spared)",
        "doubtful=doubtful)",
        _ON_DIFF,
    ),
    Mutant(
        "diff-releases-before-the-deletion-of-a-deleted-job",
        _DIFF,
        "yield from [*deletes, *releases] if state.deleted else [*releases, *deletes]",
        "yield from [*releases, *deletes]",
        _ON_DIFF,
    ),
    Mutant(
        "diff-deletes-before-the-release",
        _DIFF,
        "yield from [*deletes, *releases] if state.deleted else [*releases, *deletes]",
        "yield from [*deletes, *releases]",
        _ON_DIFF,
    ),
    Mutant(
        "diff-children-of-a-deleted-job-in-any-version",
        _DIFF,
        "if state.deleted or as_seen else",
        "if as_seen else",
        _ON_DIFF,
    ),
    Mutant(
        "diff-second-pod-of-an-attempt-stays",
        _DIFF,
        'return replica.has_pod and replica.uid in ("", uid)',
        "return replica.has_pod",
        _ON_DIFF,
    ),
    Mutant(
        "diff-pod-without-report-let-go",
        _DIFF,
        "if is_held and not retired and _is_unheard_of(state, replica, manifest):",
        "if False:",
        _ON_DIFF,
    ),
    Mutant(
        "diff-ended-job-holds-a-pod",
        _DIFF,
        "return waits and not state.is_final and not state.deleted and",
        "return waits and not state.deleted and",
        _ON_DIFF,
    ),
    Mutant(
        "diff-pending-pod-on-a-node-let-go",
        _DIFF,
        'unplaced = never_ran and not manifest.get("spec", {}).get("nodeName")',
        "unplaced = never_ran",
        _ON_DIFF,
    ),
    Mutant(
        "diff-any-deletion-is-the-last-step",
        _DIFF,
        'return "deletionTimestamp" in meta and meta.get("deletionGracePeriodSeconds") == 0',
        'return "deletionTimestamp" in meta',
        _ON_DIFF,
    ),
    Mutant(
        "diff-waits-for-an-end-without-attempt",
        _DIFF,
        "return ended and attempt_of(manifest) > 0",
        "return ended",
        _ON_DIFF,
    ),
    Mutant(
        "diff-creates-for-a-job-that-goes",
        _DIFF,
        "if state.terminating or (state.is_final and not child.optional):",
        "if state.is_final and not child.optional:",
        _ON_DIFF,
    ),
    Mutant(
        "diff-creates-an-observed-attempt-again",
        _DIFF,
        "return not child.replica or not state.replicas[child.replica].uid",
        "return True",
        _ON_DIFF,
    ),
)
