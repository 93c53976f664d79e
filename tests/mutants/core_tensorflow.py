"""Mutants of TensorFlowTrainingJob, and of the ports of a Service that types differ in."""

from typing import Final

from tests.mutants.model import Mutant

_TESTS: Final = (
    "tests/unit/kinds/test_tensorflow.py",
    "tests/unit/kinds/test_services.py",
    "tests/scenarios/test_tensorflow_examples.py",
    "tests/golden",
)


def _of(module: str, name: str, old: str, new: str) -> Mutant:
    whole = f"statemachine.{module}"
    return Mutant(f"tensorflow-{module.rpartition('.')[2]}-{name}", whole, old, new, _TESTS)


def _own(module: str, name: str, old: str, new: str) -> Mutant:
    return _of(f"kinds.tensorflowtrainingjob.{module}", name, old, new)


MUTANTS: Final = (
    _own("roles", "no-clean-up", "CleanUpPolicy(spec.run_policy.clean_up_policy)", "CleanUpPolicy.NONE"),
    _own("roles", "no-deadline", "=spec.run_policy.active_deadline_seconds", "=None"),
    _own("roles", "no-limit", "=spec.run_policy.backoff_limit", "=3"),
    _own("roles", "starts-although-paused", "=spec.run_mode.pause.enabled", "=False"),
    _own("roles", "no-board", "if spec.tensorboard_spec is None", "if True"),
    _own("roles", "worker-0-always-decides", "CHIEF if chief else", "CHIEF if False else"),
    _own("roles", "a-chief-of-no-replicas-decides", "== CHIEF and replica.replicas", "== CHIEF"),
    _own("roles", "the-variable-is-the-user-s", "(TF_CONFIG,))", "())"),
    _own("rules", "two-chiefs", "(CHIEF, 0) <= 1", "(CHIEF, 0) <= 2"),
    _own("rules", "nobody-trains", "return of.get(CHIEF, 0) >= 1", "return of.get(CHIEF, 0) >= 0"),
    _own("rules", "workers-alone-do-not-train", "or of.get(WORKER, 0) >= 1", "and of.get(WORKER, 0) >= 1"),
    _own("rules", "one-evaluator-is-unusual", "(EVALUATOR, 0) > 1", "(EVALUATOR, 0) > 0"),
    _own("children", "evaluator-in-the-cluster", "(CHIEF, WORKER, PS)", '(CHIEF, WORKER, PS, "evaluator")'),
    _own("children", "servers-before-workers", "(CHIEF, WORKER, PS)", "(CHIEF, PS, WORKER)"),
    _own("children", "types-without-replicas", "if scales.get(type_)", "if type_ in scales"),
    _own("children", "everybody-is-replica-0", '"index": member.index', '"index": 0'),
    _own("children", "always-the-usual-port", "self.slots.get(type_), PORT_NAMES", "None, PORT_NAMES"),
    _own("children", "blanks", 'hosts, separators=(",", ":")', "hosts"),
    _own(
        "children",
        "board-without-being-asked-for",
        '("tensorboardSpec") is not None',
        '("tensorboardSpec") or True',
    ),
    _own("children", "group-of-one", "t9k_scheduler, plan.scale)", "t9k_scheduler, 1)"),
    _of("kinds.t9k.services", "a-number-twice", "if port not in united.values()", "if True"),
    _of("kinds.t9k.services", "a-name-for-two-numbers", "if name in united else name", "if False else name"),
    _of("kinds.t9k.services", "ports-asked-for-once", "tuple(members), ports", "iter(members), ports"),
)
