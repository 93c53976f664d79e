"""BeamJob: BJ1 to BJ5, the shared rules with paths of their own, children, and what its life makes of reports."""

from typing import Any

import pytest

from k8s_bridge.admission import admit_here
from statemachine.errors import Refused
from statemachine.phases import Phase
from tests.unit.kinds.beam import (
    CLEAN_UP,
    DEBUG,
    JOB,
    KIND,
    NAME,
    BeamStory,
    admit,
    container,
    flink,
    job_template,
    launched,
    running,
    spec,
    state,
    submitted,
)
from tests.unit.kinds.build import API, Spec, children, notices, texts

CLUSTER = "spec.flinkClusterTemplate.spec"
TEMPLATE = "spec.jobTemplate.spec.template.spec"


def rules(admission: Any) -> list[tuple[str, str]]:
    """Rules and paths of the problems."""
    return [(problem.rule, problem.path) for problem in admission.problems]


def test_a_good_spec_has_nothing_wrong_and_nothing_suspicious() -> None:
    assert (texts(admit(spec())), notices(admit(spec()))) == ([], [])


def test_bj1_what_is_required() -> None:
    assert rules(admit({})) == [("BJ1", "spec.flinkClusterTemplate"), ("BJ1", "spec.jobTemplate")]
    empty = spec(cluster={"spec": {}})
    assert rules(admit(empty)) == [("BJ1", f"{CLUSTER}.flinkVersion"), ("BJ1", f"{CLUSTER}.image")]


@pytest.mark.parametrize("version", ["1.16", "latest", "1.16.3-java11", ""])
def test_bj1_a_version_has_three_numbers(version: str) -> None:
    assert rules(admit(spec(cluster=flink(flinkVersion=version)))) == [("BJ1", f"{CLUSTER}.flinkVersion")]


@pytest.mark.parametrize(
    "job", [{}, {"spec": {}}, {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}]
)
def test_bj2_the_job_has_a_container(job: dict[str, Any]) -> None:
    admission = admit(spec(job=job or {"metadata": {}}))
    assert f"{TEMPLATE}.containers: Required value: at least one container" in texts(admission)
    assert ("BJ2", f"{TEMPLATE}.containers") in rules(admission)


def test_bj2_a_container_has_an_image() -> None:
    admission = admit(spec(job=job_template({"name": "main"})))
    assert texts(admission) == [f"{TEMPLATE}.containers[0].image: Required value"]
    assert [problem.rule for problem in admission.problems] == ["BJ2"]


@pytest.mark.parametrize("policy", ["Always", None])
def test_bj3_the_job_s_pods_end(policy: str | None) -> None:
    admission = admit(spec(job=job_template(restartPolicy=policy)))
    assert texts(admission) == [f"{TEMPLATE}.restartPolicy: must be OnFailure or Never"]
    assert texts(admit(spec(job=job_template(restartPolicy="OnFailure")))) == []


@pytest.mark.parametrize(("number", "longest"), [(1, 36), (10, 36), (11, 35)])
def test_bj4_leaves_room_for_the_digits_of_the_index(number: int, longest: int) -> None:
    assert texts(admit(spec(number), name="a" * longest)) == []
    assert [problem.rule for problem in admit(spec(number), name="a" * (longest + 1)).problems] == ["BJ4"]


@pytest.mark.parametrize("key", ["jobmanager.rpc.address", "rest.port", "jobmanager.rpc.port"])
def test_bj5_addresses_and_ports_are_the_controller_s(key: str) -> None:
    admission = admit(spec(cluster=flink(flinkProperties={key: "1"})))
    assert texts(admission) == [f'{CLUSTER}.flinkProperties: "{key}" is set by the controller']


@pytest.mark.parametrize("part", ["jobManager", "taskManager"])
def test_g6_holds_for_flink_s_containers(part: str) -> None:
    resourced: Spec = {part: {"resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "2"}}}}
    admission = admit(spec(cluster=flink(**resourced)))
    where = f"{CLUSTER}.{part}.resources.requests"
    assert texts(admission) == [f'{where}: Invalid value: "4": must be less than or equal to cpu limit of 2']


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"image": {"name": "flink 1"}}, f"{CLUSTER}.image.name"),
        ({"flinkProperties": {"a: b\nc": "1"}}, f"{CLUSTER}.flinkProperties"),
        ({"flinkProperties": {"a": "1\nrest.port: 9"}}, f"{CLUSTER}.flinkProperties"),
        (
            {"jobManager": {"resources": {"limits": {"cpu": "-1"}}}},
            f"{CLUSTER}.jobManager.resources.limits[cpu]",
        ),
    ],
)
def test_g20_holds_for_flink_s_pods(more: dict[str, Any], path: str) -> None:
    assert rules(admit(spec(cluster=flink(**more)))) == [("G20", path)]


