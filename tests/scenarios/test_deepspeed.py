"""The worked examples A-F of deepspeedjob.md, section 7, and what another scale does to living pods (section 5)."""

from typing import Any

from statemachine.events import ReplicaDismissed
from statemachine.phases import Phase
from tests.support.scenario import Story

KIND = "DeepSpeedJob"
LAUNCH = "exec deepspeed --hostfile=/t9k/hostfile --master_addr=%s-worker-0 --master_port=29500"


def workers(replicas: int, policy: str = "", **spec: Any) -> dict[str, Any]:
    """A job that runs a script on some workers; the rest of its spec as keywords."""
    pods = {"containers": [{"name": "worker", "image": "deepspeed:1"}]}
    worker: dict[str, Any] = {"replicas": replicas, "template": {"spec": pods}}
    if policy:
        worker["restartPolicy"] = policy
    return {"config": {"run": {"python": ["train.py"]}}, "worker": worker, **spec}


def story(spec: dict[str, Any], *, name: str = "gpt", kind: str = KIND) -> Story:
    return Story(spec, name=name, kind=kind).submit()


def hosts(life: Story) -> list[str]:
    """The hostfile's lines."""
    data = life.children[f"ConfigMap/{life.name}-hostfile"]["data"]["hostfile"]
    assert data.endswith("\n")
    return str(data).splitlines()


def command(life: Story, replica: str) -> list[str]:
    """What a worker runs."""
    container = life.children[f"Pod/{life.name}-{replica}"]["spec"]["containers"][0]
    assert container["args"] == []
    return list(container["command"])


def launched(life: Story) -> str:
    """The last line of worker-0's script."""
    return command(life, "worker-0")[-1].splitlines()[-1]


