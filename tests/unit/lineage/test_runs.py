"""Lineage gets every job as one run: one START, at most one end, nothing behind it (E15)."""

import copy
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from projectors.contract.lineage import facets
from projectors.contract.lineage.parents import parent_run, parents_of
from projectors.contract.lineage.runs import RUN_KEY, run_events
from projectors.contract.stream import Publisher
from statemachine.kinds import kind_of
from statemachine.log.codec import decode_state, encode_state
from statemachine.log.port import Record
from statemachine.state import changed
from tests.contract.lives import PUBLICATION, lives
from tests.support import random_lives
from tests.support.openlineage import differences
from tests.support.repetition import sized
from tests.support.scenario import Story, workers
from tests.support.seeds import chance
from tests.unit.lineage.made import Emitted, facet, of_life, of_story, states

ENDS = {"COMPLETE", "FAIL", "ABORT"}
RUN = "0195e0f1-6e4b-7cc7-8a4e-0a1b2c3d4e5f"
TOP = "0195e0f1-0000-7cc7-8a4e-0a1b2c3d4e5f"


Runs = Sequence[list[dict[str, Any]]]
"""What was emitted of jobs, each."""


@pytest.fixture(scope="module")
def emissions() -> Sequence[Emitted]:
    return [of_life(life) for life in (*lives(), *random_lives.lives(sized(50, 2_000), chance(15)))]


@pytest.fixture(scope="module")
def all_runs(emissions: Sequence[Emitted]) -> Runs:
    return [emission.runs for emission in emissions if emission.runs]


def test_every_run_has_one_start_and_at_most_one_end_which_is_the_last(all_runs: Runs) -> None:
    met = set()
    for runs in all_runs:
        said = states(runs)
        ends = [state for state in said if state in ENDS]
        assert said.count("START") <= 1
        assert len(ends) <= 1
        if ends:
            assert said[-1] == ends[0]
            assert said.count("START") == 1
        if "START" in said:
            assert set(said[: said.index("START")]) <= {"OTHER"}
            assert "OTHER" not in said[said.index("START") :]
        else:
            assert set(said) <= {"OTHER"}
        met |= set(said)
    assert met == {"START", "RUNNING", "OTHER"} | ENDS


def test_the_reference_client_reads_every_run_event_as_it_stands_there(all_runs: Runs) -> None:
    assert [wrong for runs in all_runs for run in runs for wrong in differences(run)] == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"eventType": "ENDED"}, "ENDED"),
        ({"eventTime": "soon"}, "soon"),
        ({"run": {"runId": "u-1", "facets": {}}}, "badly formed"),
        ({"more": 1}, "has no more"),
        ({"inputs": "none"}, "inputs is no list"),
        ({"schemaURL": "https://openlineage.io/spec/1-0-0/OpenLineage.json"}, "is not"),
    ],
)
def test_the_reference_client_refuses_what_is_no_run_event(
    change: dict[str, Any], words: str, all_runs: Runs
) -> None:
    run = {**all_runs[0][0], **change}
    assert any(words in wrong for wrong in differences(run))


def test_our_own_facets_have_a_schema_and_keep_to_it(all_runs: Runs) -> None:
    for name in facets.OWN:
        schema = facets.own_schema(name)
        validator = Draft202012Validator(schema)
        kept = [facet_ for runs in all_runs for facet_ in facet(runs, name)]
        assert kept
        for facet_ in kept:
            validator.validate(facet_)
            assert facet_["_schemaURL"] == schema["$id"]


