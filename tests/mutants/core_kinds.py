"""Mutants of what all kinds share, and of single kinds: specs, updates, plans, command lines."""

from typing import Final

from tests.mutants.model import Mutant

_KINDS: Final = "tests/unit/kinds"
_OBJECTS: Final = (f"{_KINDS}/test_children.py", "tests/golden", "tests/scenarios")
_LIFE: Final = ("tests/scenarios",)
_RULES: Final = (
    f"{_KINDS}/test_shared_rules.py",
    f"{_KINDS}/test_torch_rules.py",
    f"{_KINDS}/test_pod_templates.py",
)
_UPDATES: Final = (f"{_KINDS}/test_admission.py", "tests/scenarios", f"{_KINDS}/test_shared_rules.py")
_PLANS: Final = (f"{_KINDS}/test_plan.py", "tests/scenarios")
_DEEPSPEED: Final = (
    *(f"{_KINDS}/test_deepspeed_children.py", f"{_KINDS}/test_deepspeed_rules.py"),
    "tests/scenarios/test_deepspeed.py",
)
_COLOSSAL: Final = (
    *(f"{_KINDS}/test_colossal_rules.py", f"{_KINDS}/test_colossal_older.py", "tests/golden"),
    *("tests/scenarios/test_launcher.py", "tests/scenarios/test_colossal_examples.py"),
)


def _of(
    module: str, name: str, old: str, new: str, tests: tuple[str, ...], *, equivalent: str = ""
) -> Mutant:
    """A mutant of `module` of `statemachine.kinds`, or of `statemachine.schema`."""
    whole = f"statemachine.{module}" if module.startswith("schema.") else f"statemachine.kinds.{module}"
    return Mutant(f"{module.replace('.', '-')}-{name}", whole, old, new, tests, equivalent)


_VERSIONS: Final = (f"{_KINDS}/test_versions.py",)

