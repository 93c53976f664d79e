"""A job with thousands of entries, which the real rules decided: its workers fail and start again all the time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog
from tests.support.scenario import Story, workers

ENTRIES: Final = 5_000
WORKERS: Final = 8
PAGE: Final = "/jobs/demo/PyTorchTrainingJob/mnist/history"
"""The address of its history in the console."""


def long_life(entries: int = ENTRIES) -> Story:
    """A life of about so many entries (a few more), over four days; in the end the job is deleted."""
    story = Story(workers(WORKERS, runPolicy={"backoffLimit": entries})).submit()
    story.all_pods("Pending").at(3).all_pods("Running", node="node-1")
    turn = 0
    while len(story.entries) < entries - 1 - WORKERS:
        worker = f"worker-{turn % WORKERS}"
        began = 60 + turn * 300
        story.at(began).pod(worker, "Failed", exit_code=1 + turn % 3).at(began + 2).gone(worker)
        story.at(began + 5).pod(worker, "Pending")
        story.at(began + 25).pod(worker, "Running", node=f"node-{turn % 5}")
        turn += 1
    story.at(story.clock + 60).delete()
    for number in range(WORKERS):
        story.gone(f"worker-{number}")
    assert story.state.closed  # a controller that is started over it has nothing to decide
    return story


def drafts(story: Story) -> Sequence[EntryDraft]:
    """The life as it is appended to a log."""
    return [EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)]


async def write(story: Story, store: Path) -> None:
    """A store of this machine that has the life in its log."""
    log = await SqliteLog.open(store)
    await log.append(drafts(story))
    await log.close()