def test_g18_warns_of_a_debug_type_that_there_is_not() -> None:
    debug: Spec = {"runMode": {"debug": {"enabled": True, "replicaSpecs": [{"type": "taskmanager"}]}}}
    assert [reason for reason, _ in notices(admit(spec(**debug)))] == ["DebugTypeIgnored"]


@pytest.mark.parametrize(
    "more",
    [
        {"cluster": flink(3)},
        {"cluster": flink(flinkVersion="1.17.0")},
        {"cluster": flink(flinkProperties={"a": "b"})},
        {"cluster": {**flink(), "metadata": {"labels": {"a": "b"}}}},
        {"cluster": flink(jobManager={"resources": {"limits": {"cpu": "3"}}})},
    ],
)
def test_g17_the_cluster_does_not_change(more: dict[str, Any]) -> None:
    assert {problem.rule for problem in admit(spec(**more), spec()).problems} == {"G17"}


def test_g17_an_edit_inside_the_job_s_template_is_reported() -> None:
    admission = admit(spec(job=job_template(container(image="beam:3"))), spec())
    assert len(admission.frozen) == 1
    assert admission.frozen[0].startswith("spec.jobTemplate")


def test_clean_up_may_change_until_the_end() -> None:
    changed = admit(spec(**CLEAN_UP), spec())
    assert changed.changes == {"spec.runPolicy.cleanUpCluster": True}
    story = running().at(60).job(ended="Complete").edit(**CLEAN_UP)
    assert "InvalidUpdate" in story.reasons


def test_one_machine_refuses_it_and_leaves_one_that_is_there_alone() -> None:
    manifest = {"apiVersion": API, "kind": KIND, "metadata": {"name": NAME}, "spec": spec()}
    with pytest.raises(Refused, match="does not run on one machine") as refused:
        admit_here(manifest, None)
    assert refused.value.status == 422
    admit_here(manifest, manifest)


# ---- children ----------------------------------------------------------------------------------------------------


def made(of: dict[str, Any]) -> dict[str, Any]:
    """Every child by kind and name."""
    return {f"{child['kind']}/{child['metadata']['name']}": child for child in children(state(of))}


def test_the_submitting_container_s_own_runner_stays() -> None:
    args = ["--runner", "DirectRunner"]
    of = spec(job=job_template(container(args=args)))
    assert made(of)[f"Job/{JOB}"]["spec"]["template"]["spec"]["containers"][0]["args"] == args


def test_debug_mode_waits_in_the_submitting_container_alone() -> None:
    debug = {"enabled": True, "replicaSpecs": [{"type": "batchjob", "skipInitContainer": True}]}
    of = spec(
        job=job_template(
            container(livenessProbe={}), container(name="b"), initContainers=[container(name="i")]
        ),
        runMode={"debug": debug},
    )
    template = made(of)[f"Job/{JOB}"]["spec"]["template"]["spec"]
    first, second = template["containers"]
    assert (first["command"], first["args"], "livenessProbe" in first) == (["sleep", "inf"], [], False)
    assert second["args"] == ["--output=/tmp/counts"]
    assert "initContainers" not in template
    assert made(spec(**DEBUG))[f"Pod/{NAME}-flinkcluster-jobmanager-0"]["spec"]["containers"][0]["args"] == [
        "jobmanager"
    ]


def test_only_the_flink_pods_are_in_the_pod_group() -> None:
    objects = made(spec(scheduler={"t9kScheduler": {"queue": "q", "priority": 3}}))
    assert objects[f"PodGroup/{NAME}"]["spec"] == {"minMember": 3, "queue": "q", "priority": 3}
    flinks = [value for name, value in objects.items() if name.startswith("Pod/")]
    group = "scheduler.tensorstack.dev/group-name"
    assert {flink_pod["metadata"]["labels"][group] for flink_pod in flinks} == {NAME}
    assert {flink_pod["spec"]["schedulerName"] for flink_pod in flinks} == {"t9k-scheduler"}
    template = objects[f"Job/{JOB}"]["spec"]["template"]
    assert template["spec"]["schedulerName"] == "t9k-scheduler"
    assert template["metadata"]["labels"]["scheduler.tensorstack.dev/queue"] == "q"
    assert group not in template["metadata"]["labels"]