MUTANTS: Final = (
    _of(
        "common.stored",
        "equal-is-the-same",
        "others.get(key, self) is spec[key]",
        "others.get(key, self) == spec[key]",
        _VERSIONS,
    ),
    _of(
        "common.stored",
        "what-no-job-has-is-kept",
        "_parsed(self) if self.job else parsed(self.model, self.spec)",
        "_parsed(self)",
        _VERSIONS,
    ),
    _of(
        "common.kind",
        "children-of-a-new-reading",
        "Version(self.model, job.uid, job.spec).stored()",
        "Version(self.model, NO_UID, job.spec).stored()",
        _VERSIONS,
    ),
    _of("common.kind", "a-change-is-judged-again", "if is_same(spec, reading.spec):", "if False:", _VERSIONS),
    _of(
        "common.update",
        "true-is-one",
        "elif old != new or isinstance(old, bool) is not isinstance(new, bool):",
        "elif old != new:",
        _UPDATES,
    ),
    _of(
        "common.update",
        "lists-are-not-entered",
        "yield from _differences(was, now, here, into_lists=True)",
        "yield from _differences(was, now, here)",
        _UPDATES,
    ),
    _of(
        "common.update",
        "removed-fields-stay",
        "for key in dict.fromkeys([*old, *new]):",
        "for key in new:",
        _UPDATES,
    ),
    _of(
        "common.kind",
        "old-faults-are-refused",
        "tuple(problem for problem in problems if problem not in accepted)",
        "tuple(problems)",
        _UPDATES,
    ),
    _of(
        "common.kind",
        "old-warnings-again",
        "[notice for notice in notices if notice not in warned]",
        "list(notices)",
        _UPDATES,
    ),
    _of(
        "common.kind",
        "running-jobs-are-refused",
        "if runs and problems and model is not None:",
        "if False:",
        _UPDATES,
    ),
    _of(
        "common.kind",
        "fixed-by-beginning",
        'f"{path}.".startswith(f"{fixed}.")',
        "path.startswith(fixed)",
        _UPDATES,
    ),
    _of(
        "common.counts",
        "one-more-replica",
        "if value > MOST_REPLICAS:",
        "if value > MOST_REPLICAS + 1:",
        _RULES,
    ),
    _of(
        "common.counts",
        "types-together",
        "if sum(values) > MOST_REPLICAS >= max(values, default=0):",
        "if False:",
        _RULES,
    ),
    _of(
        "common.names",
        "last-index-is-the-number",
        "str(max(0, replicas - 1))",
        "str(max(0, replicas))",
        _RULES,
    ),
    _of("common.names", "one-character-more", "_MOST: Final = 63", "_MOST: Final = 64", _RULES),
    _of(
        "schema.quantities",
        "k-is-1024",
        '"k": Decimal(10**3)',
        '"k": Decimal(2**10)',
        (f"{_KINDS}/test_quantities.py", *_RULES),
    ),
    _of(
        "common.strangers", "as-many-as-there-are", "[:left]:", ":", (f"{_KINDS}/test_pod_fields.py", *_RULES)
    ),
    _of(
        "common.strangers",
        "lists-are-not-entered",
        "        if isinstance(value, list):",
        "        if False:",
        (f"{_KINDS}/test_pod_fields.py", *_RULES),
    ),
    _of("common.recorded", "negative-counts", "value is not None and value >= 0", "value is not None", _LIFE),
    _of(
        "pytorchtrainingjob.roles",
        "elastic-without-torchrun",
        "return spec.elastic.enabled and spec.torchrun_config.enabled",
        "return spec.elastic.enabled",
        _PLANS,
    ),
    _of(
        "pytorchtrainingjob.roles",
        "up-with-all",
        "min_running=spec.elastic.min_replicas if _is_elastic(spec) else None",
        "min_running=None",
        _PLANS,
    ),
    _of("pytorchtrainingjob.launch", "options-twice", ' if f"__{name}" not in named', "", _OBJECTS),
    _of(
        "pytorchtrainingjob.launch",
        "endpoint-of-every-backend",
        '    if torchrun.rdzv_backend == "c10d":\n',
        "    if True:\n",
        _OBJECTS,
        equivalent="a job with another rendezvous is admitted only with an endpoint of its own, and that one wins",
    ),
    _of(
        "pytorchtrainingjob.children",
        "ranks-for-torchrun",
        "    if job.spec.torchrun_config.enabled:\n        return always\n",
        "",
        _OBJECTS,
    ),
    _of(
        "t9k.workers",
        "no-processes",
        "return max(1, int(gpus or 1))",
        "return int(gpus or 1)",
        _DEEPSPEED,
    ),
    _of(
        "deepspeedjob.roles",
        "scaled-in-place",
        "anew_on_scale=spec.elastic.enabled",
        "anew_on_scale=False",
        _DEEPSPEED,
    ),
    _of("deepspeedjob.launch", "first-port-counts", "int(said[-1])", "int(said[0])", _DEEPSPEED),
    _of(
        "deepspeedjob.launch",
        "two-ports",
        '*(() if _said_ports(other) else (f"{PORT_OPTION}={MASTER_PORT}",)),',
        '*(f"{PORT_OPTION}={MASTER_PORT}",),',
        _DEEPSPEED,
    ),
    _of(
        "deepspeedjob.options",
        "beginnings-stand-for-anything",
        "meant[0] if len(meant) == 1 else name",
        "meant[0] if meant else name",
        _DEEPSPEED,
    ),
    _of(
        "deepspeedjob.other_args",
        "ssh-s-port",
        "SSH_PORT != int(word) <= 65535",
        "int(word) <= 65535",
        _DEEPSPEED,
    ),
    _of(
        "deepspeedjob.other_args",
        "one-worker-cannot",
        "most_workers(draft.spec) > 1",
        "most_workers(draft.spec) > 0",
        _DEEPSPEED,
    ),
    _of(
        "colossalaijob.launch",
        "value-of-the-next-option",
        ' and not args[at].startswith("--"):',
        ":",
        _COLOSSAL,
    ),
    _of("colossalaijob.launch", "options-with-commas", '"," not in name + value and', "", _COLOSSAL),
    _of("colossalaijob.children", "launcher-in-the-group", "        grouped=False,\n", "", _COLOSSAL),
    Mutant(
        "budget-lowered-limit-is-negative",
        "statemachine.kind",
        "max(0, self.limit - self.used)",
        "self.limit - self.used",
        ("tests/unit/test_budget.py", *_LIFE),
    ),
    Mutant("budget-one-more", "statemachine.kind", "return self.left == 0", "return self.left == -1", _LIFE),
    Mutant(
        "status-of-new-jobs",
        "statemachine.status",
        "{} if state.phase is Phase.NEW else ",
        "",
        ("tests/scenarios", "tests/golden"),
    ),
    Mutant(
        "upcasters-newer-is-taken",
        "statemachine.upcasters",
        "if version > known:",
        "if False:",
        ("tests/unit/test_upcasters.py",),
    ),
    Mutant(
        "upcasters-one-step",
        "statemachine.upcasters",
        "        raw = step(raw)\n",
        "        raw = step(raw)\n        break\n",
        ("tests/unit/test_upcasters.py",),
    ),
)
