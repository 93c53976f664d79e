"""What is observed of a child, for lines of a history."""

from collections.abc import Mapping


def shown_facts(facts: Mapping[str, str]) -> str:
    """The facts in a line: one that is merely true by its name, of others the value."""
    return ", ".join(name if value == "true" else value for name, value in facts.items())
