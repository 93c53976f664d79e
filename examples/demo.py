"""A minute with jobledger: a training job that loses a worker, gets it back, and can tell all about it.

Runs examples/digits.yaml (three processes learn to read handwritten digits) on this machine, in a fresh store in a
temporary folder. In the middle of the training one worker is killed; the controller sees it, restarts it, and the
training goes on. At the end: the outcome, the job's history, why it went as it did, and where to look further. The
exit code is the job's outcome. Needs nothing but jobledger itself:  make demo
"""

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jobledger.cli.machine.follow import story
from jobledger.cli.machine.running import JobRun, RunOrder
from jobledger.cli.server.submit import examined
from jobledger.program.exit_codes import ended_with
from jobledger.program.signals import listening
from jobledger.service.app import App
from jobledger.settings.loading import Held, load
from jobledger.settings.locations import data_folder
from jobledger.wiring import embedded, running
from k8s_bridge.kubelet.folders import DataFolder
from statemachine.ids import ReplicaName
from statemachine.state import JobState

ROOT = Path(__file__).resolve().parents[1]
JOB, VICTIM, CONTAINER = "digits", ReplicaName("worker-1"), "pytorch"
KILL_AT = 4  # epochs of twelve
TIMEOUT = 180.0


def main() -> None:
    """Show everything, then end with the job's outcome."""
    os.chdir(ROOT)  # the manifest's paths count from here
    folder = Path(tempfile.mkdtemp(prefix="jobledger-"))
    held = load({"store": ("--store", folder / "demo.db"), "log.level": ("the demo", "error")})
    print("Three processes learn to read handwritten digits: examples/digits.yaml.")
    print("In the middle of it one of them is killed. Watch what happens.\n", flush=True)
    outcome: list[int] = []
    code = ended_with(lambda: outcome.append(asyncio.run(show(held, folder))))
    print(f"\nEverything is kept in {folder}.")
    sys.exit(code or outcome[0])


async def show(held: Held, folder: Path) -> int:
    """The job runs to its end; the exit code that says how."""
    wanted = RunOrder(examined([str(manifest(folder))], "default"), TIMEOUT)
    store = held.settings.store
    with listening() as asked:
        async with embedded(store) as controller:
            run = JobRun(App(controller), held, wanted, asked)
            async with running(controller):
                killer = asyncio.create_task(kill_in_the_middle(run, store))
                code = await run.to_its_end()
                killer.cancel()
            await controller.catch_up()
            states = run.follower.states()
            print("\n".join(line for state in states for line in story(state, run.follower.shown, "")))
    for line in aftermath(store):
        print(line, flush=True)
    return code


def manifest(folder: Path) -> Path:
    """The example, with its checkpoint in this demo's own folder: no run before can be in its way."""
    text = (ROOT / "examples" / "digits.yaml").read_text()
    text = text.replace("digits/train.py", str(ROOT / "examples" / "digits" / "train.py"))
    copy = folder / "digits.yaml"
    copy.write_text(re.sub(r"--checkpoint=\S+", f"--checkpoint={folder}/checkpoint.json", text))
    return copy


async def kill_in_the_middle(run: JobRun, store: Path) -> None:
    """The victim's processes are killed, as the kernel does when memory runs out."""
    follower = await run.begun()
    while True:
        for state in follower.states():
            tail = follower.shown.tails.get((state.uid, VICTIM))
            if tail and epoch(tail.last) >= KILL_AT:
                leader = process_group(state, store)
                run.screen.note(f"kill -9 {leader}: {VICTIM} gets no chance to say good-bye")
                os.killpg(leader, signal.SIGKILL)
                return
        await asyncio.sleep(0.05)


def epoch(line: str) -> int:
    """The epoch that a line of the training speaks of; 0 if of none."""
    match = re.match(r"epoch (\d+)/", line)
    return int(match[1]) if match else 0


def process_group(state: JobState, store: Path) -> int:
    """The process group of the victim, as recorded beside its pod's log."""
    pod = DataFolder(data_folder(store)).pod(state.replicas[VICTIM].uid)
    process = pod.container(CONTAINER).process()
    if process is None:
        raise SystemExit(f"{VICTIM} has no process")
    return process.pid


def aftermath(store: Path) -> Iterator[str]:
    """What the ledger says, by the commands that everybody has."""
    flag = f"--store {shlex.quote(str(store))}"
    for verb, about in (("history", "What happened, entry by entry"), ("why", "Why it happened")):
        yield f"\n{about}: jobledger {verb} {JOB}\n"
        done = subprocess.run(
            [sys.executable, "-m", "jobledger", verb, JOB, "--store", str(store)],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        yield done.stdout.rstrip()
    yield "\nLook further:\n"
    for command in (
        f"logs {JOB} -r {VICTIM} --previous {flag}",
        f"replay {JOB} {flag}",
        f"run examples/digits.yaml --logs {flag}",
    ):
        yield f"  {program()} {command}"


def program() -> str:
    """How to call jobledger from here, as short as it works."""
    script = Path(sysconfig.get_path("scripts")) / "jobledger"
    if not script.exists():
        return f"{shlex.quote(sys.executable)} -m jobledger"
    return shlex.quote(os.path.relpath(script))


if __name__ == "__main__":
    main()
