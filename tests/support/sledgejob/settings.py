"""What is configured for SledgeJobs."""

from typing import Literal

from statemachine.kind import OptInSettings


class SledgeJobSettings(OptInSettings):
    """Sledges of the north, which others may pull."""

    pace: Literal["walk", "trot"] = "walk"
    """How fast a sledge goes: walk or trot. Default walk, for safety."""

    sleigh_bell: str = ""
    """Image of the bell. Default: none."""
