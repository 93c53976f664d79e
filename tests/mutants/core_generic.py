"""Mutants of GenericJob: rules that decide, restarts of each replica, variables, validation."""

from typing import Final

from tests.mutants.model import Mutant

_LIFE: Final = (
    "tests/scenarios/test_generic.py",
    "tests/scenarios/test_generic_examples.py",
    "tests/properties/test_generic_laws.py",
)
_OBJECTS: Final = ("tests/unit/kinds/test_generic_children.py", "tests/golden")
_RULES: Final = ("tests/unit/kinds/test_generic_rules.py",)


def _of(module: str, name: str, old: str, new: str, tests: tuple[str, ...]) -> Mutant:
    return Mutant(f"generic-{module}-{name}", f"statemachine.kinds.genericjob.{module}", old, new, tests)


MUTANTS: Final = (
    _of("life", "one-replica-is-enough", "and all(replica is not", "and any(replica is not", _LIFE),
    _of("life", "a-rule-without-replicas-is-met", "return bool(named) and all", "return all", _LIFE),
    _of("life", "all-rules-have-to-be-met", "if any(_is_met", "if all(_is_met", _LIFE),
    _of(
        "life",
        "any-failed-pod-counts",
        "lambda replica: replica.lost_for_good",
        'lambda replica: replica.phase == "Failed"',
        _LIFE,
    ),
    _of(
        "life",
        "one-that-has-ended-is-enough",
        "if all(replica.has_succeeded or replica.lost_for_good",
        "if any(replica.has_succeeded or replica.lost_for_good",
        _LIFE,
    ),
    _of(
        "life",
        "an-end-without-a-rule-is-no-end",
        'reason, message = "NoRuleMatched", _NO_RULE',
        "pass",
        _LIFE,
    ),
    _of(
        "life",
        "failure-wins",
        "        yield from succeeded(state, observation)\n        return\n",
        "        yield from succeeded(state, observation)\n",
        _LIFE,
    ),
    _of(
        "life",
        "empty-types-have-to-succeed",
        " for type_ in types if type_.scale}",
        " for type_ in types[:1]}",
        _LIFE,
    ),
    _of("life", "rule-without-spaces", 'return "{ " + json', 'return "{" + json', _LIFE),
    _of(
        "life",
        "limit-of-the-whole-type",
        "job.replicas[replica].restarts",
        "sum(job.restarts.values())",
        _LIFE,
    ),
    _of(
        "life",
        "restart-after-outcome",
        "    restart,  # an ended replica is judged before a rule asks how it ended\n    pause,",
        "    pause,",
        _LIFE,
    ),
    _of("life", "no-clean-up", "    clean_up,  # once the phase is final\n", "", _LIFE),
    _of("life", "never-unknown", "    lost_and_found,\n", "", _LIFE),
    _of("roles", "a-limit-of-all", "restart_limit=replica.restart_policy.limit", "restart_limit=None", _LIFE),
    _of("roles", "nothing-is-cleaned", "CleanUpPolicy(spec.clean_up_policy)", "CleanUpPolicy.NONE", _LIFE),
    _of("roles", "never-paused", "paused=spec.run_mode.pause.enabled", "paused=False", _LIFE),
    _of("variables", "escapes-are-expanded", r'r"\$\$|\$\(', r'r"\$\(', _OBJECTS),
    _of("variables", "rank-beyond-the-last", '["rank"]) < self.', '["rank"]) <= self.', _OBJECTS),
    _of("variables", "hosts-without-services", "if self.ports is None:", "if False:", _OBJECTS),
    _of(
        "variables",
        "what-is-none-of-ours-vanishes",
        "return matched[0] if value is None",
        'return "" if value is None',
        _OBJECTS,
    ),
    _of(
        "variables", "references-lose-their-source", "if value else dict(entry)", "if value else {}", _OBJECTS
    ),
    _of(
        "children",
        "init-containers-are-left-out",
        'for name in ("containers", "initContainers"):',
        'for name in ("containers",):',
        _OBJECTS,
    ),
    _of("children", "services-always", "if spec.service is not None:", "if True:", _OBJECTS),
    _of("spec", "ranks-stay-texts", "rules.isdecimal() and rules.isascii()", "not rules", _RULES),
    _of("spec", "any-digit-is-a-number", "rules.isdecimal() and rules.isascii()", "rules.isdigit()", _RULES),
    _of("rules", "ranks-may-repeat", "rank in used or not 0", "not 0", _RULES),
    _of("rules", "rank-of-nobody", "0 <= rank < scale", "0 <= rank <= scale", _RULES),
    _of(
        "rules", "empty-ranks", "if not rule or any(ranks == [] ", "if not rule or any(ranks is None ", _RULES
    ),
    _of(
        "rules",
        "one-type-has-to-have-replicas",
        "not any(values)",
        "not all(values)",
        _RULES,
    ),
    _of("rules", "port-0", "not 1 <= value <= 65535", "not 0 <= value <= 65535", _RULES),
    _of("rules", "ports-of-one-name", "if name and name in names:", "if False:", _RULES),
    _of(
        "rules",
        "init-containers-say-anything",
        'for where in ("containers", "initContainers"):',
        'for where in ("containers",):',
        _RULES,
    ),
    _of("rules", "always-is-no-warning", '(number(policy, "limit") or 0) > 0', "False", _RULES),
)
