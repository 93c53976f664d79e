"""The status that the list shows over a job's life: phase, badge, filter. Source: spec console.md, section 2."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.memory_cluster import MemoryCluster
from tests.support.pytorchjob import API, training
from tests.unit.api.words import emitted, job, until
from tests.unit.console.words import Browser, console, names

BADGE = 'class="badge error"'


def slow(manifest: dict[str, Any]) -> dict[str, Any]:
    """Its pods take a moment until they run, so that everybody can see what is before."""
    for replicas in manifest["spec"]["replicaSpecs"]:
        replicas["template"]["metadata"]["annotations"] = {"sim.jobledger.dev/start-seconds": "0.5"}
    return manifest


async def shows(browser: Browser, claim: Callable[[str], bool]) -> str:
    """The row of the job, once it is as claimed."""
    row = ""

    async def look() -> bool:
        nonlocal row
        row = await browser.listed("train")
        return claim(row)

    await until(look)
    return row


async def end(browser: Browser, exit_code: int) -> None:
    """The pod of worker-0 ends."""
    cluster = browser.app.cluster
    assert isinstance(cluster, MemoryCluster)
    (name,) = [
        pod["metadata"]["name"]
        for pod in await cluster.list("v1", "Pod", "default")
        if pod["metadata"]["name"].endswith("worker-0")
    ]
    cluster.end_pod("default", name, exit_code)


async def test_worked_example_c_a_badge_while_a_replica_is_restarted_and_at_the_end(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.submit(slow(job(replicas=2, runPolicy={"backoffLimit": 3})))
        await shows(browser, lambda row: "2 Running" in row)
        for _ in range(3):
            await end(browser, 1)
            badged = await shows(browser, lambda row: BADGE in row)
            assert 'class="phase degraded"' in badged
            assert ">Running · degraded<" in badged
            assert names((await browser.piece("/jobs?phase=Error")).text) == ["train"]
            badged = await shows(browser, lambda row: "2 Running" in row and BADGE not in row)
            assert '<span class="phase running">Running</span>' in badged
            assert names((await browser.piece("/jobs?phase=Error")).text) == []
        await end(browser, 1)
        badged = await shows(browser, lambda row: "Failed" in row)
        assert '<span class="phase failed">Failed</span>' in badged
        assert BADGE in badged
        await emitted(browser.app)
        meta = (await browser.app.job("default", "train"))["metadata"]
        page = (await browser.get(f"/jobs/default/PyTorchTrainingJob/train?uid={meta['uid']}")).text
        assert page.count("ReplicaRestart") == 3


async def test_a_pytorchjob_of_kubeflow_has_the_phase_of_its_newest_condition(tmp_path: Path) -> None:
    spec = training(master=False, workers=1, policy="ExitCode", suspend=True)
    spec["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"] = {
        "annotations": {"sim.jobledger.dev/start-seconds": "0.5"}
    }
    async with console(tmp_path) as browser:
        manifest = {"apiVersion": API, "kind": "PyTorchJob", "metadata": {"name": "train"}, "spec": spec}
        await browser.submit(manifest)
        await shows(browser, lambda row: ">Paused<" in row)
        job = await browser.app.job("default", "train")
        await browser.app.patch(job, {"spec": {"runPolicy": {"suspend": False}}}, "test")
        await shows(browser, lambda row: ">Running<" in row and BADGE not in row)
        await end(browser, 137)
        found_row = await shows(browser, lambda row: BADGE in row)
        assert ">Running · degraded<" in found_row
        await shows(browser, lambda row: ">Running<" in row and BADGE not in row)
        await end(browser, 1)
        assert BADGE in await shows(browser, lambda row: ">Failed<" in row)
