"""Mutants of MPIJob, and of what kinds with a launcher share."""

from typing import Final

from tests.mutants.model import Mutant

_KINDS: Final = "tests/unit/kinds"
_TESTS: Final = (
    *(f"{_KINDS}/test_mpi_rules.py", f"{_KINDS}/test_mpi_older.py", f"{_KINDS}/test_mpi_children.py"),
    *(f"{_KINDS}/test_mpi_here.py", "tests/scenarios/test_mpi_examples.py"),
)

_ATTACHED: Final = "        attached=(ssh_keys_at(job.state, spec.ssh.ssh_auth_mount_path), hostfile"


def _of(module: str, name: str, old: str, new: str) -> Mutant:
    whole = f"statemachine.kinds.{module}"
    return Mutant(f"mpi-{module.rpartition('.')[2]}-{name}", whole, old, new, _TESTS)


def _own(module: str, name: str, old: str, new: str) -> Mutant:
    return _of(f"mpijob.{module}", name, old, new)


MUTANTS: Final = (
    _own("launch", "no-prefix", '["--prefix", home] if home else []', "[]"),
    _own("launch", "parameters-as-written", "for key in sorted(mca)", "for key in mca"),
    _own("launch", "exported-twice", " if name not in theirs]", "]"),
    _own(
        "launch",
        "options-after-the-program",
        "        *extra,\n        *program,\n",
        "        *program,\n        *extra,\n",
    ),
    _own("launch", "no-processes", " and int(number) > 0", ""),
    _own("launch", "per-socket-is-per-node", ":node(:.*)?", ":[a-z]+(:.*)?"),
    _own("launch", "bin-of-two-slashes", "home.rstrip('/')", "home"),
    _own(
        "older",
        "both-forms-at-once",
        " for name in PRESENT):",
        " for name in ()):",
    ),
    _own(
        "older", "recovery-that-is-off", 'recovery is None or not recovery.get("enable")', "recovery is None"
    ),
    _own(
        "older", "options-behind-the-user-s", "*_recovered(recovery), *own]", "*own, *_recovered(recovery)]"
    ),
    _own("older", "no-processes", "_is_number(processes, 1)", "_is_number(processes, 0)"),
    _own("older", "silently", "(*form.notices, *_reported(worker))", "form.notices"),
    _own(
        "roles",
        "worker-comes-first",
        'CONTAINERS: Final = ("mpi-worker", "worker")',
        'CONTAINERS: Final = ("worker", "mpi-worker")',
    ),
    _own("roles", "launcher-with-claims", '("resources", "resourceClaims")', '("resources",)'),
    _own("roles", "devices-of-init-containers", "[_modest(container) for", "[container for"),
    _own(
        "roles",
        "devices-of-the-launcher",
        "without_devices(resources) if resources",
        "resources if resources",
    ),
    _own("roles", "gpus-before-options", "    if asked is not None:\n        return asked\n", ""),
    _own("children", "hosts-without-slots", " slots={slots_per_worker(state.spec)}", ""),
    _own("children", "launcher-in-the-group", "        grouped=False,\n", ""),
    _own(
        "children",
        "init-containers-stay",
        f"        skip_init=how.skip_init,\n{_ATTACHED}",
        _ATTACHED,
    ),
    _own("children", "workers-sleep-in-debug", "debug_command=server", "debug_command=DEBUG_COMMAND"),
    _own("rules", "options-with-an-equals-sign", '.partition("=")[0] in HOST', " in HOST"),
    _own("rules", "no-program-in-debug-mode", ' and not flag(draft.spec, "runMode.debug.enabled")', ""),
    _own("here", "two-parameters-that-exclude-each-other", "if _EXCLUDE not in argv and", "if"),
    _own("here", "the-user-s-interface", " if name not in env}", "}"),
    _of("t9k.older", "types-twice", "len(listed) == len(by_type)", "bool(by_type)"),
)
