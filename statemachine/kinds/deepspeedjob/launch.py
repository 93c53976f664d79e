"""What the workers run. Source: deepspeedjob.md, section 4.

worker-0 gets a shell script: an SSH server of its own, the environment for the processes that deepspeed starts
over SSH, the wait for the others, and then the launcher in its place, whose exit code is the container's. No part of
it looks like `$(NAME)` or `$$`, which Kubernetes would replace.
"""

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from statemachine.kinds.deepspeedjob.options import options
from statemachine.kinds.deepspeedjob.spec import Config
from statemachine.kinds.t9k.hostfile import HOSTFILE_PATH
from statemachine.kinds.t9k.ssh import SSHD

SSH_PORT: Final = 22

MASTER_PORT: Final = 29500
"""Where worker-0 listens for the others, unless `otherArgs` say another port (DS4)."""

PORT_OPTION: Final = "--master_port"

ENV_FILE: Final = "/root/.deepspeed_env"
"""Where deepspeed looks for variables to export on every worker."""

SSH_SERVER: Final = (SSHD, "-D")
"""What a worker runs that only waits for the launcher, and every worker in debug mode."""

_SSHD: Final = f"mkdir -p /run/sshd && {SSHD}"

_ENV: Final = f"""\
newline='
'
for name in %s; do
    eval "value=\\${{$name-}} found=\\${{$name+yes}}"
    case $found$value in
    '' | *"$newline"*) ;;
    *) printf '%%s=%%s\\n' "$name" "$value" ;;
    esac
done >{ENV_FILE}"""
"""Values are taken from the running environment: those that come from Secrets never pass through the controller."""

_WAIT: Final = f"""\
while read -r host slots; do
    tries=0
    until ssh -o BatchMode=yes -o ConnectTimeout=2 "$host" true </dev/null; do
        tries=$((tries + 1))
        if [ "$tries" -ge 150 ]; then
            echo "$host does not answer over SSH" >&2
            exit 138
        fi
        sleep 2
    done
done <{HOSTFILE_PATH}"""
"""138: restart policy ExitCode starts the launcher again."""


def script(command: Sequence[str], env: Sequence[str] | None) -> str:
    """The script of worker-0 that ends in `command`; `env` names the variables to hand on (None: no file)."""
    parts = [_SSHD]
    if env is not None:
        parts.append(_ENV % " ".join(env) if env else f": >{ENV_FILE}")
    return "\n".join([*parts, _WAIT, f"exec {shlex.join(command)}"])


def launch_command(config: Config, host: str, args: Sequence[str] | None) -> list[str]:
    """The command that starts the training from `host`; `args` replace the program's, None leaves them."""
    if config.custom_command:
        return ["sh", "-c", config.custom_command]
    program, flags = _program(config)
    if args is not None:
        program = [*program[:1], *args]
    other = config.other_args or ()
    return [
        "deepspeed",
        f"--hostfile={HOSTFILE_PATH}",
        f"--master_addr={host}",
        *(() if _said_ports(other) else (f"{PORT_OPTION}={MASTER_PORT}",)),
        *_flags(config, flags),
        *other,
        *program,
    ]


def master_port(config: Config) -> int:
    """Where worker-0 listens for the others: what the user says last, as deepspeed reads it. DS4 sees to its form."""
    said = _said_ports(config.other_args or ()) if not config.custom_command else []
    return int(said[-1]) if said else MASTER_PORT


def _said_ports(words: Sequence[str]) -> list[str]:
    return [value for name, value in options(words) if name == PORT_OPTION]


def _program(config: Config) -> tuple[Sequence[str], Sequence[str]]:
    """The words of the program, and the flags that say what it is."""
    run = config.run
    if run.module is not None:
        return run.module, ["--module"]
    if run.exec is not None:
        return run.exec, ["--no_python"]
    return run.python or (), ()


def _flags(config: Config, of_program: Sequence[str]) -> Iterator[str]:
    if not config.local_rank:
        yield "--no_local_rank"
    if config.autotune != "none":
        yield f"--autotuning={config.autotune}"
    yield from of_program
