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
    told = Story(_spec(random), name=f"job-{number}", namespace=f"team-{number % 7}", uid=uid_of(number))
    if random.random() < 0.5:
        told.labels = {"team": random.choice("abc"), "note": random.choice(("", "x" * 60))}
    told.submit()
    _reported(told, random)
    for _ in range(random.randrange(_TURNS)):
        told.at(told.clock + random.uniform(0.1, 60))
        random.choice(_CHANGES)(told, random)
    if random.random() < 0.7:
        _ended(told, random)
    return told


def uid_of(number: int) -> str:
    """The uid of job `number`."""
    return str(UUID(int=0x5EED << 96 | 4 << 76 | 8 << 60 | number))


def stories(count: int, random: Random) -> Iterator[Story]:
    """So many jobs, one after the other."""
    return (story(number, random) for number in range(count))


def lives(count: int, random: Random) -> Iterator[Life]:
    """The same as records of a log that has nothing else."""
    for told in stories(count, random):
        records = [Record(seq, told.uid, seq, body) for seq, body in enumerate(told.bodies, 1)]
        yield Life(f"random/{told.name}", records)


def drafts(told: Story) -> list[EntryDraft]:
    """The entries of a job, to be appended."""
    return [EntryDraft(told.uid, seq, body) for seq, body in enumerate(told.bodies, 1)]


def mixed(several: Sequence[Story], random: Random) -> Iterator[EntryDraft]:
    """The entries of all of them, those of a job in their order, among the others' at random."""
    rest = [iter(drafts(told)) for told in several]
    turns = [place for place, told in enumerate(several) for _ in told.bodies]
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


def _reported(told: Story, random: Random) -> None:
    """All pods are Pending, and then Running; some on their nodes."""
    if told.state.is_final or not told.state.plan:
        return
    for phase in ("Pending", "Running"):
        told.at(told.clock + random.uniform(0.1, 9))
        told.all_pods(phase, node=f"node-{random.randrange(5)}", happened_at=told.now)


def _pods(told: Story) -> list[ReplicaState]:
    """The replicas that have a pod which somebody has reported."""
    return [replica for replica in told.state.replicas.values() if replica.uid]


def _pod_fails(told: Story, random: Random) -> None:
    if pods := _pods(told):
        code, word = random.choice((1, 2, 137, 139, 143)), random.choice(_WORDS)
        told.pod(random.choice(pods).name, "Failed", exit_code=code, reason="Error", message=word)


def _pod_succeeds(told: Story, random: Random) -> None:
    if pods := _pods(told):
        told.pod(random.choice(pods).name, "Succeeded")


def _pod_goes(told: Story, random: Random) -> None:
    if pods := _pods(told):
        told.gone(random.choice(pods).name)


def _pod_is_out_of_sight(told: Story, random: Random) -> None:
    if pods := _pods(told):
        told.pod(random.choice(pods).name, random.choice(("Unknown", "Running")))


def _pods_come(told: Story, random: Random) -> None:
    """Pods that are wanted run."""
    for child in told.pods:
        name = ReplicaName(child.rpartition(".")[0])
        if not told.replica(name).uid and random.random() < 0.8:
            told.pod(name, "Running", node=f"node-{random.randrange(5)}", ready=random.random() < 0.5)


def _spec_changes(told: Story, random: Random) -> None:
    told.edit(runPolicy={"backoffLimit": random.randrange(5)})


def _labels_change(told: Story, random: Random) -> None:
    told.label(team=random.choice("abcd"), note=random.choice(_WORDS[:3]))


def _pause(told: Story, _: Random) -> None:
    told.pause()


def _resume(told: Story, _: Random) -> None:
    told.resume()


def _timer_fires(told: Story, random: Random) -> None:
    if told.state.timers:
        told.timer(random.choice(sorted(told.state.timers)))


def _pod_is_refused(told: Story, random: Random) -> None:
    if wanted := told.pods:
        name, _, attempt = random.choice(wanted).rpartition(".")
        status, word = random.choice((403, 422, 500)), random.choice(_WORDS)
        told.refused(
            status_=status, message=word, replica=name, attempt=int(attempt), name=told.pod_name(name)
        )


_CHANGES: Final[Sequence[Turn]] = (
    *(_pod_fails, _pod_fails, _pod_succeeds, _pod_goes, _pods_come, _pods_come, _pods_come),
    *(_pod_is_out_of_sight, _spec_changes, _labels_change, _pause, _resume, _timer_fires, _pod_is_refused),
)


def _ended(told: Story, random: Random) -> None:
    """The job is deleted, and its pods go; not always all of them."""
    told.at(told.clock + 1).delete()
    for replica in _pods(told):
        if random.random() < 0.95:
            told.gone(replica.name)
