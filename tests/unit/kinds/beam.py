"""Words for tests of BeamJob: specs with nothing wrong in them, and reports of the Job that submits the program."""

import copy
from functools import partial
from typing import Any

from statemachine.observations import ChildObserved
from tests.support.scenario import Story
from tests.unit.kinds import build
from tests.unit.kinds.build import Spec, template

KIND = "BeamJob"
NAME = "beamjob-example"
JOB = f"{NAME}-batchjob"

DEBUG: Spec = {"runMode": {"debug": {"enabled": True}}}
CLEAN_UP: Spec = {"runPolicy": {"cleanUpCluster": True}}

admit = partial(build.admit, kind=KIND, name=NAME)
state = partial(build.state, kind=KIND, name=NAME)


def container(**more: Any) -> Spec:
    """A container that submits a program."""
    return {"name": "wordcount", "image": "beam:2", "args": ["--output=/tmp/counts"], **more}


def job_template(*containers: Spec, **pod: Any) -> Spec:
    """A template of a Job; without `containers` of one good one."""
    return {
        "spec": {"template": template(*(containers or [container()]), **{"restartPolicy": "Never", **pod})}
    }


def flink(taskmanagers: int = 2, **more: Any) -> Spec:
    """A template of a Flink cluster."""
    known = {
        "flinkVersion": "1.16.3",
        "image": {"name": "flink:1"},
        "taskManager": {"replicas": taskmanagers},
    }
    return {"spec": known | more}


def spec(taskmanagers: int = 2, *, cluster: Spec | None = None, job: Spec | None = None, **more: Any) -> Spec:
    """A BeamJob's spec."""
    parts = {"flinkClusterTemplate": cluster or flink(taskmanagers), "jobTemplate": job or job_template()}
    return copy.deepcopy(parts | more)


class BeamStory(Story):
    """A BeamJob's life, with reports of the Job that submits the program, and of its pods."""

    def job(self, uid: str = "job-1", **facts: str) -> "BeamStory":
        """The Job is as `facts` say."""
        return self.see(ChildObserved(job=self.uid, at=self.now, kind="Job", name=JOB, uid=uid, facts=facts))

    def job_gone(self, uid: str = "job-1") -> "BeamStory":
        """The Job is gone."""
        return self.see(ChildObserved(job=self.uid, at=self.now, kind="Job", name=JOB, uid="", gone_uid=uid))

    def job_lost(self) -> "BeamStory":
        """The projector has looked for the Job in vain."""
        return self.see(ChildObserved(job=self.uid, at=self.now, kind="Job", name=JOB, uid=""))

    def flink(self, id_: str) -> "BeamStory":
        """Flink has answered with the id of the program."""
        name = f"{NAME}-flinkcluster-jobmanager"
        return self.see(ChildObserved(job=self.uid, at=self.now, kind="FlinkJob", name=name, uid=id_))

    def submit_pod(self, suffix: str, phase: str, *, of: str = JOB, **more: str) -> "BeamStory":
        """A pod of the Job's is in `phase`; gone where that is empty."""
        name, uid = f"{JOB}-{suffix}", f"uid-{suffix}"
        facts = {"of": of, "phase": phase, **more} if phase else {}
        gone = "" if phase else uid
        return self.see(
            ChildObserved(
                job=self.uid,
                at=self.now,
                kind="Pod",
                name=name,
                uid="" if gone else uid,
                facts=facts,
                gone_uid=gone,
            )
        )


def submitted(of: Spec | None = None) -> BeamStory:
    """The job has been seen, and its Flink pods are there."""
    story = BeamStory(of or spec(), name=NAME, kind=KIND).submit().at(1)
    return story.all_pods("Pending")


def launched(of: Spec | None = None) -> BeamStory:
    """The cluster runs, and the Job is there."""
    return submitted(of).at(5).all_pods("Running").at(6).job()


def running(of: Spec | None = None) -> BeamStory:
    """A pod of the Job runs."""
    return launched(of).at(7).job(active="1").submit_pod("szsn8", "Running")
