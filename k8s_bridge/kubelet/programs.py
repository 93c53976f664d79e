"""The programs of launch lines that a run on one machine treats specially, as the kinds declare them."""

from typing import Final

from statemachine.kinds import KINDS

PROGRAMS: Final = tuple(dict.fromkeys(program for kind in KINDS for program in kind.programs))

HOME_FILES: Final = tuple(name for program in PROGRAMS for name in program.home_files)
"""Files beside the folder of SSH keys that programs read."""
