"""What was seen of pods and jobs against what their histories tell; each check gives what speaks against them."""

from collections import Counter
from typing import Final

from statemachine import events as e
from statemachine.ids import JobUid
from statemachine.observations import PodObserved
from tests.simulation.histories import Story
from tests.support.cluster_recorder import JobRecord, PodRecord

KILL: Final = 137
"""The exit code that policy `ExitCode` restarts; the other one that is used, 1, it does not (spec R8)."""


def twins(pods: list[PodRecord]) -> list[str]:
    """Attempts of which there was more than one pod."""
    made = Counter((pod.job, pod.replica, pod.attempt) for pod in pods)
    return [f"{count} pods are {attempt}" for attempt, count in made.items() if count > 1]


End = e.ReplicaSucceeded | e.ReplicaFailed | e.ReplicaEnded


def unknown_ends(pods: list[PodRecord], stories: dict[JobUid, Story]) -> list[str]:
    """Pods whose end, with its exit codes, is not in the log exactly once."""
    said: dict[str, list[tuple[str, dict[str, int]]]] = {}
    for story in stories.values():
        for _, event in story.events():
            if isinstance(event, End):
                codes = {
                    container.name: container.exit_code
                    for container in event.containers
                    if container.exit_code is not None
                }
                said.setdefault(event.uid, []).append((event.type, codes))
    wrong = []
    for pod in pods:
        ends = said.get(pod.uid, [])
        right = {f"Replica{pod.ended}", "ReplicaEnded"}
        if pod.ended and not (len(ends) == 1 and ends[0][0] in right and ends[0][1] == pod.codes):
            wrong.append(f"{pod} ended, and the log says {ends}")
        if ends and not pod.ended:
            wrong.append(f"{pod} did not end, and the log says {ends}")
    return wrong


def unjust_verdicts(pods: list[PodRecord], stories: dict[JobUid, Story]) -> list[str]:
    """Failures that were not judged as `ExitCode` and the budget want it, and ends that were not counted as failures.

    That each was judged exactly once is a rule of histories (`every_failure_is_judged_once`).
    """
    codes = {pod.uid: pod.codes.get("pytorch") for pod in pods}
    wrong = []
    for story in stories.values():
        for before, event in story.events():
            match event:
                case e.RestartScheduled():
                    just = codes.get(event.cause.pod_uid) == KILL
                case e.RestartDenied(exhausted=True):
                    just = codes.get(event.cause.pod_uid) == KILL and before.spent >= (event.limit or 0)
                case e.RestartDenied():
                    just = codes.get(event.cause.pod_uid) in (0, 1)
                case _:
                    continue
            if not just:
                wrong.append(f"{event}, spent {before.spent}, the pod ended with {codes}")
        wrong += uncounted(story)
    return wrong


def uncounted(story: Story) -> list[str]:
    """Pods that the log calls ended, and not failed, although nobody had asked for their end."""
    return [
        f"entry {step.entry.seq}: {event}"
        for step in story.steps
        for event in step.entry.events
        if isinstance(event, e.ReplicaEnded)
        and not step.before.replicas[event.replica].leaving
        and not (isinstance(step.entry.cause, PodObserved) and step.entry.cause.deleting)
    ]


def changed_minds(jobs: list[JobRecord]) -> list[str]:
    """Jobs whose object showed another phase after a final one."""
    return [f"{job.name}: {job.phases}" for job in jobs if {"Succeeded", "Failed"} & set(job.phases[:-1])]


def lost(stories: dict[JobUid, Story]) -> int:
    """Pods that were gone before anybody knew how they ended."""
    return sum(isinstance(event, e.ReplicaLost) for story in stories.values() for _, event in story.events())


def account(pods: list[PodRecord], jobs: list[JobRecord], stories: dict[JobUid, Story]) -> str:
    """What there was, in a line: fire that burns nothing shows nothing."""
    restarts = sum(story.state.spent for story in stories.values())
    phases = dict(Counter(job.phases[-1] if job.phases else "none" for job in jobs))
    return f"{len(pods)} pods, {restarts} restarts, {lost(stories)} lost, jobs {phases}"
