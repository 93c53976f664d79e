"""The worked examples A to C of beamjob.md §6, as stories; their children are also golden files."""

from statemachine.phases import Phase
from tests.unit.kinds.beam import CLEAN_UP, JOB, NAME, launched, running, spec, submitted

DONE = "The job has finished successfully."
CONF, SERVICE = f"ConfigMap/{NAME}-flinkcluster-conf", f"Service/{NAME}-flinkcluster-jobmanager"
FLINK = [f"{NAME}-flinkcluster-{replica}" for replica in ("jobmanager-0", "taskmanager-0", "taskmanager-1")]
CLUSTER = [CONF, SERVICE, *(f"Pod/{name}" for name in FLINK)]


def test_example_a_a_cluster_is_made_first() -> None:
    story = submitted()
    assert list(story.children) == CLUSTER
    assert story.phase is Phase.PENDING
    assert story.status["phase"] == "Initializing"
    assert story.conditions == {}


def test_example_a_the_job_is_made_when_every_flink_pod_runs() -> None:
    story = submitted().at(5)
    story.pod("jobmanager-0", "Running").pod("taskmanager-1", "Running")
    assert f"Job/{JOB}" not in story.children
    story.pod("taskmanager-0", "Running")
    assert list(story.children) == [*CLUSTER, f"Job/{JOB}"]
    assert story.conditions == {"ClusterRunning": "True", "JobRunning": "False"}
    assert story.status["phase"] == "Initializing"


def test_example_a_the_runner_s_options_are_added() -> None:
    template = launched().children[f"Job/{JOB}"]["spec"]["template"]
    assert template["spec"]["containers"][0]["args"] == [
        "--output=/tmp/counts",
        "--runner=FlinkRunner",
        f"--flink_master={NAME}-flinkcluster-jobmanager:8081",
        "--flink_version=1.16",
        "--environment_type=EXTERNAL",
        "--environment_config=localhost:50000",
    ]


def test_example_a_runs_with_its_pod_succeeds_and_keeps_the_cluster() -> None:
    story = running()
    assert story.status["phase"] == "Running"
    assert story.conditions == {"ClusterRunning": "True", "JobRunning": "True"}
    assert story.status["aggregate"]["running"] == 4
    story.at(60).submit_pod("szsn8", "Succeeded").job(succeeded="1", ended="Complete")
    assert story.phase is Phase.SUCCEEDED
    assert story.conditions == {"ClusterRunning": "True", "JobRunning": "False"}
    assert list(story.children) == [*CLUSTER, f"Job/{JOB}"]
    assert ("Succeeded", DONE) in story.announced()


def test_example_b_the_cluster_is_cleaned_up_and_the_job_stays() -> None:
    for ended, phase in (("Complete", Phase.SUCCEEDED), ("Failed", Phase.FAILED)):
        story = running(spec(**CLEAN_UP)).at(60).job(ended=ended)
        assert story.phase is phase
        assert story.conditions["ClusterRunning"] == "False"
        assert list(story.children) == [f"Job/{JOB}"]
        assert {replica.leaving for replica in story.state.members} == {"clean-up"}


def test_example_c_the_job_tries_again_and_succeeds() -> None:
    story = running().at(10).submit_pod("szsn8", "Failed", **{"container wordcount": "Terminated 1"})
    assert story.status["phase"] == "Running"
    assert story.conditions["JobRunning"] == "False"
    story.submit_pod("b", "Running").at(20).submit_pod("b", "Failed").submit_pod("c", "Running")
    assert story.conditions["JobRunning"] == "True"
    story.at(30).submit_pod("c", "Succeeded").job(succeeded="1", failed="2", ended="Complete")
    assert story.phase is Phase.SUCCEEDED
    shown = [(pod["reference"]["name"], pod["phase"]) for pod in story.status["jobStatus"]]
    assert shown == [(f"{JOB}-szsn8", "Failed"), (f"{JOB}-b", "Failed"), (f"{JOB}-c", "Succeeded")]
    tasks = {task["type"]: task for task in story.status["tasks"]}
    assert tasks["batchjob"]["restartCount"] == 2
    assert tasks["batchjob"]["replicas"][0]["containers"] == [
        {"name": "wordcount", "state": "Terminated", "exitCode": 1}
    ]
