"""The lives of a real log become an archive, but for those that would not hold, or may not be shown."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from statemachine.ids import Seq
from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog
from tests.histories import export, lives
from tests.histories.archive import read
from tests.support.scenario import Story, workers


async def _stored(path: Path, stories: Sequence[Story]) -> None:
    log = await SqliteLog.open(path)
    for story in stories:
        await log.append([EntryDraft(story.uid, Seq(seq), body) for seq, body in enumerate(story.bodies, 1)])
    await log.close()


def story(number: int, *, image: str = "pytorch:2") -> Story:
    """A job with a uid of its own that fails once."""
    spec = workers(2)
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"] = image
    return Story(spec, uid=f"u-{number}").submit().all_pods("Running").pod("worker-1", "Failed", exit_code=3)


def test_the_lives_of_a_store_are_in_the_archive_as_the_log_holds_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = lives.restarted(), story(2)
    asyncio.run(_stored(tmp_path / "ledger.db", [first, second]))
    assert export.main([str(tmp_path / "ledger.db"), str(tmp_path), "--name", "fire"]) == 0
    assert [life.bodies for life in read(tmp_path / "fire.jsonl.xz")] == [
        tuple(first.bodies),
        tuple(second.bodies),
    ]
    assert capsys.readouterr().out.startswith("fire.jsonl.xz: 2 lives, ")


def test_a_life_that_does_not_verify_and_one_that_names_a_folder_here_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound, broken, torn, local = story(1), story(2), story(3), story(4, image=f"{Path.cwd()}/image")
    broken.bodies[2] = broken.bodies[2].replace(b"worker-1.1", b"worker-1.9")
    torn.bodies[1] = b"{"
    asyncio.run(_stored(tmp_path / "ledger.db", [sound, broken, torn, local]))
    assert export.main([str(tmp_path / "ledger.db"), str(tmp_path)]) == 1
    (kept,) = read(tmp_path / "exported.jsonl.xz")
    assert kept.bodies == tuple(sound.bodies)
    left_out = [line for line in capsys.readouterr().out.splitlines() if line.startswith("left out: job-")]
    assert [line.split(":")[1].strip() for line in left_out] == ["job-2", "job-3", "job-4"]


def test_no_more_lives_are_taken_than_were_asked_for_and_nothing_is_written_twice(tmp_path: Path) -> None:
    asyncio.run(_stored(tmp_path / "ledger.db", [lives.restarted(), story(2), story(3)]))
    asked = [str(tmp_path / "ledger.db"), str(tmp_path), "--lives", "2"]
    assert export.main(asked) == 0
    assert len(list(read(tmp_path / "exported.jsonl.xz"))) == 2
    with pytest.raises(SystemExit):
        export.main(asked)
