"""What a process is there for: any part of the controller, or all of it."""

from enum import StrEnum
from typing import Final

from jobledger.program.errors import nearest
from statemachine.errors import ConfigError


class Role(StrEnum):
    """A part of the controller that can run in a process of its own."""

    BRIDGE = "bridge"
    """Watches the cluster and says what it notices."""
    ENGINE = "engine"
    """Decides: the only writer of the log's entries."""
    PROJECTORS = "projectors"
    """Make the cluster, and the other views, follow the log."""
    FRONT = "front"
    """Answers HTTP."""


Roles = frozenset[Role]

ALL: Final[Roles] = frozenset(Role)


def roles_of(text: str) -> Roles:
    """The roles in `bridge,engine`; all of them for an empty text. Raises ConfigError."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if name not in list(Role):
            near = nearest(name, list(Role))
            hint = f'did you mean "{near}"? ' if near else ""
            raise ConfigError(f'"{name}" is no role; {hint}there are {", ".join(Role)}')
    return frozenset(map(Role, names)) or ALL
