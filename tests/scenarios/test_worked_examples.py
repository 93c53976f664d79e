"""The worked examples A to G of pytorchtrainingjob.md §7, as stories; their children are also golden files."""

from typing import Any

from statemachine.phases import Phase
from tests.support.scenario import Story, replica_type, workers

EXIT = "The job exited with an error code."


def env(story: Story, replica: str) -> dict[str, str]:
    pod = story.children[f"Pod/{story.name}-7ac1b-{replica}"]
    return {variable["name"]: variable["value"] for variable in pod["spec"]["containers"][0]["env"]}


def line(story: Story, replica: str) -> tuple[list[str], list[str]]:
    container = story.children[f"Pod/{story.name}-7ac1b-{replica}"]["spec"]["containers"][0]
    return container.get("command", []), container.get("args", [])


def test_example_a_four_workers_find_each_other_and_the_first_decides() -> None:
    story = Story(workers(4, policy="OnFailure"), name="pytorch-example").submit()
    names = [f"pytorch-example-7ac1b-worker-{index}" for index in range(4)]
    assert list(story.children) == [f"Service/{name}" for name in names] + [f"Pod/{name}" for name in names]
    for index in range(4):
        assert env(story, f"worker-{index}") == {
            "MASTER_ADDR": "pytorch-example-7ac1b-worker-0",
            "MASTER_PORT": "23456",
            "WORLD_SIZE": "4",
            "RANK": str(index),
            "PYTHONUNBUFFERED": "1",
        }
    roles = [story.children[f"Pod/{name}"]["metadata"]["labels"].get("job-role") for name in names]
    assert roles == ["master", None, None, None]
    assert story.children[f"Pod/{names[0]}"]["spec"]["restartPolicy"] == "Never"
    story.all_pods("Running").at(60).pod("worker-0", "Succeeded", exit_code=0)
    assert story.phase is Phase.SUCCEEDED
    assert story.status["aggregate"]["running"] == 3
    assert len(story.pods) == 4


def ddp(enabled: bool) -> dict[str, Any]:
    item = replica_type("node", 2)
    item["template"]["spec"]["containers"][0].update(command=["python"], args=["train.py", "--epochs", "5"])
    torchrun = {"enabled": enabled, "maxRestarts": 3, "procPerNode": "4", "rdzvBackend": "c10d"}
    return {"replicaSpecs": [item], "torchrunConfig": torchrun}


def test_example_b_torchrun_gets_its_line_and_no_ranks() -> None:
    story = Story(ddp(enabled=True), name="ddp").submit()
    options = ["--nnodes=2", "--nproc_per_node=4", "--rdzv_id=ddp-7ac1b", "--rdzv_backend=c10d"]
    options += ["--rdzv_endpoint=ddp-7ac1b-node-0:23456", "--max_restarts=3", "--role=node"]
    for replica in ("node-0", "node-1"):
        assert line(story, replica) == (["torchrun"], [*options, "train.py", "--epochs", "5"])
        assert not {"RANK", "WORLD_SIZE"} & set(env(story, replica))
    assert "CommandIgnored" in story.reasons


def test_example_b_without_torchrun_the_same_manifest_runs_plainly() -> None:
    story = Story(ddp(enabled=False), name="ddp").submit()
    assert line(story, "node-1") == (["python"], ["train.py", "--epochs", "5"])
    assert "CommandIgnored" not in story.reasons


def test_example_c_137_is_restarted_and_1_is_not() -> None:
    story = Story(workers(1, policy="ExitCode")).submit().pod("worker-0", "Pending", uid="a")
    assert story.conditions == {"Initialized": "True", "ReplicaFailure": "False"}
    assert story.at(5).pod("worker-0", "Running").phase is Phase.RUNNING
    failed = story.at(20).pod_seen("worker-0", "Failed", exit_code=137)
    story.see(failed)
    assert (story.phase, story.status["backoffCount"]) == (Phase.RUNNING, 1)
    assert story.conditions["ReplicaFailure"] == "True"
    assert story.pods == []
    story.gone("worker-0")
    assert story.pods == ["worker-0.2"]
    story.at(25).pod("worker-0", "Running", uid="b")
    assert story.conditions["ReplicaFailure"] == "False"
    story.at(40).pod("worker-0", "Failed", exit_code=1)
    assert story.phase is Phase.FAILED
    assert story.condition("Running") == ("False", "Failed", EXIT)
    assert story.condition("Completed") == ("False", "Failed", EXIT)
    assert story.condition("Failed") == ("True", "Failed", EXIT)
    assert story.conditions["ReplicaFailure"] == "True"
    assert story.pods == ["worker-0.2"]
    assert story.at(41).see(failed).last == ()


def test_example_c_without_budget_fails_at_the_first() -> None:
    spec = workers(1, policy="ExitCode", runPolicy={"backoffLimit": 0})
    story = Story(spec).submit().pod("worker-0", "Running").pod("worker-0", "Failed", exit_code=137)
    assert story.condition("Failed") is not None
    assert story.condition("Failed")[1] == "BackoffLimitExceeded"  # type: ignore[index]


def shared_budget() -> Story:
    types = [replica_type("ps", 1), replica_type("worker", 4)]
    spec = {"replicaSpecs": types, "runPolicy": {"backoffLimit": 3}}
    story = Story(spec, name="train").submit().all_pods("Running")
    for name in ("worker-1", "worker-2", "worker-1"):
        story.pod(name, "Failed").gone(name).pod(name, "Running")
    return story


