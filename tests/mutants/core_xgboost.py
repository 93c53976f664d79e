"""Mutants of XGBoostTrainingJob, and of what kinds with a list of replica types share."""

from typing import Final

from tests.mutants.model import Mutant

_TESTS: Final = (
    "tests/unit/kinds/test_xgboost.py",
    "tests/unit/kinds/test_generic_rules.py",
    "tests/scenarios/test_xgboost_examples.py",
    "tests/golden",
)


def _of(module: str, name: str, old: str, new: str) -> Mutant:
    whole = f"statemachine.{module}"
    return Mutant(f"xgboost-{module.rpartition('.')[2]}-{name}", whole, old, new, _TESTS)


def _own(module: str, name: str, old: str, new: str) -> Mutant:
    return _of(f"kinds.xgboosttrainingjob.{module}", name, old, new)


MUTANTS: Final = (
    _own("roles", "no-clean-up", "CleanUpPolicy(spec.run_policy.clean_up_policy)", "CleanUpPolicy.NONE"),
    _own("roles", "no-deadline", "=spec.run_policy.active_deadline_seconds", "=None"),
    _own("roles", "variables-are-the-user-s", '"WORLD_SIZE", "RANK"),', '"WORLD_SIZE"),'),
    _own("rules", "several-masters", "in (None, 1) for item", "!= 0 for item"),
    _own("children", "worker-of-rank-0", "member.index + 1", "member.index"),
    _own("children", "size-without-the-master", "running_plan.scale),", "running_plan.scale - 1),"),
    _own("children", "always-the-usual-port", "self.slots.get(MASTER), PORT_NAMES", "None, PORT_NAMES"),
    _of("kinds.t9k.listed", "no-room-for-the-hash", "(6, ", "(5, "),
    _of("kinds.t9k.listed", "no-replicas-are-none", "1 if value is None else value", "value or 0"),
    _of(
        "kinds.t9k.templates",
        "any-container-will-do",
        'text(container, "name") in (name, *also)',
        'text(container, "name")',
    ),
    _of("schema.layout", "last-port-counts", "for name in names\n", "for name in reversed(names)\n"),
)
