"""DeepSpeedJobs on a real control plane: keys, hostfile, another scale, and the older spelling of the kind."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, Manifest

pytestmark = pytest.mark.integration

WARNING = "Warning: kind DeepspeedJob is deprecated, use DeepSpeedJob"


@pytest.fixture(scope="module")
def controller(
    simulated: ControlPlane, neighbour_crds: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControllerProcess]:
    with ControllerProcess(simulated, tmp_path_factory.mktemp("deepspeed")) as running:
        yield running


@pytest.fixture
def jobs(simulated: ControlPlane, controller: ControllerProcess, namespace: str) -> Jobs:
    return Jobs(simulated, namespace, "deepspeedjobs")


def job(name: str, workers: int, *, kind: str = "DeepSpeedJob", **spec: Any) -> Manifest:
    pods = {"containers": [{"name": "worker", "image": "none"}]}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "config": {"run": {"python": "train.py"}},
            "worker": {"replicas": workers, "template": {"spec": pods}},
            **spec,
        },
    }


def elastic(expected: int) -> dict[str, Any]:
    bounds = {"enabled": True, "minReplicas": 1, "maxReplicas": 3}
    return {"elastic": {**bounds, "expectedReplicas": expected}}


def get(jobs: Jobs, what: str, name: str) -> Manifest:
    return jobs.cluster.get("-n", jobs.namespace, what, name)


def hosts(jobs: Jobs, name: str) -> list[str]:
    return str(get(jobs, "configmap", f"{name}-hostfile")["data"]["hostfile"]).splitlines()


def uids(jobs: Jobs, what: str, name: str) -> dict[str, str]:
    """Uid of each object of a kind that belongs to the job, by name."""
    label = f"tensorstack.dev/owner-name={name}"
    objects = jobs.cluster.get("-n", jobs.namespace, what, "-l", label)["items"]
    return {manifest["metadata"]["name"]: manifest["metadata"]["uid"] for manifest in objects}


def test_example_a_in_its_older_spelling(simulated: ControlPlane, jobs: Jobs) -> None:
    old = Jobs(simulated, jobs.namespace, "deepspeedjobaliases")
    spec: dict[str, Any] = {"config": {"slotPerWorker": 1, "run": {"python": "/t9k/mnt/train.py"}}}
    answer = simulated.answer(
        "create", "-n", jobs.namespace, "-f", "-", input=job("gpt", 4, kind="DeepspeedJob", **spec)
    )
    assert answer.returncode == 0, answer.stderr
    assert WARNING in answer.stderr
    old.wait("gpt", "phase", "Running")
    assert hosts(jobs, "gpt") == [f"gpt-worker-{index} slots=1" for index in range(4)]
    for what in ("pods", "services", "configmaps", "secrets"):
        names = uids(jobs, what, "gpt")
        assert names
        owners = [get(jobs, what, name)["metadata"]["ownerReferences"] for name in names]
        assert {owner["kind"] for (owner,) in owners} == {"DeepspeedJob"}
    old.event_message("gpt", "DeprecatedField")
    assert [reason for _, reason, _ in old.events("gpt")][:2] == ["Created", "DeprecatedField"]
    script = get(jobs, "pod", "gpt-worker-0")["spec"]["containers"][0]["command"][-1]
    assert script.endswith(" --master_addr=gpt-worker-0 --master_port=29500 /t9k/mnt/train.py")
    old.end("gpt-worker-0")
    old.wait("gpt", "phase", "Succeeded")
    old.delete("gpt")


def test_the_keys_are_in_the_secret_and_nowhere_else(jobs: Jobs, controller: ControllerProcess) -> None:
    jobs.apply(job("keys", 2))
    jobs.wait("keys", "phase", "Running")
    secret = get(jobs, "secret", "keys-ssh")
    assert set(secret["data"]) == {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}
    private = b64decode(secret["data"]["id_rsa"])
    assert private.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    line = private.splitlines()[3]
    written = controller.store.read_bytes() + controller.store.with_name("ledger.db-wal").read_bytes()
    assert b"keys-worker-1" in written
    assert line not in written
    assert secret["data"]["id_rsa"][100:150].encode() not in written
    assert line not in controller.said.encode()
    assert line.decode() not in str(jobs.get("keys"))


def test_another_controller_finds_the_secret_and_leaves_it(jobs: Jobs, controller: ControllerProcess) -> None:
    jobs.apply(job("found", 2))
    jobs.wait("found", "phase", "Running")
    before = {what: uids(jobs, what, "found") for what in ("secrets", "configmaps", "services", "pods")}
    version = get(jobs, "secret", "found-ssh")["metadata"]["resourceVersion"]
    assert controller.stop() == 0
    controller.start()
    jobs.patch("found", runPolicy={"backoffLimit": 9})
    jobs.wait("found", "observedGeneration", 2)
    jobs.end("found-worker-1", 137)
    jobs.wait("found", "backoffCount", 1)
    jobs.wait("found", "aggregate.running", 2)
    after = {what: uids(jobs, what, "found") for what in before}
    assert after["pods"]["found-worker-0"] == before["pods"]["found-worker-0"]
    assert {**after, "pods": 0} == {**before, "pods": 0}
    assert get(jobs, "secret", "found-ssh")["metadata"]["resourceVersion"] == version


def test_example_e_another_scale_starts_all_workers_anew(jobs: Jobs) -> None:
    jobs.apply(job("elastic", 1, **elastic(3)))
    jobs.wait("elastic", "aggregate.running", 3)
    before, keys = uids(jobs, "pods", "elastic"), uids(jobs, "secrets", "elastic")
    assert hosts(jobs, "elastic") == [f"elastic-worker-{index} slots=1" for index in range(3)]
    jobs.kubectl("scale", "dj/elastic", "--replicas=2")
    jobs.until(
        "elastic",
        "two others run",
        lambda status: status["aggregate"]["running"] == 2 and len(status["tasks"][0]["replicas"]) == 2,
    )
    after = wait_for("all are others", lambda: others(before, uids(jobs, "pods", "elastic")))
    assert set(after) == {"elastic-worker-0", "elastic-worker-1"}
    assert list(uids(jobs, "services", "elastic")) == ["elastic-pods"]
    assert hosts(jobs, "elastic") == [f"elastic-worker-{index} slots=1" for index in range(2)]
    assert uids(jobs, "secrets", "elastic") == keys
    status = jobs.status("elastic")
    assert (status["phase"], status["backoffCount"]) == ("Running", 0)
    assert jobs.event_message("elastic", "Scaled") == "Scale changed from 3 to 2 replicas"


def others(before: dict[str, str], after: dict[str, str]) -> dict[str, str] | None:
    """`after`, if it is two pods and none of those of before."""
    return after if len(after) == 2 and not set(before.values()) & set(after.values()) else None


def test_a_hostfile_that_somebody_changed_is_set_right(jobs: Jobs) -> None:
    """Again and again: soon after the first change nothing else happens to the job that would lead to a visit."""
    jobs.apply(job("edited", 1))
    jobs.wait("edited", "phase", "Running")
    for slots in (7, 8, 9):
        change = f'{{"data": {{"hostfile": "nobody slots={slots}\\n"}}}}'
        jobs.kubectl("patch", "configmap", "edited-hostfile", "--type=merge", "-p", change)
        wait_for("the hostfile is right", lambda: hosts(jobs, "edited") == ["edited-worker-0 slots=1"])


def test_a_secret_that_somebody_deleted_is_there_before_new_pods(jobs: Jobs) -> None:
    jobs.apply(job("healed", 1))
    jobs.wait("healed", "phase", "Running")
    before = uids(jobs, "secrets", "healed")
    jobs.kubectl("delete", "secret", "healed-ssh")
    jobs.end("healed-worker-0", 137)
    jobs.wait("healed", "backoffCount", 1)
    jobs.wait("healed", "aggregate.running", 1)
    after = uids(jobs, "secrets", "healed")
    assert set(after) == {"healed-ssh"}
    assert after != before


@pytest.mark.parametrize(("what", "name"), [("Secret", "taken-ssh"), ("ConfigMap", "taken-hostfile")])
def test_names_that_are_taken_are_waited_for(jobs: Jobs, what: str, name: str) -> None:
    jobs.kubectl("create", "-f", "-", input={"apiVersion": "v1", "kind": what, "metadata": {"name": name}})
    jobs.apply(job("taken", 1))
    message = f'{what} "{name}" already exists and is not controlled by this job'
    jobs.until(
        "taken",
        "its name is taken",
        lambda status: any(
            (condition["type"], condition["reason"], condition["message"])
            == ("Initialized", "NameConflict", message)
            for condition in status.get("conditions", ())
        ),
    )
    jobs.kubectl("delete", what.lower(), name)
    jobs.wait("taken", "phase", "Running")


def test_a_job_that_is_deleted_leaves_nothing(simulated: ControlPlane, jobs: Jobs) -> None:
    jobs.apply(job("gone", 2))
    jobs.wait("gone", "phase", "Running")
    jobs.delete("gone")
    for what in ("pods", "services", "configmaps", "secrets"):
        wait_for(f"no {what} are left", lambda what=what: not uids(jobs, what, "gone"))  # type: ignore[misc]