def test_labels_of_the_templates_are_kept_and_those_of_the_controller_win() -> None:
    labels = {"team": "a", "replica-type": "mine"}
    cluster = {**flink(), "metadata": {"labels": labels, "annotations": {"note": "x"}}}
    job = job_template()
    job["metadata"] = {"labels": {"team": "b"}, "annotations": {"note": "y"}}
    job["spec"]["template"]["metadata"] = {"labels": labels, "annotations": {"note": "z"}}
    objects = made(spec(cluster=cluster, job=job))
    pod = objects[f"Pod/{NAME}-flinkcluster-taskmanager-1"]["metadata"]
    assert (pod["labels"]["team"], pod["labels"]["replica-type"]) == ("a", "taskmanager")
    assert pod["annotations"]["note"] == "x"
    submit = objects[f"Job/{JOB}"]
    assert submit["metadata"]["labels"]["team"] == "b"
    assert submit["metadata"]["annotations"] == {"note": "y"}
    inner = submit["spec"]["template"]["metadata"]
    assert (inner["labels"]["team"], inner["labels"]["replica-type"]) == ("a", "batchjob")
    assert inner["annotations"] == {
        "note": "z",
        "jobledger.dev/job-uid": "00000000-0000-0000-0000-000000000001",
    }


def test_every_flink_container_reads_the_one_file() -> None:
    objects = made(spec(cluster=flink(flinkProperties={"z": "1", "a": "2"})))
    text = objects[f"ConfigMap/{NAME}-flinkcluster-conf"]["data"]["flink-conf.yaml"]
    assert text.splitlines() == [
        f"jobmanager.rpc.address: {NAME}-flinkcluster-jobmanager",
        "jobmanager.rpc.port: 6123",
        "rest.port: 8081",
        "a: 2",
        "z: 1",
    ]
    for name in ("jobmanager-0", "taskmanager-0"):
        mount = objects[f"Pod/{NAME}-flinkcluster-{name}"]["spec"]["containers"][0]["volumeMounts"]
        assert mount[0]["mountPath"] == "/opt/flink/conf/flink-conf.yaml"


# ---- life --------------------------------------------------------------------------------------------------------


def test_a_flink_pod_that_ends_decides_nothing_and_is_made_again() -> None:
    story = running().at(20).pod("jobmanager-0", "Failed", exit_code=1)
    assert story.status["phase"] == "Running"
    assert story.conditions == {"ClusterRunning": "False", "JobRunning": "True"}
    assert story.replica("jobmanager-0").leaving == "restart"
    story.gone("jobmanager-0").pod("jobmanager-0", "Running")
    assert story.conditions["ClusterRunning"] == "True"
    assert f"Job/{JOB}" in story.children


def test_flink_pods_come_back_without_a_limit() -> None:
    story = running()
    for attempt in range(6):
        story.at(1000 * (attempt + 1)).pod("taskmanager-0", "Succeeded").gone("taskmanager-0")
        story.pod("taskmanager-0", "Running")
    assert story.status["phase"] == "Running"
    assert {task["type"]: task["restartCount"] for task in story.status["tasks"]}["taskmanager"] == 6


def test_the_job_is_made_only_when_all_run_at_the_same_time() -> None:
    story = submitted().at(2).pod("jobmanager-0", "Running").pod("taskmanager-0", "Running")
    story.pod("jobmanager-0", "Failed", exit_code=1).pod("taskmanager-1", "Running")
    assert f"Job/{JOB}" not in story.children
    story.gone("jobmanager-0").pod("jobmanager-0", "Running")
    assert f"Job/{JOB}" in story.children


def test_a_job_that_fails_fails_the_job_with_its_reason() -> None:
    story = (
        running().at(60).job(failed="3", ended="Failed", reason="BackoffLimitExceeded", message="Too often.")
    )
    assert story.phase is Phase.FAILED
    said = f"The Job {JOB} has failed: Too often."
    assert story.condition("Failed") == ("True", "BackoffLimitExceeded", said)
    assert ("Failed", said) in story.announced()
    assert story.conditions["JobRunning"] == "False"


