"""The programs of launch lines that a run on one machine has to know more of than their name: the kinds know them."""

from typing import Final

from statemachine.kinds import KINDS

PROGRAMS: Final = tuple(dict.fromkeys(program for kind in KINDS for program in kind.programs))

HOME_FILES: Final = tuple(name for program in PROGRAMS for name in program.home_files)
"""Files beside the directory of SSH keys that programs read."""
