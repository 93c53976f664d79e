"""Is what we import really ours? Nothing but the standard library, for it may not be.

`statemachine`, `projectors` and `k8s_bridge` are general words: installers let another distribution of such a
name into the same folder without a word, and removing one then breaks the other. So start-up looks, and
refuses.
"""

from collections.abc import Iterable, Mapping
from typing import Final

OURS: Final = "jobledger"
PACKAGES: Final = ("jobledger", "projectors", "k8s_bridge", "statemachine")


def intruder(installed: Mapping[str, Iterable[str]] | None = None) -> str:
    """The sentence about another distribution that owns one of our packages; empty if there is none.

    `installed` maps top-level packages to the names of distributions, as `packages_distributions` does.
    """
    found = _installed() if installed is None else installed
    for package in PACKAGES:
        for other in sorted(set(found.get(package, ()))):
            if other.lower() != OURS:
                return (
                    f'the installed distribution "{other}" also brings the package "{package}", which is part '
                    f"of {OURS}; uninstall one of the two, or give {OURS} an environment of its own"
                )
    return ""


def _installed() -> Mapping[str, Iterable[str]]:
    from importlib.metadata import packages_distributions  # a tenth of a second, which `--help` need not wait

    return packages_distributions()
