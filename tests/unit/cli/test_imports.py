"""What each verb must not import, so that it starts fast. How fast it does: `make bench ARGS=start`."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.generate.files import ROOT
from statemachine.log.sqlite import SqliteLog
from tests.bench.histories import history

SERVERS = ("fastapi", "starlette", "uvicorn", "jinja2", "httpx", "prometheus_client", "jobledger.wiring")
ELSEWHERE = (
    "kubernetes",
    "aiohttp",
    "aiokafka",
    "faust",
    "asyncpg",
    "sqlalchemy",
    "cryptography",
    "opentelemetry",
)
EVERYWHERE = (*SERVERS, *ELSEWHERE, "pydantic_settings", "markdown_it")
HELP = (
    "asyncio",
    "yaml",
    "statemachine.kinds",
    "statemachine.events",
    "statemachine.log",
    "projectors",
    "k8s_bridge",
)
MUST_NOT_IMPORT = {
    "--version": (*SERVERS, *ELSEWHERE, *HELP, "pydantic", "rich", "jobledger.settings"),
    "controller --help": (*SERVERS, *ELSEWHERE, *HELP, "jobledger.settings", "transitions"),
    "get --server none.sock": (
        *EVERYWHERE,
        "asyncio",
        "yaml",
        "rich",
        "sqlite3",
        "statemachine.kinds",
        "statemachine.log",
        "projectors",
    ),
    "get": (*EVERYWHERE, "rich", "yaml", "projectors", "k8s_bridge.port"),
    "get -n bench": (*EVERYWHERE, "rich", "yaml", "projectors", "k8s_bridge.port"),
    "get --help": (*SERVERS, *ELSEWHERE, *HELP, "jobledger.settings", "transitions"),
    "validate examples/digits.yaml": (
        *EVERYWHERE,
        "asyncio",
        "rich",
        "sqlite3",
        "statemachine.log",
        "projectors",
    ),
    "history job-0 -n bench": (
        *EVERYWHERE,
        "rich",
        "yaml",
        "statemachine.kinds",
        "projectors.explain",
        "k8s_bridge",
    ),
}

IMPORTED = """
import sys
from jobledger.cli import run_command
code = run_command(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one job."""

    async def write(path: Path) -> None:
        log = await SqliteLog.open(path)
        await log.append([moment.draft for moment in history(0)])
        await log.close()

    path = tmp_path_factory.mktemp("store") / "ledger.db"
    asyncio.run(write(path))
    return path


@pytest.mark.parametrize("command", MUST_NOT_IMPORT)
def test_a_verb_imports_only_what_it_uses(command: str, store: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *command.split()],
        cwd=ROOT,
        env={"JOBLEDGER_STORE": str(store), "HOME": str(store.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    no_server = command == "get --server none.sock"  # which was asked
    assert done.returncode == (3 if no_server else 0), done.stderr
    *_, modules = done.stderr.splitlines()
    assert list(_heavy(modules.split(), MUST_NOT_IMPORT[command])) == []


def _heavy(modules: list[str], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        yield from (module for module in modules if module == name or module.startswith(f"{name}."))
