"""The options of deepspeed among a user's words, as its parser reads them. Source: deepspeed, launcher/runner.py.

Python's argparse also takes `--name=value`, unambiguous beginnings of long names, and short options with their
value glued on; a word with a blank in it is no option.
"""

from collections.abc import Iterator, Sequence
from typing import Final

_LONG: Final = (
    *("--hostfile", "--include", "--exclude", "--num_nodes", "--min_elastic_nodes", "--max_elastic_nodes"),
    *("--num_gpus", "--num_accelerators", "--master_port", "--master_addr", "--node_rank", "--launcher"),
    *("--launcher_args", "--module", "--no_python", "--no_local_rank", "--no_ssh_check", "--force_multi"),
    *("--save_pid", "--enable_each_rank_log", "--autotuning", "--elastic_training", "--bind_cores_to_rank"),
    *("--bind_core_list", "--ssh_port", "--venv_script", "--help"),
)
_SHORT: Final = ("-H", "-i", "-e")


def options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and value of every option, in order; the value is the next word if it is not in the same one."""
    for index, word in enumerate(words):
        name, glued, value = word.partition("=")
        following = words[index + 1] if index + 1 < len(words) else ""
        if name.startswith("--") and " " not in name:
            yield _in_full(name), value if glued else following
        elif word[:2] in _SHORT and " " not in word:
            yield word[:2], word[2:].removeprefix("=") or following


def _in_full(name: str) -> str:
    """The long option that a beginning stands for; `name` itself if there are none or several."""
    if name in _LONG:
        return name
    meant = [option for option in _LONG if option.startswith(name)]
    return meant[0] if len(meant) == 1 else name
