"""What users, kubelets, networks and operators do to the system while the chaos lasts."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from random import Random
from typing import Final

from k8s_bridge.port import Manifest, Ref
from statemachine.log.codec import decode
from statemachine.observations import JobObserved
from tests.simulation.shapes import EXIT_CODES
from tests.simulation.steps import named
from tests.simulation.world import World
from tests.support.faults import Odds

Action = Callable[[World], Awaitable[None]]

_HIGHEST: Final = {
    "crash": 0.02,
    "unavailable": 0.2,
    "lost_reply": 0.15,
    "done_late": 0.15,
    "invalid": 0.01,
    "quota": 0.15,
    "conflict": 0.1,
    "expired": 0.05,
    "late": 0.3,
    "twice": 0.3,
    "log_fails": 0.1,
    "log_lost_reply": 0.1,
}

NAMESAKES: Final = 0.2
"""The share of jobs that get the name of another, where there are several kinds or namespaces."""


def odds(chance: Random, more: Mapping[str, float], possible: float) -> Odds:
    """Each fault is possible in a part of the seeds, so that some are seen alone and some together."""
    highest = {**_HIGHEST, **more}
    drawn = {name: chance.random() * most for name, most in highest.items() if chance.random() < possible}
    return Odds(**drawn, slow=chance.choice((0.001, 0.02, 0.3)))


async def chaos(world: World) -> None:
    """For a while something happens every few seconds; then the weather is calm for ever."""
    chance, loop = Random(f"{world.seed} chaos"), asyncio.get_running_loop()
    world.weather.odds = odds(chance, world.odds, world.possible)
    actions = [action for action in world.actions or ACTIONS if chance.random() < world.share] or [edit_spec]
    pause = chance.choice((0.5, 2.0, 6.0))
    ends = loop.time() + chance.uniform(5, 45)
    while loop.time() < ends:
        await asyncio.sleep(chance.expovariate(1 / pause))
        await world.diary.perform(world, named(chance.choice(actions)), chance.getrandbits(32))
    await calm(world)


async def calm(world: World) -> None:
    """The weather is calm for ever."""
    world.diary.calm_at = asyncio.get_running_loop().time()
    world.weather.fate.aims = {}
    world.calm()
    await world.end_zombies()
    world.note("calm")


async def submit(world: World) -> None:
    """Somebody creates a job, under the next name, or under that of a job of another kind or in another namespace."""
    name = f"job{sum(step.name == 'submit' for step in world.diary.steps) - 1}"
    may_share = len(world.shape.kinds) > 1 or len(world.namespaces) > 1
    if may_share and world.live_jobs() and world.chance.random() < NAMESAKES:
        name = world.chance.choice(world.live_jobs())["metadata"]["name"]
    await world.submit(name)


async def crash(world: World) -> None:
    """Kill -9."""
    if world.process is not None:
        world.fault("killed", "controller killed")
        world.process.kill()


async def stop(world: World) -> None:
    """An orderly restart."""
    if world.process is not None:
        world.fault("stopped", "controller stopped")
        world.process.stop()


async def usurp(world: World) -> None:
    """A second controller starts while the first, which was believed dead, lives on for a while."""
    if world.process is not None and not world.process.task.done():
        old = world.process
        world.fault("second_controller", "second controller starts")
        world.usurped = True
        world.start()
        asyncio.get_running_loop().call_later(world.chance.expovariate(1 / 6), old.kill)


async def drop_watches(world: World) -> None:
    """410 Gone, for everybody."""
    world.fault("watches_dropped", "watches dropped")
    world.cluster.drop_watches()


async def log_down(world: World) -> None:
    """The log is out of reach for a while."""
    seconds = world.chance.expovariate(1 / 4)
    world.fault("log_down", f"log down for {seconds:.1f} s")
    world.weather.log_down_until = asyncio.get_running_loop().time() + seconds


async def cluster_down(world: World) -> None:
    """The API server is out of reach for a while."""
    seconds = world.chance.expovariate(1 / 4)
    world.fault("cluster_down", f"cluster down for {seconds:.1f} s")
    world.weather.cluster_down_until = asyncio.get_running_loop().time() + seconds


async def deny(world: World) -> None:
    """A policy, or a quota, denies pods, or their deletion, for minutes: far into the calm."""
    verb, seconds = world.chance.choice(("create", "delete")), world.chance.uniform(10, 200)
    world.fault(f"{verb}_denied", f"to {verb} pods is denied for {seconds:.0f} s")
    world.weather.denied_until[verb] = asyncio.get_running_loop().time() + seconds


async def jump(world: World) -> None:
    """The clock is put forward or back."""
    seconds = world.chance.gauss(0, 30)
    world.fault("clock_jump", f"clock jumps to {seconds:+.1f} s")
    world.clock.jump(timedelta(seconds=round(seconds, 6)))


async def delete_pod(world: World) -> None:
    """Somebody deletes a pod."""
    if pod := some(world, "Pod"):
        world.delete_pod(pod, force=world.chance.random() < 0.2)


async def remove_pod(world: World) -> None:
    """Somebody removes a pod by force."""
    if pod := some(world, "Pod"):
        world.delete_pod(pod, force=True)


async def evict(world: World) -> None:
    """The kubelet needs the memory, or the node goes away."""
    if pod := some(world, "Pod"):
        reason = world.chance.choice(("Evicted", "NodeLost", "Preempting"))
        world.fault("pod_evicted", f"pod {pod['metadata']['name']} {pod['metadata']['uid']}: {reason}")
        world.cluster.evict(pod["metadata"]["namespace"], pod["metadata"]["name"], reason)


async def end_pod(world: World) -> None:
    """A pod's containers end now."""
    if pod := some(world, "Pod"):
        code = world.chance.choice(EXIT_CODES)
        world.fault("pod_ended", f"pod {pod['metadata']['name']} {pod['metadata']['uid']} ends with {code}")
        world.cluster.end_pod(pod["metadata"]["namespace"], pod["metadata"]["name"], code)


