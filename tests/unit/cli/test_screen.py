"""The picture that `run` draws: within the terminal, whatever replicas write."""

import io

from rich.console import Console

from jobledger.cli.machine.screen import PlainScreen, ShownJobs, Tail, picture
from tests.unit.api.words import app_in_memory, job, phase, written


async def _shown(replicas: int) -> ShownJobs:
    async with app_in_memory() as app:
        await app.submit(written(job(replicas=replicas)), "me")
        manifest = await phase(app, "train", "Running")
        state = app.state(manifest["metadata"]["uid"])
        assert state is not None
        return ShownJobs(lambda: [state])


def _drawn(shown: ShownJobs, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False)
    with console.capture() as captured:
        console.print(picture(shown, width, height))
    return captured.get().splitlines()


async def test_every_replica_has_a_line_with_the_last_that_it_wrote() -> None:
    shown = await _shown(2)
    (state,) = shown.states()
    tail = shown.tails[state.uid, "worker-1"] = Tail()
    tail.recent.append("epoch 3/12  loss 0.5")
    title, _, first, second = _drawn(shown, 80, 24)
    assert title.startswith("train  Running")
    assert first.split() == ["worker-0", "Running", "1"]
    assert second.rstrip().endswith("epoch 3/12  loss 0.5")


async def test_long_lines_and_escape_codes_stay_within_the_terminal() -> None:
    shown = await _shown(1)
    (state,) = shown.states()
    tail = shown.tails[state.uid, "worker-0"] = Tail()
    tail.recent.append("\x1b[31mred\x1b[0m [bold]no markup[/bold] " + "x" * 500)
    lines = _drawn(shown, 60, 24)
    assert max(map(len, lines)) <= 57, "room for the ^C that a terminal echoes"
    assert "\x1b" not in "".join(lines)
    assert "[bold]no markup" in lines[-1]


async def test_more_replicas_than_fit_are_counted() -> None:
    lines = _drawn(await _shown(40), 80, 20)
    assert len(lines) <= 20
    assert lines[-1].startswith("… ")
    assert "more" in lines[-1]


def test_a_plain_screen_prints_lines_without_escape_codes_and_without_wrapping() -> None:
    out = io.StringIO()
    screen = PlainScreen(Console(file=out, width=80, highlight=False))
    screen.tell("train", "y" * 200, warning=True)
    screen.log("worker-0", "\x1b[31mred\x1b[0m [x]")
    said, logged = out.getvalue().splitlines()
    assert said.endswith("train  " + "y" * 200)
    assert logged == "[worker-0] red [x]"
