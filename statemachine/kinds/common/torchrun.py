"""torchrun on one machine, where all nodes of its rendezvous have one address."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from statemachine.programs import OneHost, Program


def _variables(argv: Sequence[str], env: Mapping[str, str], here: OneHost) -> Mapping[str, str]:
    """What torchrun has to know where all nodes are one: its address, and whether it serves the rendezvous.

    It would find out by comparing names and addresses, and those are the same for every pod here: a worker
    might serve in the master's place, and everybody would lose it when that worker is restarted.
    """
    line = " ".join(argv)
    if "--rdzv_endpoint" in line or "--rdzv-endpoint" in line:
        endpoint = line
    elif "PET_RDZV_ENDPOINT" in env:
        endpoint = env["PET_RDZV_ENDPOINT"]
    else:
        return {}
    more = {} if "PET_LOCAL_ADDR" in env else {"PET_LOCAL_ADDR": here.address}
    servers = [name for name, ports in here.services.items() if _names_one(endpoint, here.address, ports)]
    if servers and not ("--rdzv_conf" in line or "--rdzv-conf" in line or "PET_RDZV_CONF" in env):
        more["PET_RDZV_CONF"] = f"is_host={str(here.pod in servers).lower()}"
    return more


def _names_one(text: str, address: str, ports: Mapping[int, int]) -> bool:
    return any(re.search(rf"{re.escape(address)}:{port}(?!\d)", text) for port in ports.values())


TORCHRUN: Final = Program("torchrun", "torch.distributed.run", _variables)