def test_a_job_that_is_over_at_once_passes_through_running() -> None:
    story = launched().job(ended="Complete")
    assert story.phase is Phase.SUCCEEDED
    assert "Running" in story.reasons


def test_a_job_that_somebody_deletes_is_not_made_again() -> None:
    story = running().at(30).job_gone()
    assert story.phase is Phase.RUNNING
    assert story.job_lost().phase is Phase.FAILED
    assert story.condition("Failed") is not None
    assert story.condition("Failed")[1] == "SubmitJobDeleted"  # type: ignore[index]


def test_a_job_that_has_lost_its_labels_is_observed_again() -> None:
    story = running().at(30).job_gone().job(active="1")
    assert story.phase is Phase.RUNNING
    assert story.job_lost().phase is Phase.FAILED


def test_an_end_that_is_reported_with_the_deletion_counts() -> None:
    assert running().at(30).job(ended="Complete").job_gone().phase is Phase.SUCCEEDED


def test_late_reports_take_nothing_back() -> None:
    story = running().submit_pod("szsn8", "Pending")
    assert story.conditions["JobRunning"] == "True"
    story.submit_pod("szsn8", "Failed").submit_pod("szsn8", "Running")
    assert story.status["jobStatus"][0]["phase"] == "Failed"
    story.job(ended="Complete").job(active="1")
    assert story.phase is Phase.SUCCEEDED


def test_a_submit_pod_that_is_gone_keeps_its_end_and_else_is_deleted() -> None:
    story = running().submit_pod("b", "Failed").submit_pod("szsn8", "").submit_pod("b", "")
    assert [pod["phase"] for pod in story.status["jobStatus"]] == ["Deleted", "Failed"]
    assert story.status["aggregate"]["deleted"] == 1


def test_a_restart_of_the_program_counts_once_another_pod_submits_it() -> None:
    def count(story: BeamStory) -> int:
        counts: dict[str, int] = {task["type"]: task["restartCount"] for task in story.status["tasks"]}
        return counts["batchjob"]

    story = launched().job(active="1").submit_pod("a", "Failed")
    assert count(story) == 0
    assert count(story.submit_pod("b", "Running")) == 1
    assert count(story.submit_pod("b", "Running", restarts="2")) == 3


def test_pods_of_other_makers_and_the_129th_are_not_shown() -> None:
    story = running()
    story.submit_pod("x", "Running", of="another")
    for number in range(140):
        story.submit_pod(f"n{number}", "Failed")
    assert len(story.status["jobStatus"]) == 128


def test_a_refused_child_is_shown_by_the_conditions() -> None:
    story = BeamStory(spec(), name=NAME, kind=KIND).submit().at(1)
    story.refused("ConfigMap", 403, "quota", retryable=True)
    assert story.condition("ClusterRunning") == ("False", "InitializationFailed", "quota")
    assert story.at(5).all_pods("Running").conditions == {"ClusterRunning": "True", "JobRunning": "False"}
    story.refused("Job", 409, "taken", retryable=True, name_taken=True)
    assert story.condition("JobRunning") is not None
    assert story.condition("JobRunning")[1] == "NameConflict"  # type: ignore[index]


def test_a_job_that_the_cluster_never_takes_fails() -> None:
    story = submitted().at(5).all_pods("Running").refused("Job", 422, "spec.template: wrong")
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "InvalidSpec", "spec.template: wrong")


def test_an_invalid_spec_is_shown_by_the_one_condition() -> None:
    story = BeamStory(spec(job={"spec": {}}), name=NAME, kind=KIND).submit()
    assert story.phase is Phase.FAILED
    assert story.conditions == {"Failed": "True"}


def test_t16_every_flink_pod_s_status_is_lost_and_known_again() -> None:
    story = running().at(30).all_pods("Unknown")
    assert story.status["phase"] == "Unknown"
    assert story.at(60).pod("jobmanager-0", "Running").status["phase"] == "Running"
    lonely = running(spec(1)).at(30).pod("jobmanager-0", "Unknown").gone("taskmanager-0")
    assert lonely.status["phase"] == "Running", "the other is made again"
    early = submitted().at(30).all_pods("Unknown")
    assert early.at(60).pod("jobmanager-0", "Running").status["phase"] == "Initializing"
