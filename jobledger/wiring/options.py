"""The options of a controller, whatever log and cluster it has."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jobledger.wiring.roles import ALL, Roles
from k8s_bridge.attended import EVERYTHING, Attended
from k8s_bridge.env_values import EnvValues
from k8s_bridge.ssh_keys import GENERATORS, Generate
from projectors.asking import Ask

KEEPS: Final = 1_000
"""States of closed jobs that stay in memory (5 MB), in each partition: users look at what has just ended."""


@dataclass(frozen=True)
class ControllerOptions:
    """Options of a controller.

    Jobs that are not `attended` are left as they are: no role sees their pods. `evidence`: pods are held by their
    finalizer. `env_values` keeps values of variables out of the log. A watch that gets nowhere for `silence` seconds
    is opened again; without it (None) it is waited for, as where a watch is a queue of this process. `keeps`: of how
    many closed jobs the states stay in memory, in each partition. Each level projector makes up to `workers` visits
    at once. `ask` reaches servers of jobs by the addresses of their Services; without it (None) they are not asked.
    `generators` make up what children ask for, such as SSH keys; `jitter` spreads retries (seeded in
    simulations).
    """

    roles: Roles = ALL
    attended: Attended = EVERYTHING
    evidence: bool = True
    env_values: EnvValues = field(default_factory=EnvValues)
    silence: float | None = None
    keeps: int = KEEPS
    workers: int = 8
    ask: Ask | None = None
    generators: Mapping[str, Generate] = field(default_factory=lambda: GENERATORS)
    jitter: random.Random = field(default_factory=random.Random)
