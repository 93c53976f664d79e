"""Is what we import really ours? Nothing but the standard library is imported before that is known.

`statemachine`, `projectors` and `k8s_bridge` are general words: installers let another distribution of such a
name into the same folder without a word, and removing one then breaks the other. So start-up looks, and
refuses; and a command that fails for whatever reason looks here before it calls that a bug.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

OURS: Final = "jobledger"
PACKAGES: Final = ("jobledger", "projectors", "k8s_bridge", "statemachine")


def intruder(installed: Mapping[str, Iterable[str]] | None = None) -> str:
    """The sentence about another distribution that owns one of our packages; empty if there is none.

    `installed` maps top-level packages to the names of distributions, as `packages_distributions` does.
    """
    owners = _installed() if installed is None else installed
    for package in PACKAGES:
        for other in sorted(set(owners.get(package, ()))):
            if other.lower() != OURS:
                return (
                    f'the installed distribution "{other}" also brings the package "{package}", which is part '
                    f"of {OURS}, and one has overwritten files of the other; give {OURS} an environment of its "
                    f"own, or uninstall both and then install {OURS} again"
                )
    return ""


def lost(files: Iterable[Path] | None = None) -> str:
    """The sentence about a file of ours that is not there: another distribution took it along when it went.

    `files`: where those of our packages should be; by default as the installer has recorded it.
    """
    gone = next((file for file in (_recorded() if files is None else files) if not file.exists()), None)
    if gone is None:
        return ""
    return (
        f"the file {gone} of {OURS} is missing: another distribution that brings the same file has been "
        f"uninstalled; install {OURS} again (pip install --force-reinstall --no-deps {OURS})"
    )


def damage() -> str:
    """The sentence about what is wrong with this installation; empty if nothing is."""
    return intruder() or lost()


def check() -> None:
    """Every package that we import is ours. Raises ConfigError."""
    sentence = damage()
    if sentence:
        from statemachine.errors import ConfigError

        raise ConfigError(sentence)


def guarded(command: Callable[[], int]) -> int:
    """The exit code of `command`; 2 and a sentence if it failed because something else is in our place."""
    try:
        return command()
    except Exception:
        sentence = damage()
        if not sentence:
            raise
        sys.stderr.write(f"{OURS}: {sentence}\n")
        return 2


def _installed() -> Mapping[str, Iterable[str]]:
    from importlib.metadata import packages_distributions  # a tenth of a second, which `--help` need not wait

    return packages_distributions()


def _recorded() -> list[Path]:
    from importlib.metadata import PackageNotFoundError, files

    try:
        listed = files(OURS) or []
    except PackageNotFoundError:  # a checkout
        return []
    return [Path(str(file.locate())) for file in listed if file.parts[0] in PACKAGES and file.suffix == ".py"]