def test_example_d_all_replicas_share_one_budget() -> None:
    story = shared_budget()
    assert [env(story, name)["RANK"] for name in ("ps-0", "worker-0", "worker-3")] == ["0", "1", "4"]
    assert env(story, "ps-0")["WORLD_SIZE"] == "5"
    assert story.status["backoffCount"] == 3
    assert [task["restartCount"] for task in story.status["tasks"]] == [0, 3]
    story.pod("worker-3", "Failed")
    assert story.phase is Phase.RUNNING
    assert story.conditions["ReplicaFailure"] == "True"
    assert "worker-3.1" in story.pods
    story.pod("ps-0", "Failed")
    message = "The job has failed because the restart limit (3) has been reached."
    assert story.condition("Failed") == ("True", "BackoffLimitExceeded", message)


def test_example_d_the_primary_succeeding_is_success_all_the_same() -> None:
    assert shared_budget().pod("worker-3", "Failed").pod("ps-0", "Succeeded").phase is Phase.SUCCEEDED


def elastic(expected: int) -> dict[str, Any]:
    spec = workers(1)
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["train.py"]
    return {
        **spec,
        "torchrunConfig": {"enabled": True},
        "elastic": {"enabled": True, "minReplicas": 4, "maxReplicas": 10, "expectedReplicas": expected},
        "scheduler": {"t9kScheduler": {"queue": "default", "priority": 10}},
    }


def test_example_e_scale_follows_the_wish_within_its_bounds() -> None:
    story = Story(elastic(7)).submit().all_pods("Running")
    assert len(story.pods) == 7
    assert line(story, "worker-6")[1][0] == "--nnodes=4:10"
    group = story.children["PodGroup/mnist"]["spec"]
    assert group == {"minMember": 4, "priority": 10, "queue": "default"}
    story.edit(elastic={"expectedReplicas": 5})
    dismissed = [event.replica for event in story.last if event.type == "ReplicaDismissed"]
    assert dismissed == ["worker-6", "worker-5"]
    assert story.pods == [f"worker-{index}.1" for index in range(5)]
    story.gone("worker-6").gone("worker-5")
    assert sum(story.status["aggregate"].values()) == 5
    assert story.status["backoffCount"] == 0
    assert story.children["PodGroup/mnist"]["spec"]["minMember"] == 4


def test_example_e_wishes_out_of_bounds_and_changed_bounds_are_refused() -> None:
    story = Story(elastic(7)).submit().all_pods("Running")
    story.edit(elastic={"expectedReplicas": 11})
    expected = "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas"
    assert ("InvalidUpdate", expected) in story.announced()
    story.edit(elastic={"expectedReplicas": 7, "minReplicas": 3})
    assert ("InvalidUpdate", "spec.elastic.minReplicas is immutable") in story.announced()
    assert len(story.pods) == 7


def test_example_e_a_short_cluster_runs_what_it_can() -> None:
    story = Story(elastic(7)).submit().all_pods("Pending")
    for index in range(5):
        story.pod(f"worker-{index}", "Running")
    assert story.phase is Phase.RUNNING
    assert (story.status["aggregate"]["running"], story.status["aggregate"]["pending"]) == (5, 2)


def paused() -> Story:
    spec = workers(2)
    spec["replicaSpecs"][0]["template"]["spec"]["initContainers"] = [{"name": "setup", "image": "busybox"}]
    resume = [{"type": "worker", "skipInitContainer": True, "command": ["/usr/bin/sshd"]}]
    return Story({**spec, "runMode": {"pause": {"enabled": True, "resumeSpecs": resume}}}).submit()


def test_example_f_a_job_created_paused_resumes_with_its_resume_specs() -> None:
    story = paused()
    assert (story.phase, story.pods, story.status["aggregate"]["deleted"]) == (Phase.PAUSED, [], 2)
    story.resume()
    assert story.phase is Phase.RESUMING
    pod = story.children["Pod/mnist-7ac1b-worker-1"]["spec"]
    assert "initContainers" not in pod
    assert line(story, "worker-1") == (["/usr/bin/sshd"], [])
    assert story.all_pods("Running").phase is Phase.RUNNING
    story.pause().pod("worker-0", "Failed", exit_code=143)
    assert (story.phase, story.status["backoffCount"]) == (Phase.PAUSED, 0)


def test_example_f_resume_specs_cannot_be_changed() -> None:
    story = paused()
    story.edit(runMode={"pause": {"resumeSpecs": []}})
    assert ("InvalidUpdate", "spec.runMode.pause.resumeSpecs is immutable") in story.announced()


def debug(**more: Any) -> Story:
    spec = workers(1, torchrunConfig={"enabled": True})
    template = spec["replicaSpecs"][0]["template"]["spec"]
    template["initContainers"] = [{"name": "setup", "image": "busybox"}]
    return Story({**spec, "runMode": {"debug": {"enabled": True, **more}}}).submit()


def test_example_g_debug_runs_its_command_in_the_usual_surroundings() -> None:
    entry = {"type": "worker", "skipInitContainer": True, "command": ["/usr/bin/sshd"]}
    story = debug(replicaSpecs=[entry])
    assert story.phase is Phase.PENDING
    pod = story.children["Pod/mnist-7ac1b-worker-0"]["spec"]
    assert "initContainers" not in pod
    assert line(story, "worker-0") == (["/usr/bin/sshd"], [])
    assert env(story, "worker-0")["MASTER_ADDR"] == "mnist-7ac1b-worker-0"
    assert "Service/mnist-7ac1b-worker-0" in story.children


def test_example_g_debug_sleeps_by_default_and_keeps_init_containers() -> None:
    story = debug()
    assert line(story, "worker-0") == (["sleep", "inf"], [])
    assert story.children["Pod/mnist-7ac1b-worker-0"]["spec"]["initContainers"][0]["name"] == "setup"
