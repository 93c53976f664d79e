"""Pods that somebody deletes again and again on a real cluster: the next one waits (spec R8, Back-off)."""

from pathlib import Path
from typing import Final

import pytest

from tests.harness import ControlPlane, program, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

PACE: Final = {"JOBLEDGER_RESTART__BACKOFF": "12s", "JOBLEDGER_RESTART__BACKOFF_MAX": "1m"}


def test_a_pod_that_is_deleted_twice_comes_at_once_and_then_after_a_wait(
    simulated: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    jobs = Jobs(simulated, namespace)
    with ControllerProcess(simulated, tmp_path, f"--namespaces={namespace}", **PACE) as controller:
        jobs.apply(job("train", replica_type("worker", 2)))

        def uid(replica: str = "worker-1") -> str:
            return str(jobs.children("train").get(replica, {}).get("metadata", {}).get("uid", ""))

        def delete_pod() -> str:
            wait_for("it runs", lambda: jobs.status("train")["aggregate"]["running"] == 2, 60)
            before = uid()
            jobs.kubectl("delete", "pod", jobs.children("train")["worker-1"]["metadata"]["name"])
            return before

        wait_for("it is admitted", lambda: "aggregate" in jobs.status("train"), 60)
        first = delete_pod()
        wait_for("the first comes at once", lambda: uid() not in ("", first), 10)
        delete_pod()
        wait_for("the second waits", lambda: "BackOff" in jobs.kubectl("get", "events"), 30)
        assert not uid()
        wait_for("the status shows it", lambda: jobs.status("train")["aggregate"]["deleted"] == 1, 30)
        assert "is started again in 12s" in jobs.kubectl("get", "events")
        said = program.run("why", "train", "-n", namespace, "--store", str(controller.store))
        assert "back-off: the next pod of worker-1 is created later" in said.stdout
        assert "due" in said.stdout

        controller.kill()  # the wait is in the log: a controller that was away does not forget it
        controller.start()
        wait_for("it works", lambda: controller.is_working, 30)
        assert not uid()
        wait_for("the wait is over", uid, 60)
        wait_for("it runs again", lambda: jobs.status("train")["aggregate"]["running"] == 2, 60)
