"""A store with histories in it, and the command line to ask it."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from jobledger.cli import run_command
from statemachine.ids import JobUid
from statemachine.log.port import DeadLetter, EntryDraft
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from tests.support.receivers import KEY, Hook, receiving
from tests.support.scenario import START, Story, workers

SECRET = "hunter2"


class Said(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Ask = Callable[..., Said]


def job(name: str, uid: str, replicas: int = 2) -> Story:
    """A job that carries secrets in its environment."""
    spec = workers(replicas)
    container = spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "WANDB_API_KEY", "value": SECRET}, {"name": "LR", "value": "1e-4"}]
    return Story(spec, name=name, uid=uid)


def failed() -> Story:
    """A job whose master ended with 3."""
    story = (
        job("mnist", "bbbb-2222").submit().all_pods("Running").at(20).pod("worker-1", "Failed", exit_code=7)
    )
    story.gone("worker-1").at(25).pod("worker-1", "Running").edit(runPolicy={"backoffLimit": 1})
    return story.at(60).pod("worker-0", "Failed", exit_code=3)


def deleted() -> Story:
    """An older job of the same name, long gone."""
    story = job("mnist", "aaaa-1111", replicas=1).at(-3600).submit().all_pods("Running").delete()
    return story.gone("worker-0")


def write(path: Path, *stories: Story, broken: str = "", snapshots: bool = True) -> None:
    """The store at `path` holds the stories, one after the other; entry 2 of job `broken` is damaged."""

    async def work() -> None:
        log = await SqliteLog.open(path)
        for story in stories:
            for seq, body in enumerate(story.bodies, 1):
                damaged = story.name == broken and seq == 2
                await log.append([EntryDraft(story.uid, seq, b"{damaged" if damaged else body)])
        if snapshots:
            reader = Reader()
            await reader.recover(log)
            await log.save_snapshots(reader.position, reader.unsaved())
        letter = b'{"type":"JobObserved","spec":{"env":[{"name":"A_TOKEN","value":"hunter2"}]}}'
        await log.add_dead_letter(DeadLetter(START, JobUid("bbbb-2222"), letter, "ValueError: odd\nand more"))
        await log.close()

    asyncio.run(work())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    write(
        path, deleted(), failed(), job("quota", "cccc-3333").submit().refused(status_=403, message="no quota")
    )
    return path


@pytest.fixture
def ask(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs a command against the store, in namespace demo."""
    monkeypatch.setenv("JOBLEDGER_STORE", str(store))
    monkeypatch.setenv("JOBLEDGER_NAMESPACE", "demo")

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        code = run_command([str(argument) for argument in arguments])
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A receiver of web hooks."""
    with receiving() as server:
        yield server


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A file with the key that the receiver knows."""
    path = tmp_path / "key"
    path.write_text(KEY)
    return path
