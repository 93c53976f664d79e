"""Lives of jobs at random, by the real rules: as many as a long run wants, each at once, and the same for a seed.

A life is submitted, meets what its turn draws, and is deleted with its pods in most cases. What an API server would
never say is not among it.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final
from uuid import UUID

from statemachine.ids import ReplicaName
from statemachine.log.port import EntryDraft, Record
from statemachine.state import ReplicaState
from tests.contract.lives import Life
from tests.support.scenario import Story, replica_type, workers

_TURNS: Final = 12
"""Things that happen to a job at most, between its pods' first report and its end."""

Turn = Callable[[Story, Random], object]

_WORDS: Final = (
    "disk full",
    "Ünïcode ☃ 🚂",
    'quoted "text"\\',
    "lines\nand\ttabs",
    "Bearer abcdefgh12345678",
)


def story(number: int, random: Random) -> Story:
    """The life of job `number`, as `random` draws it."""
    story = Story(_spec(random), name=f"job-{number}", namespace=f"team-{number % 7}", uid=uid_of(number))
    if random.random() < 0.5:
        story.labels = {"team": random.choice("abc"), "note": random.choice(("", "x" * 60))}
    story.submit()
    _reported(story, random)
    for _ in range(random.randrange(_TURNS)):
        story.at(story.clock + random.uniform(0.1, 60))
        random.choice(_CHANGES)(story, random)
    if random.random() < 0.7:
        _ended(story, random)
    return story


def uid_of(number: int) -> str:
    """The uid of job `number`."""
    return str(UUID(int=0x5EED << 96 | 4 << 76 | 8 << 60 | number))


def stories(count: int, random: Random) -> Iterator[Story]:
    """So many jobs, one after the other."""
    return (story(number, random) for number in range(count))


def lives(count: int, random: Random) -> Iterator[Life]:
    """The same as records of a log that has nothing else."""
    for story in stories(count, random):
        records = [Record(seq, story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)]
        yield Life(f"random/{story.name}", records)


def drafts(story: Story) -> list[EntryDraft]:
    """The entries of a job, to be appended."""
    return [EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)]


def mixed(several: Sequence[Story], random: Random) -> Iterator[EntryDraft]:
    """The entries of all of them, those of a job in their order, among the others' at random."""
    rest = [iter(drafts(story)) for story in several]
    turns = [place for place, story in enumerate(several) for _ in story.bodies]
    random.shuffle(turns)
    return (next(rest[place]) for place in turns)


def _spec(random: Random) -> dict[str, Any]:
    policy = random.choice(("", "Never", "OnFailure", "ExitCode"))
    limit = random.choice((None, 0, 1, 3))
    rules: dict[str, Any] = {} if limit is None else {"backoffLimit": limit}
    if random.random() < 0.2:
        rules["activeDeadlineSeconds"] = 300
    if random.random() < 0.5:
        rules["cleanUpPolicy"] = random.choice(("None", "Running", "All", "Unfinished"))
    more = (replica_type("ps", 1),) if random.random() < 0.3 else ()
    spec = workers(random.randint(1, 4), *more, policy=policy, runPolicy=rules)
    container = spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    if random.random() < 0.3:
        container["env"] = [{"name": "KEY", "value": f"value-{random.randrange(10**9)}"}]
    if random.random() < 0.3:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(random.randrange(9))}}
    if random.random() < 0.05:
        del container["image"]
    return spec


def _reported(story: Story, random: Random) -> None:
    """All pods are Pending, and then Running; some on their nodes."""
    if story.state.is_final or not story.state.plan:
        return
    for phase in ("Pending", "Running"):
        story.at(story.clock + random.uniform(0.1, 9))
        story.all_pods(phase, node=f"node-{random.randrange(5)}", happened_at=story.now)


def _pods(story: Story) -> list[ReplicaState]:
    """The replicas that have a pod which somebody has reported."""
    return [replica for replica in story.state.replicas.values() if replica.uid]


def _pod_fails(story: Story, random: Random) -> None:
    if pods := _pods(story):
        code, word = random.choice((1, 2, 137, 139, 143)), random.choice(_WORDS)
        story.pod(random.choice(pods).name, "Failed", exit_code=code, reason="Error", message=word)


def _pod_succeeds(story: Story, random: Random) -> None:
    if pods := _pods(story):
        story.pod(random.choice(pods).name, "Succeeded")


def _pod_goes(story: Story, random: Random) -> None:
    if pods := _pods(story):
        story.gone(random.choice(pods).name)


def _pod_is_out_of_sight(story: Story, random: Random) -> None:
    if pods := _pods(story):
        story.pod(random.choice(pods).name, random.choice(("Unknown", "Running")))


def _pods_come(story: Story, random: Random) -> None:
    """Pods that are wanted run."""
    for child in story.pods:
        name = ReplicaName(child.rpartition(".")[0])
        if not story.replica(name).uid and random.random() < 0.8:
            story.pod(name, "Running", node=f"node-{random.randrange(5)}", ready=random.random() < 0.5)


def _spec_changes(story: Story, random: Random) -> None:
    story.edit(runPolicy={"backoffLimit": random.randrange(5)})


def _labels_change(story: Story, random: Random) -> None:
    story.label(team=random.choice("abcd"), note=random.choice(_WORDS[:3]))


def _pause(story: Story, _: Random) -> None:
    story.pause()


def _resume(story: Story, _: Random) -> None:
    story.resume()


def _timer_fires(story: Story, random: Random) -> None:
    if story.state.timers:
        story.timer(random.choice(sorted(story.state.timers)))


def _pod_is_refused(story: Story, random: Random) -> None:
    if wanted := story.pods:
        name, _, attempt = random.choice(wanted).rpartition(".")
        status, word = random.choice((403, 422, 500)), random.choice(_WORDS)
        story.refused(
            status_=status, message=word, replica=name, attempt=int(attempt), name=story.pod_name(name)
        )


_CHANGES: Final[Sequence[Turn]] = (
    *(_pod_fails, _pod_fails, _pod_succeeds, _pod_goes, _pods_come, _pods_come, _pods_come),
    *(_pod_is_out_of_sight, _spec_changes, _labels_change, _pause, _resume, _timer_fires, _pod_is_refused),
)


def _ended(story: Story, random: Random) -> None:
    """The job is deleted, and its pods go; not always all of them."""
    story.at(story.clock + 1).delete()
    for replica in _pods(story):
        if random.random() < 0.95:
            story.gone(replica.name)