class Receiver:
    """Builds the states of runs as Marquez does: by the last transition that came."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.jobs: dict[str, str] = {}

    def post(self, event: dict[str, Any]) -> None:
        run, state = event["run"]["runId"], event["eventType"]
        assert self.states.get(run) not in ENDS
        if state != "OTHER":
            self.states[run] = "RUNNING" if state in {"START", "RUNNING"} else state
        name = f"{event['job']['namespace']}/{event['job']['name']}"
        assert self.jobs.setdefault(run, name) == name


def test_a_receiver_builds_the_states_that_the_log_has(emissions: Sequence[Emitted]) -> None:
    receiver, expected = Receiver(), {}
    for runs, reached in emissions:
        for run in runs:
            receiver.post(run)
            expected[run["run"]["runId"]] = reached
    assert {run: receiver.states.get(run) for run in expected} == expected
    assert len(expected) >= 1500


def test_a_publisher_that_begins_at_a_snapshot_says_the_same() -> None:
    story = (
        Story(workers(1)).submit().all_pods("Running").pause().gone("worker-0").resume().all_pods("Running")
    )
    records = [Record(seq, story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)]
    publisher = Publisher(PUBLICATION)
    said = []
    for record in records:
        published = publisher.take(record)
        assert published is not None
        kept = tuple(decode_state(encode_state(state)) for state in published.states)
        again = run_events(published._replace(states=kept))
        assert again == run_events(published)
        said += [json.loads(event.data)["eventType"] for event in again]
    assert said == ["OTHER", "START", "RUNNING", "RUNNING", "RUNNING"]


def test_a_job_that_is_paused_before_it_runs_starts_when_it_runs() -> None:
    story = (
        Story(workers(1)).submit().all_pods("Pending").pause().gone("worker-0").resume().all_pods("Running")
    )
    assert states(of_story(story)) == ["OTHER", "OTHER", "OTHER", "START"]


def test_a_refused_job_starts_and_fails_at_one_instant_and_says_why() -> None:
    runs = of_story(Story(workers(-1)).submit())
    assert states(runs) == ["START", "FAIL"]
    assert len({run["eventTime"] for run in runs}) == 1
    [error] = facet(runs, "errorMessage")
    assert error["message"].startswith("InvalidSpec: ")
    assert len(error["message"]) > len("InvalidSpec: ")


def test_a_failure_says_why() -> None:
    story = Story(workers(1, policy="OnFailure", runPolicy={"backoffLimit": 0})).submit().all_pods("Running")
    runs = of_story(story.pod("worker-0", "Failed", exit_code=137))
    [error] = facet(runs, "errorMessage")
    assert error["message"].startswith("BackoffLimitExceeded: ApplicationExit: exit code 137")
    assert error["programmingLanguage"] == "n/a"


def test_a_restart_is_reported_with_its_cause() -> None:
    story = Story(workers(2, runPolicy={"backoffLimit": 3})).submit().all_pods("Running")
    runs = of_story(story.pod("worker-1", "Failed", exit_code=137))
    restarts = facet(runs, "jobledger_restarts")[-1]
    assert (restarts["spent"], restarts["limit"]) == (1, 3)
    [restart] = restarts["causes"]
    assert (restart["replica"], restart["cause"]["exitCode"]) == ("worker-1", 137)


def test_a_job_is_called_after_kind_and_name_or_as_its_label_says() -> None:
    story = Story(workers(1))
    assert [(run["job"]["namespace"], run["job"]["name"]) for run in of_story(story.submit())] == [
        ("kubernetes://prod-1/demo", "PyTorchTrainingJob.mnist")
    ]
    story = Story(workers(1))
    story.labels = {"jobledger.dev/lineage-name": "digits.train", "team": "a"}
    runs = of_story(story.submit())
    assert runs[0]["job"]["name"] == "digits.train"
    assert {"key": "team", "value": "a", "source": "JOBLEDGER"} in facet(runs, "tags")[0]["tags"]


# ---- the run that a job belongs to -------------------------------------------------------------------------------


def with_env(**variables: str) -> dict[str, Any]:
    spec = workers(1)
    container = spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": name, "value": value} for name, value in variables.items()]
    return spec


def keys_of(story: Story) -> set[object]:
    publisher = Publisher(PUBLICATION)
    records = (Record(seq, story.uid, seq, body) for seq, body in enumerate(story.bodies, 1))
    taken = [published for record in records if (published := publisher.take(record)) is not None]
    return {event.attributes[RUN_KEY] for one in taken for event in run_events(one)}


def test_the_parent_of_the_environment_is_named_and_nothing_else_of_it() -> None:
    spec = with_env(OPENLINEAGE_PARENT_ID=f"airflow/digits.train/{RUN}", OTHER="planted-value-1")
    story = Story(spec).submit().all_pods("Running")
    runs = of_story(story)
    for parent in facet(runs, "parent"):
        assert parent["run"] == {"runId": RUN}
        assert parent["job"] == {"namespace": "airflow", "name": "digits.train"}
        assert "root" not in parent
    assert len(facet(runs, "parent")) == len(runs)
    assert "planted-value-1" not in json.dumps(runs)
    assert keys_of(story) == {"run:airflow/digits.train"}
    assert [
        wrong for run in runs for wrong in differences({**run, "run": {**run["run"], "runId": RUN}})
    ] == []


def test_the_run_at_the_top_is_named_and_is_the_key() -> None:
    spec = with_env(
        OPENLINEAGE_PARENT_ID=f"airflow/digits.train/{RUN}",
        OPENLINEAGE_ROOT_PARENT_ID=f"airflow/digits/{TOP}",
    )
    story = Story(spec).submit()
    [parent] = facet(of_story(story), "parent")
    assert parent["root"] == {"run": {"runId": TOP}, "job": {"namespace": "airflow", "name": "digits"}}
    assert keys_of(story) == {"run:airflow/digits"}


def test_without_a_parent_a_job_is_its_own_key() -> None:
    story = Story(with_env(OPENLINEAGE_PARENT_ID="hunter2")).submit()
    assert keys_of(story) == {"run:kubernetes://prod-1/demo/PyTorchTrainingJob.mnist"}
    assert "hunter2" not in json.dumps(of_story(story))


@pytest.mark.parametrize(
    ("value", "parent"),
    [
        (f"ns/job/{RUN}", ("ns", "job", RUN)),
        (
            f"kubernetes://prod-1/team-a/PyTorchJob.a/{RUN.upper()}",
            ("kubernetes://prod-1/team-a", "PyTorchJob.a", RUN),
        ),
        (f"job/{RUN}", None),
        (f"/job/{RUN}", None),
        (f"ns//{RUN}", None),
        ("ns/job/17", None),
        (f"postgres://u:hunter2@db/job/{RUN}", None),
        (f"ns/job/{RUN}\n", None),
        (f"ns/a b/{RUN}", None),
        (f"{'n' * 600}/job/{RUN}", None),
        ("", None),
    ],
)
def test_only_what_names_a_run_is_a_parent(value: str, parent: tuple[str, str, str] | None) -> None:
    assert parent_run(value) == parent


def test_jobs_of_every_kind_can_be_given_a_parent() -> None:
    met = set()
    for life in lives():
        publisher = Publisher(PUBLICATION)
        published = publisher.take(life.records[0])
        if published is None or published.state.plan is None:
            continue
        state, layout = published.state, kind_of(published.state.api_version, published.state.kind).layout
        spec = copy.deepcopy(state.spec)
        for slot in layout.slots(spec):
            _, container = layout.admitted_training(slot)
            variable = {"name": "OPENLINEAGE_PARENT_ID", "value": f"ns/job/{RUN}"}
            cast("dict[str, Any]", container).setdefault("env", []).append(variable)
        assert parents_of(changed(state, spec=spec)).parent == ("ns", "job", RUN), state.kind
        met.add(state.kind)
    assert len(met) >= 5