def first_manifest() -> dict[str, Any]:
    spec = workers(4, config={"slotPerWorker": 1, "run": {"python": "/t9k/mnt/train.py"}})
    spec["worker"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    return spec


def test_example_a_the_first_manifest_runs_with_warnings() -> None:
    life = story(first_manifest(), name="deepspeed-example", kind="DeepspeedJob")
    assert life.reasons == ["Created", "DeprecatedField", "PodTemplateRestartPolicyIgnored"]
    assert hosts(life) == [f"deepspeed-example-worker-{index} slots=1" for index in range(4)]
    assert launched(life) == f"{LAUNCH % 'deepspeed-example'} /t9k/mnt/train.py"
    for index in (1, 2, 3):
        assert command(life, f"worker-{index}") == ["/usr/sbin/sshd", "-D"]


def test_example_a_children_carry_the_kind_of_the_object_and_the_log_the_present_one() -> None:
    life = story(first_manifest(), kind="DeepspeedJob")
    assert (life.state.kind, life.state.object_kind) == ("DeepSpeedJob", "DeepspeedJob")
    assert next(life.announced())[1] == "A DeepSpeedJob has been created: gpt"
    for child in life.children.values():
        labels, (owner,) = child["metadata"]["labels"], child["metadata"]["ownerReferences"]
        assert (owner["kind"], labels["tensorstack.dev/owner-kind"]) == ("DeepspeedJob", "DeepspeedJob")
        assert labels["tensorstack.dev/component"] == "deepspeedjob"
    service = life.children["Service/gpt-worker-1"]
    assert service["spec"]["selector"]["tensorstack.dev/owner-kind"] == "DeepspeedJob"
    life.edit(runPolicy={"backoffLimit": 1}).all_pods("Running").pod("worker-0", "Succeeded")
    assert life.phase is Phase.SUCCEEDED


def test_example_b_eight_processes_on_four_workers() -> None:
    run = {"module": ["train.main", "--lr", "0.1"]}
    config = {"slotsPerWorker": 2, "run": run, "localRank": False, "otherArgs": ["--no_ssh_check"]}
    life = story(workers(4, config=config))
    assert hosts(life) == [f"gpt-worker-{index} slots=2" for index in range(4)]
    flags = "--no_local_rank --module --no_ssh_check train.main --lr 0.1"
    assert launched(life) == f"{LAUNCH % 'gpt'} {flags}"


def test_example_c_a_search_for_hyperparameters() -> None:
    life = story(workers(1, config={"autotune": "tune", "run": {"python": ["train.py", "cfg.yml"]}}))
    assert launched(life) == f"{LAUNCH % 'gpt'} --autotuning=tune train.py cfg.yml"


def test_example_d_what_is_refused_has_no_children() -> None:
    run = {"python": ["train.py"]}
    mounts = [{"name": "keys", "mountPath": "/root/.ssh"}]
    mounted = workers(1)
    mounted["worker"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts
    mounted["worker"]["template"]["spec"]["volumes"] = [{"name": "keys"}]
    args = "spec.config.otherArgs"
    for spec, text in (
        (
            workers(1, config={"run": {"python": ["a.py"], "exec": ["b"]}}),
            "spec.config.run: exactly one of python, module, exec must be set",
        ),
        (
            workers(1, config={"run": run, "otherArgs": ["--autotuning=run"]}),
            f'{args}: "--autotuning" conflicts with spec.config.autotune',
        ),
        (
            workers(1, config={"run": run, "otherArgs": ["--launcher", "openmpi"]}),
            f'{args}: launcher "openmpi" is not supported, only pdsh',
        ),
        (
            mounted,
            "spec.worker.template.spec.containers[0].volumeMounts[0].mountPath: "
            '"/root/.ssh" is reserved by the controller',
        ),
    ):
        life = story(spec)
        assert life.phase is Phase.FAILED
        assert life.condition("Failed") == ("True", "InvalidSpec", text)
        assert life.children == {}


def elastic(expected: int) -> dict[str, Any]:
    wish = {"enabled": True, "minReplicas": 1, "maxReplicas": 3, "expectedReplicas": expected}
    return workers(1, elastic=wish)


def rescaled(before: int, after: int) -> Story:
    """A job whose pods all run, right after its scale was changed."""
    return story(elastic(before)).all_pods("Running").edit(elastic={"expectedReplicas": after})


def test_example_e_another_scale_starts_all_workers_anew() -> None:
    life = rescaled(3, 2)
    assert ("Scaled", "Scale changed from 3 to 2 replicas") in life.announced()
    assert life.pods == []
    assert hosts(life) == ["gpt-worker-0 slots=1", "gpt-worker-1 slots=1"]
    assert "Service/gpt-worker-2" not in life.children
    life.gone("worker-2").gone("worker-1")
    assert life.pods == []
    life.gone("worker-0")
    assert life.pods == ["worker-0.2", "worker-1.2"]
    life.all_pods("Running")
    assert life.phase is Phase.RUNNING
    assert (life.status["backoffCount"], life.status["tasks"][0]["restartCount"]) == (0, 0)
    assert life.status["aggregate"]["running"] == 2


def test_example_e_a_larger_scale_does_too() -> None:
    life = rescaled(1, 3)
    assert life.pods == []
    assert len(hosts(life)) == 3
    assert "Service/gpt-worker-2" in life.children
    assert life.gone("worker-0").pods == ["worker-0.2", "worker-1.1", "worker-2.1"]
    assert life.phase is Phase.RUNNING


def test_what_leaving_pods_say_is_neither_success_nor_failure() -> None:
    for phase in ("Succeeded", "Failed"):
        life = rescaled(3, 2).pod("worker-0", phase).pod("worker-1", "Failed")
        assert life.phase is Phase.RUNNING
        for index in range(3):
            life.gone(f"worker-{index}")
        assert life.pods == ["worker-0.2", "worker-1.2"]
        assert life.status["backoffCount"] == 0


def test_a_second_change_while_pods_leave_is_followed_too() -> None:
    life = rescaled(3, 1).edit(elastic={"expectedReplicas": 2})
    assert life.pods == []
    for index in (2, 0, 1):
        life.gone(f"worker-{index}")
    assert life.pods == ["worker-0.2", "worker-1.2"]


def test_a_restart_under_way_joins_the_new_start() -> None:
    life = story(elastic(3)).all_pods("Running").pod("worker-1", "Failed")
    life.edit(elastic={"expectedReplicas": 2}).gone("worker-0").gone("worker-2")
    assert life.pods == []
    assert life.conditions["ReplicaFailure"] == "True"
    assert life.gone("worker-1").pods == ["worker-0.2", "worker-1.2"]
    assert life.all_pods("Running").conditions["ReplicaFailure"] == "False"
    assert life.status["backoffCount"] == 1


def test_a_worker_given_up_comes_back_with_another_scale() -> None:
    spec = elastic(3)
    spec["worker"]["restartPolicy"] = "Never"
    life = story(spec).all_pods("Running").pod("worker-1", "Failed")
    life.edit(elastic={"expectedReplicas": 2})
    for index in range(3):
        life.gone(f"worker-{index}")
    assert life.pods == ["worker-0.2", "worker-1.2"]
    assert life.all_pods("Running").conditions["ReplicaFailure"] == "False"


def test_a_change_while_paused_waits_for_the_end_of_the_pause() -> None:
    life = story(elastic(3)).all_pods("Running").pause()
    for index in range(3):
        life.gone(f"worker-{index}")
    assert life.edit(elastic={"expectedReplicas": 2}).pods == []
    assert life.resume().pods == ["worker-0.2", "worker-1.2"]


def test_a_scale_changed_in_a_short_pause_waits_for_the_pods_of_the_one_before() -> None:
    life = story(elastic(3)).all_pods("Running").pause().gone("worker-0")
    life.edit(elastic={"expectedReplicas": 2}).resume()
    assert life.phase is Phase.RESUMING
    assert life.gone("worker-2").pods == []
    assert life.gone("worker-1").pods == ["worker-0.2", "worker-1.2"]
    assert life.all_pods("Running").phase is Phase.RUNNING


def test_without_elastic_training_each_worker_comes_back_by_itself() -> None:
    life = story(workers(2)).all_pods("Running").pause().gone("worker-0").resume()
    assert life.pods == ["worker-0.2"]
    assert life.gone("worker-1").pods == ["worker-0.2", "worker-1.2"]


def test_pausing_and_scaling_at_once_is_pausing() -> None:
    life = story(elastic(3)).all_pods("Running")
    life.edit(elastic={"expectedReplicas": 2}, runMode={"pause": {"enabled": True}})
    assert life.phase is Phase.PAUSED
    assert dismissed(life) == ["pause"] * 3
    for index in range(3):
        life.gone(f"worker-{index}")
    assert life.pods == []


def test_pods_that_leave_for_a_pause_do_not_leave_once_more_for_another_scale() -> None:
    life = story(elastic(3)).all_pods("Running").pause()
    assert dismissed(life.edit(elastic={"expectedReplicas": 2})) == []


def dismissed(life: Story) -> list[str]:
    """Why pods leave, by what was decided last."""
    return [event.why for event in life.last if isinstance(event, ReplicaDismissed)]


def test_a_finished_job_is_not_started_anew() -> None:
    life = story(elastic(3)).all_pods("Running").pod("worker-0", "Succeeded")
    assert life.edit(elastic={"expectedReplicas": 2}).phase is Phase.SUCCEEDED
    assert life.pods == ["worker-0.1", "worker-1.1"]


def fail(life: Story, replica: str = "worker-0") -> Story:
    return life.pod(replica, "Running").pod(replica, "Failed", exit_code=1)


def test_example_f_three_restarts_then_the_job_has_failed() -> None:
    life = story(workers(2)).all_pods("Running")
    for restarts in (1, 2, 3):
        fail(life).gone("worker-0")
        assert (life.phase, life.status["backoffCount"]) == (Phase.RUNNING, restarts)
        if "backoff" in life.state.timers:
            life.timer("backoff")
    fail(life)
    assert life.phase is Phase.FAILED
    assert life.condition("Failed") is not None
    assert life.condition("Failed")[1] == "BackoffLimitExceeded"  # type: ignore[index]


def test_example_f_never_means_never() -> None:
    life = fail(story(workers(2, "Never")).all_pods("Running"))
    message = "The job exited with an error code."
    assert life.condition("Failed") == ("True", "Failed", message)


def test_example_f_clean_up_takes_the_workers_and_leaves_the_launcher() -> None:
    life = story(workers(3, "Never", runPolicy={"cleanUpPolicy": "Unfinished"})).all_pods("Running")
    assert fail(life).pods == ["worker-0.1"]


def test_an_unreachable_worker_ends_the_script_so_that_exit_code_restarts_it() -> None:
    life = story(workers(2, "ExitCode")).all_pods("Running").pod("worker-0", "Failed", exit_code=138)
    assert (life.phase, life.status["backoffCount"]) == (Phase.RUNNING, 1)
