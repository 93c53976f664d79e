"""The programs that `make cluster-tools` and `make kafka-tools` bring, and the environment for one cluster."""

import os
import subprocess
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
KUBE = HERE / "kube"
HELM = HERE / "helm"
COREDNS = HERE / "coredns"
KAFKA = HERE / "kafka"


class CommandFailed(Exception):
    """A program said no; its own words are the message."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.command = [str(word) for word in done.args]
        self.code = done.returncode
        self.said = done.stderr.strip() or done.stdout.strip()
        super().__init__(f"{' '.join(self.command)}: exit code {self.code}\n{self.said}")


def run(
    command: list[str], *, sent: str | None = None, env: dict[str, str] | None = None, within: float = 60
) -> subprocess.CompletedProcess[str]:
    """What became of a command. Raises subprocess.TimeoutExpired after `within` seconds."""
    return subprocess.run(
        command, input=sent or "", env=env, capture_output=True, text=True, check=False, timeout=within
    )


def output(
    command: list[str], *, sent: str | None = None, env: dict[str, str] | None = None, within: float = 60
) -> str:
    """What a command printed. Raises CommandFailed."""
    done = run(command, sent=sent, env=env, within=within)
    if done.returncode:
        raise CommandFailed(done)
    return done.stdout


@cache
def built(script: Path) -> tuple[Path | None, str]:
    """The program that `script` wraps, or None and why not."""
    done = run([str(script), "path"])
    return (None, done.stderr.strip()) if done.returncode else (Path(done.stdout.strip()), "")


def environment(kubeconfig: Path, home: Path) -> dict[str, str]:
    """Only this cluster, and caches of its own: the next cluster at the same address has other kinds."""
    helm = {f"HELM_{kind}_HOME": str(home / "helm" / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
    return {
        **os.environ,
        **helm,
        "GOGC": "off",  # kubectl and helm end soon: a quarter of their time goes into collecting garbage
        "KUBECONFIG": str(kubeconfig),
        "KUBECACHEDIR": str(home / "kubectl-cache"),
    }
