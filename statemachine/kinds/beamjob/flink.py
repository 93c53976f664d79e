"""What a Flink cluster has to know, and the program's runner of it. Source: beamjob.md, section 3."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from statemachine.schema.lookup import items, number, text

RPC: Final = 6123
BLOB: Final = 6124
REST: Final = 8081
WORKER_POOL: Final = 50000
"""Where the workers of the program listen, beside each TaskManager. Source: Apache Beam, `--worker_pool`."""

PORTS: Final[Mapping[str, int]] = {"rpc": RPC, "blob": BLOB, "ui": REST}

OURS: Final = ("jobmanager.rpc.address", "jobmanager.rpc.port", "rest.port")
"""Properties that the controller sets."""

CONF: Final = "flink-conf.yaml"
CONF_PATH: Final = f"/opt/flink/conf/{CONF}"


def conf(job_manager: str, properties: Mapping[str, str]) -> str:
    """The text of flink-conf.yaml: addresses and ports first, then the user's lines by key."""
    ours = dict(zip(OURS, (job_manager, str(RPC), str(REST)), strict=True))
    lines = [*ours.items(), *sorted(properties.items())]
    return "".join(f"{key}: {value}\n" for key, value in lines)


def minor(version: str) -> str:
    """`x.y` of `x.y.z`: what runners are made for."""
    return ".".join(version.split(".")[:2])


def runner_args(args: Sequence[str], job_manager: str, version: str) -> list[str]:
    """The program's arguments with those of the runner behind them, unless they name a runner."""
    if any(arg == "--runner" or arg.startswith("--runner=") for arg in args):
        return list(args)
    return [*args, *_runner(job_manager, version)]


def _runner(job_manager: str, version: str) -> Iterator[str]:
    yield "--runner=FlinkRunner"
    yield f"--flink_master={job_manager}:{REST}"
    yield f"--flink_version={minor(version)}"
    yield "--environment_type=EXTERNAL"
    yield f"--environment_config=localhost:{WORKER_POOL}"


_ID: Final = re.compile(r"[0-9a-f]{32}")


def latest_job(overview: object) -> str:
    """Flink's id of the job that was started last; empty: there is none. Source: Flink REST API, `/jobs/overview`."""
    started = [
        (number(job, "start-time") or 0, id_)
        for _, job in items(overview, "jobs")
        if _ID.fullmatch(id_ := text(job, "jid"))
    ]
    return max(started, default=(0, ""))[1]
