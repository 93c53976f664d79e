"""What the console shows of a container that was started again in its pod, and of what it wrote before."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx

from jobledger.api import create
from jobledger.jobs.views import phase_of
from jobledger.service.app import App
from jobledger.wiring import running
from k8s_bridge.admission import admit
from k8s_bridge.local import LocalCluster
from statemachine.engine.clock import WallClock
from statemachine.log.sqlite import SqliteLog
from tests.support.controllers import controller_of
from tests.support.streams import streaming
from tests.unit.api.words import until, written

LOG = "/jobs/default/PyTorchJob/train/log"
SECOND_TIME = "echo x >> runs; n=$(wc -l < runs); echo this is run $n; [ $n -ge 2 ]"
"""Fails once, then ends well."""

JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "train"},
    "spec": {
        "pytorchReplicaSpecs": {
            "Master": {
                "restartPolicy": "OnFailure",
                "template": {
                    "spec": {
                        "containers": [
                            {"name": "pytorch", "image": "none", "command": ["sh", "-c", SECOND_TIME]},
                            {"name": "beside", "image": "none", "command": ["echo", "only once"]},
                        ]
                    }
                },
            }
        }
    },
}


@asynccontextmanager
async def browsing(folder: Path) -> AsyncIterator[tuple[httpx.AsyncClient, App]]:
    log = await SqliteLog.open(folder / "store.db")
    async with LocalCluster(
        log.store, folder / "data", workdir=folder, restart_wait=0.01, admit=admit
    ) as cluster:
        controller = controller_of(log, cluster, WallClock())
        app = App(controller)
        async with running(controller):
            transport = httpx.ASGITransport(create(app))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                yield client, app
    await log.close()


async def test_the_log_of_the_run_before_is_shown_searched_followed_and_downloaded(tmp_path: Path) -> None:
    async with browsing(tmp_path) as (client, app):
        await app.submit(written(JOB), "tests")

        async def has_succeeded() -> bool:
            (job,) = await app.jobs()
            return phase_of(job) == "Succeeded"

        await until(has_succeeded)

        async def text(query: str, below: str = "") -> str:
            answer = await client.get(f"{LOG}{below}?replica=master-0&{query}")
            assert answer.status_code == 200, answer.text
            return answer.text

        for query, says, says_not in (("", "run 2", "run 1"), ("previous=1", "run 1", "run 2")):
            page = await text(query)
            assert f"this is {says}" in page
            assert f"this is {says_not}" not in page
            assert 'name="previous"' in page
            assert await text(query, "/download") == f"this is {says}\n"
            followed = urlencode({"log": f"{LOG}?{query}&from=0"})
            async with streaming(create(app), f"/live?{followed}") as stream:
                assert (await stream.event("log"))["lines"] == [f"this is {says}"]
            assert f"this is {says}" in await text(f"{query}&q=THIS", "/search")
        beside = await text("container=beside")
        assert "only once" in beside
        assert 'name="previous"' not in beside  # it has no run before
        assert "has not been restarted" in await text("container=beside&previous=1")
