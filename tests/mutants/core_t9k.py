"""Mutants of what the T9k kinds share: their life, rules, objects and status."""

from typing import Final

from tests.mutants.model import Mutant

_KINDS: Final = "tests/unit/kinds"
_OBJECTS: Final = (
    *(f"{_KINDS}/test_children.py", f"{_KINDS}/test_services.py"),
    *("tests/golden", "tests/scenarios"),
)
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


def _t9k(module: str, name: str, old: str, new: str, tests: tuple[str, ...]) -> Mutant:
    return Mutant(f"t9k-{module}-{name}", f"statemachine.kinds.t9k.{module}", old, new, tests)


MUTANTS: Final = (
    _t9k("life", "137-is-permanent", "frozenset({130, 137, 138, 143})", "frozenset({130, 138, 143})", _LIFE),
    _t9k("life", "group-after-the-end", 'child.kind != "PodGroup" or job.phase.is_active', "True", _LIFE),
    _t9k(
        "life",
        "restart-after-outcome",
        "    restart,  # an ended replica is judged before anybody asks whether the job ended\n    deadline,  # …\n",
        "    deadline,  # …\n",
        _LIFE,
    ),
    _t9k(
        "life",
        "running-after-outcome",
        "    running,\n    recovered,\n    outcome,\n",
        "    outcome,\n    running,\n    recovered,\n",
        _LIFE,
    ),
    _t9k(
        "life",
        "pause-after-outcome",
        "    pause,  # a wish to pause comes before starting or ending by what was seen in the same moment\n"
        "    paused,  # which is done when nothing runs any more\n"
        "    scale,\n",
        "    scale,\n",
        _LIFE,
    ),
    _t9k(
        "life",
        "requests-before-the-clean-up",
        "    outcome,\n    clean_up,  # once the phase is final\n    delays,\n    requests,",
        "    requests,\n    outcome,\n    clean_up,  # once the phase is final\n    delays,\n    requests,",
        _LIFE,
    ),
    _t9k(
        "elastic",
        "leftovers-to-the-last",
        "key=lambda index: -(rest * shares[index][0] % total)",
        "key=lambda index: rest * shares[index][0] % total",
        _PLANS,
    ),
    _t9k(
        "elastic",
        "nobody-has-one-to-begin-with",
        "scales = [1 + rest * weight // total if",
        "scales = [rest * weight // total if",
        _PLANS,
    ),
    _t9k(
        "elastic",
        "scale-is-never-ignored",
        "if draft.old is not None and not is_elastic(draft.spec) and",
        "if False and",
        _LIFE,
    ),
    _t9k("elastic", "least-of-zero", "low >= 1 and", "low >= 0 and", _RULES),
    _t9k(
        "modes",
        "resume-wins-over-debug",
        "    if debug is not None:",
        "    if debug is not None and not resumed:",
        _OBJECTS,
    ),
    _t9k("modes", "resume-from-the-first-start", "if resumed else None", "if True else None", _OBJECTS),
    _t9k(
        "modes",
        "probes-while-debugging",
        "skip_init=bool(entry and entry.skip_init_container), bare=True)",
        "skip_init=bool(entry and entry.skip_init_container), bare=False)",
        _OBJECTS,
    ),
    _t9k("modes", "empty-args-are-no-args", "if how.args is not None:", "if how.args:", _OBJECTS),
    _t9k(
        "pods",
        "template-wins-over-labels",
        '{**entries(slot.template, "metadata.labels"), **labels}',
        '{**labels, **entries(slot.template, "metadata.labels")}',
        _OBJECTS,
    ),
    _t9k(
        "pods",
        "attempt-of-the-template",
        "{**slot.annotations, ATTEMPT: str(attempt)}",
        "{ATTEMPT: str(attempt), **slot.annotations}",
        _OBJECTS,
    ),
    _t9k("pods", "first-attempt-again", "known.attempt if known else 0", "1", _LIFE),
    _t9k("pods", "template-restarts", '    spec["restartPolicy"] = "Never"\n', "", _OBJECTS),
    _t9k(
        "pods",
        "user-cannot-refer-to-variables",
        'return {**container, "env": [*env, *own]}',
        'return {**container, "env": [*own, *env]}',
        _OBJECTS,
    ),
    _t9k(
        "pods",
        "unbuffered-however-the-user-says",
        'if not any(text(entry, "name") == "PYTHONUNBUFFERED" for entry in own):',
        "if True:",
        _OBJECTS,
    ),
    _t9k(
        "services",
        "of-ready-pods",
        '"publishNotReadyAddresses": True',
        '"publishNotReadyAddresses": False',
        _OBJECTS,
    ),
    _t9k(
        "services",
        "shared-by-two-kinds",
        "for key in (OWNER_NAME, OWNER_KIND)}",
        "for key in (OWNER_NAME,)}",
        _OBJECTS,
    ),
    _t9k(
        "services",
        "own-of-any-kind",
        '(OWNER_NAME, OWNER_KIND, "replica-type",',
        '(OWNER_NAME, "replica-type",',
        _OBJECTS,
    ),
    _t9k("services", "domain-of-the-day", "job.settings[CLUSTER_DOMAIN]", "'cluster.local'", _OBJECTS),
    _t9k(
        "services",
        "ours-behind-a-wildcard",
        "[domain, *(other for other in searches if other != domain)]",
        "[*(other for other in searches if other != domain), domain]",
        _OBJECTS,
    ),
    _t9k(
        "services",
        "template-s-searches-are-lost",
        "[domain, *(other for other in searches if other != domain)]",
        "[domain]",
        _OBJECTS,
    ),
    _t9k("status", "init-containers-are-shown", " if not container.init\n", "\n", _LIFE),
    _t9k(
        "status",
        "no-exit-code",
        "{} if container.exit_code is None else",
        "{} if not container.exit_code else",
        _LIFE,
    ),
    _t9k(
        "tensorboard",
        "old-board-takes-the-new-one-away",
        'known.uid not in ("", observation.gone_uid)',
        'known.uid == ""',
        _LIFE,
    ),
    _t9k("status", "outdated-board-is-ready", "    elif known.outdated:", "    elif False:", _LIFE),
    _t9k(
        "status",
        "error-of-a-board-is-hidden",
        "    if known and known.error:",
        "    if False and known.error:",
        _LIFE,
    ),
    _t9k(
        "launcher",
        "launcher-at-once",
        "Launch.AT_ONCE if mode.debug.enabled else Launch.WHEN_READY",
        "Launch.AT_ONCE",
        _LIFE,
    ),
    _t9k(
        "launcher",
        "workers-stay",
        "CleanUpPolicy.WORKERS if policy.clean_up_workers else CleanUpPolicy.NONE",
        "CleanUpPolicy.NONE",
        _LIFE,
    ),
    _t9k(
        "immutable",
        "debug-may-change",
        'return flag(spec, "runMode.debug.enabled"), _entries(spec, "runMode.debug.replicaSpecs")',
        'return _entries(spec, "runMode.debug.replicaSpecs")',
        _RULES,
    ),
    _t9k(
        "immutable",
        "default-is-a-change",
        "(default if old is None else old) != (default if new is None else new)",
        "old != new",
        _RULES,
    ),
    _t9k(
        "immutable",
        "false-in-a-list-is-a-change",
        "{key: value for key, value in item.items() if value}",
        "dict(item)",
        _RULES,
    ),
    _t9k("templates", "equal-request-is-too-much", "asked > limit:", "asked >= limit:", _RULES),
    _t9k(
        "templates",
        "init-containers-are-not-read",
        '("containers", "initContainers")',
        '("containers",)',
        _RULES,
    ),
    _t9k(
        "templates",
        "disk-is-shared-memory",
        'find(volume, "emptyDir.medium") == "Memory"\n            and ',
        "",
        _RULES,
    ),
    _t9k(
        "ssh",
        "below-the-directory-is-free",
        'f"{normpath(path)}/".startswith(f"{taken}/")',
        "normpath(path) == taken",
        _COLOSSAL,
    ),
    _t9k(
        "ssh",
        "everybody-reads-the-key",
        "_OWNER_ONLY: Final = 0o600",
        "_OWNER_ONLY: Final = 0o644",
        _COLOSSAL,
    ),
    _t9k(
        "general",
        "debug-of-nobody",
        "if mentioned and mentioned not in known]",
        "if mentioned and mentioned in known]",
        _RULES,
    ),
)