async def lose_sight(world: World) -> None:
    """The kubelet does not report: the pod's phase is Unknown or senseless, for a while."""
    pod = some(world, "Pod")
    if pod is None or pod["status"]["phase"] not in ("Pending", "Running"):
        return
    before, phase = pod["status"], world.chance.choice(("Unknown", "Lost in space"))
    ref, uid = Ref.of(pod), pod["metadata"]["uid"]
    lost = {**before, "phase": phase, "message": f"not heard of since {world.clock.now()}"}
    world.fault("sight_lost", f"pod {ref.name} {uid} shows phase {phase}")
    world.cluster.objects.set_status(ref, uid, lost)

    def again() -> None:
        manifest = world.cluster.objects.peek(ref)
        if manifest is not None and manifest["status"] == lost:
            world.cluster.objects.set_status(ref, uid, before)

    asyncio.get_running_loop().call_later(world.chance.uniform(5, 64), again)


async def edit_spec(world: World) -> None:
    """A user has a wish."""
    if world.live_jobs():
        job = world.chance.choice(world.live_jobs())
        world.change(job, world.shape.edit(world.chance, job))


async def relabel_job(world: World) -> None:
    """A user gives a job a label, another value for one, or takes one away: its generation stays what it was."""
    if world.live_jobs():
        job = world.chance.choice(world.live_jobs())
        label, value = world.chance.choice(("team", "stage")), world.chance.choice((None, "blue", "red"))
        world.fault("job_relabelled", f"job {job['metadata']['name']} has the label {label}={value}")
        world.cluster.objects.patch(Ref.of(job), {"metadata": {"labels": {label: value}}})


async def delete_job(world: World) -> None:
    """A user deletes a job, and may create another under its name."""
    if world.live_jobs():
        job = world.chance.choice(world.live_jobs())
        world.delete(job)
        if world.chance.random() < 0.5:
            await asyncio.sleep(world.chance.expovariate(1 / 2))
            await world.submit(job["metadata"]["name"])


async def repeat(world: World) -> None:
    """Something that was observed long ago is delivered again."""
    records = [record for record in world.records() if record.job not in world.untold]
    if records and world.process is not None and not world.process.task.done():
        record = world.chance.choice(records)
        cause = decode(record.body).cause
        if isinstance(cause, JobObserved) and not cause.version and _is_relabelled(world, cause):
            world.harmed = True  # no older release says which of two reports of labels is the later one
        world.fault("observed_again", f"the cause of {record.job} {record.seq} is delivered again")
        await world.process.controller.engine.source.observe(cause)


def _is_relabelled(world: World, observation: JobObserved) -> bool:
    """The job object has other labels than this report of it."""
    there = next((job for job in world.live_jobs() if job["metadata"]["uid"] == observation.job), None)
    return there is not None and there["metadata"].get("labels", {}) != observation.labels


async def tensorboard(world: World) -> None:
    """A TensorBoard runs, or is deleted."""
    if board := some(world, "TensorBoard"):
        if world.chance.random() < 0.7:
            world.cluster.objects.set_status(Ref.of(board), board["metadata"]["uid"], {"phase": "Running"})
        else:
            world.fault("tensorboard_deleted", "TensorBoard deleted")
            world.cluster.objects.delete(Ref.of(board))


async def squat(world: World) -> None:
    """Somebody else's Service has the name that a replica needs, for a while; or a Service is deleted."""
    service = some(world, "Service")
    if service is None:
        return
    ref = Ref.of(service)
    world.harmed = True
    world.fault("service_deleted", f"service {ref.name} deleted")
    world.cluster.objects.delete(ref)
    if world.chance.random() < 0.5:
        other: Manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": ref.name}}
        other["metadata"]["namespace"] = ref.namespace
        uid = world.cluster.objects.create(other)["metadata"]["uid"]
        world.fault("name_taken", f"service {ref.name} is somebody else's")

        def away() -> None:
            manifest = world.cluster.objects.peek(ref)
            if manifest is not None and manifest["metadata"]["uid"] == uid:
                world.cluster.objects.delete(ref)

        asyncio.get_running_loop().call_later(world.chance.uniform(1, 30), away)


def some(world: World, kind: str) -> Manifest | None:
    """One of the objects of a kind, uncopied; None if there is none."""
    manifests = list(world.cluster.objects.peek_all(kind))
    return world.chance.choice(manifests) if manifests else None


ACTIONS: Final[tuple[Action, ...]] = (
    crash,
    stop,
    usurp,
    drop_watches,
    log_down,
    cluster_down,
    deny,
    jump,
    delete_pod,
    evict,
    end_pod,
    lose_sight,
    edit_spec,
    edit_spec,
    delete_job,
    repeat,
    tensorboard,
    squat,
    relabel_job,
)
