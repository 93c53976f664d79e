"""Literal values of environment variables on a real API server: in its objects, in no file of the controller."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness import ControlPlane, program, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

VALUE = "literal-4711"


def test_pods_have_the_values_after_a_restart_too_and_no_file_of_the_controller_has_them(
    simulated: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    jobs, off = Jobs(simulated, namespace), {"JOBLEDGER_PRIVACY__ENV_VALUES": "false"}
    container = {"env": [{"name": "TEAM", "value": VALUE}]}
    with ControllerProcess(simulated, tmp_path, f"--namespaces={namespace}", **off) as controller:
        jobs.apply(job("train", replica_type("worker", 1, container=container)))

        def pod() -> dict[str, Any]:
            return dict(jobs.children("train").get("worker-0", {}))

        def value() -> list[Any]:
            env = pod()["spec"]["containers"][0]["env"]
            return [variable.get("value") for variable in env if variable["name"] == "TEAM"]

        wait_for("it runs", lambda: jobs.status("train").get("aggregate", {}).get("running") == 1, 60)
        first = pod()["metadata"]["uid"]
        assert value() == [VALUE]
        controller.kill()  # the key is in a file: a controller that was away knows the hashes again
        controller.start()
        jobs.kubectl("delete", "pod", pod()["metadata"]["name"], "--wait=false")
        wait_for("another pod", lambda: pod().get("metadata", {}).get("uid", first) != first, 60)
        assert value() == [VALUE]
        wait_for("it runs again", lambda: jobs.status("train")["aggregate"]["running"] == 1, 60)
        verified = program.run("replay", "--verify", "--store", str(controller.store))
        assert verified.returncode == 0, verified.stderr
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert controller.store in files
    assert [file.name for file in files if VALUE.encode() in file.read_bytes()] == []
