"""What is taken out of texts that leave, and what is not; digests; sizes."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from projectors.contract.catalogue import short_name
from projectors.contract.fitting import LIMIT, fitted
from projectors.contract.page import Draft, Page
from projectors.contract.scrub import LONGEST, cut, scrubbed, spec_digest, specs_of
from statemachine.ids import JobUid
from statemachine.log.port import Record
from statemachine.observations import Container, ContainerStatus, PodPhase
from statemachine.redact import REDACTED
from statemachine.state import JobState, changed
from tests.contract.lives import PUBLICATION
from tests.support import planted
from tests.support.planted import Planter
from tests.support.scenario import Story, workers
from tests.unit.contract.made import data_of, of_story

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"


def state(spec: dict[str, Any]) -> JobState:
    return JobState(JobUid("u"), spec=spec)


def of_container(**fields: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "pytorch:2", **fields}]}}
    return {"replicaSpecs": [{"type": "worker", "replicas": 1, "template": template}]}


def spellings(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield quote(secret, safe="")
    yield base64.b64encode(secret.encode()).decode()
    yield secret.encode().hex()
    yield secret.encode().hex().upper()


@pytest.mark.parametrize("made", planted.KINDS)
def test_no_planted_secret_leaves_however_a_message_spells_it(
    made: Callable[[Planter], dict[str, Any]],
) -> None:
    plant = Planter()
    spec = made(plant)["spec"]
    in_spec = [secret for secret in plant.secrets if secret in json.dumps(spec)]
    assert len(in_spec) >= 200
    specs = specs_of(state(spec))
    for secret in in_spec:
        for spelling in spellings(secret):
            said = scrubbed(f'container failed: exec: "{spelling}": no such file', specs)
            assert spelling not in said
            assert said.startswith("container failed: exec: ")


@pytest.mark.parametrize(
    "spec",
    [
        of_container(env=[{"name": "COLOUR", "value": "tangerine"}]),
        of_container(args=["--colour=tangerine"]),
        of_container(args=["tangerine"]),
        of_container(command=["sh", "-c", "tangerine"]),
        {"torchrunConfig": {"extraOptions": ["--colour=tangerine"]}},
        {"replicaSpecs": [{"template": {"metadata": {"annotations": {"name": "tangerine"}}}}]},
        {"otherArgs": ["tangerine"]},
    ],
)
def test_what_a_spec_hands_to_programs_leaves_in_no_message_also_when_it_is_harmless(
    spec: dict[str, Any],
) -> None:
    assert scrubbed("the colour tangerine is unknown", specs_of(state(spec))) == (
        f"the colour {REDACTED} is unknown"
    )


def test_the_name_of_a_variable_and_where_its_value_comes_from_may_stand_in_a_message() -> None:
    source = {"secretKeyRef": {"name": "store", "key": "password"}}
    spec = of_container(env=[{"name": "DATABASE", "valueFrom": source}])
    said = 'couldn\'t find key password in Secret "store" for DATABASE'
    assert scrubbed(said, specs_of(state(spec))) == said


def test_values_of_the_spec_before_and_the_present_one_are_taken_out() -> None:
    old, new = (of_container(args=[value]) for value in ("tangerine", "aubergine"))
    said = scrubbed("tangerine became aubergine", specs_of(state(old), state(new)))
    assert said == f"{REDACTED} became {REDACTED}"


@pytest.mark.parametrize(
    "secret",
    [
        "https://me:abc@git.example/r.git",
        "Authorization: Basic bWU6aHVudGVyMg==",
        "Bearer abcdefgh12",
        "eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM",
        PEM,
        "AKIAIOSFODNN7EXAMPLE",
        "password=abcd",
        "token: abcd",
        'key="abcdefg"',
        "secret hunter2abc",
        "0123456789abcdef0123456789abcdef",
        "qUx3bG9uZ1J1bk9mQmFzZTY0Q2hhcmFjdGVycw==",
    ],
)
def test_what_looks_like_a_secret_is_taken_out(secret: str) -> None:
    said = scrubbed(f"pull failed ({secret}) twice", ())
    assert REDACTED in said
    assert all(part not in said for part in ("abcd", "hunter2", "MIIE", "IOSF", "89abcdef", "bG9u", "zdWI"))
    assert said.startswith("pull failed (")


ORDINARY = [
    'secret "train-ssh" not found',
    'Back-off pulling image "registry.example.com/team/trainer:2024-05-17"',
    "0/5 nodes are available: 2 Insufficient nvidia.com/gpu, 3 node(s) had untolerated taint {dedicated: infra}.",
    "exceeded quota: compute, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=60, limited: 64",
    'Replica digits-e51a9-worker-1 failed: container "pytorch" exited with code 137.',
    'MountVolume.SetUp failed for volume "data": mount failed: exit status 32',
    "failed to create containerd task: stat /var/lib/containers/storage/overlay/diff/merged/usr/bin: no such file",
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52340Ki.",
    "pod 4a04c797-3e8b-4ea9-a548-59c346620902 was evicted",
    "spec.replicaSpecs[0].template.spec.containers[0].resources.limits: Invalid value: must be positive",
    "a-very-long-name-of-a-job-that-goes-on-and-on-worker-0 is being deleted",
]


@pytest.mark.parametrize("said", ORDINARY)
@pytest.mark.parametrize("node", [f"node-{number}" for number in range(46)])
def test_an_ordinary_message_stays_as_it_is(said: str, node: str) -> None:
    spec = of_container(args=["--lr=0.1", "--epochs", "3"], env=[{"name": "NCCL_DEBUG", "value": "WARN"}])
    assert scrubbed(f"{node}: {said}", specs_of(state(spec))) == f"{node}: {said}"


def test_the_digest_of_one_of_the_jobs_images_may_stand_in_a_message() -> None:
    image = f"registry.example.com/trainer@sha256:{'0f' * 32}"
    said = f'Failed to pull image "{image}": not found'
    spec = of_container()
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"] = image
    assert scrubbed(said, specs_of(state(spec))) == said
    assert REDACTED in scrubbed(said, ())


def test_a_value_is_taken_out_where_it_stands_in_a_url() -> None:
    specs = specs_of(state(of_container(args=["cherry pie/red"])))
    assert scrubbed("GET /pies?of=cherry%20pie%2Fred failed", specs) == f"GET /pies?of={REDACTED} failed"


def test_the_digest_of_a_spec_does_not_depend_on_what_volumes_are_given() -> None:
    def mounted(secret: str) -> dict[str, Any]:
        volume = {"name": "v", "secret": {"secretName": secret}}
        return {"replicaSpecs": [{"template": {"spec": {"volumes": [volume]}}}]}

    assert spec_digest(mounted("a")) == spec_digest(mounted("b"))
    assert spec_digest(mounted("a")) != spec_digest({"replicaSpecs": []})


def test_the_digest_of_a_spec_does_not_depend_on_what_is_handed_to_programs() -> None:
    one, two = (of_container(args=[value], env=[{"name": "A", "value": value}]) for value in ("a", "b"))
    other = of_container(args=["a"], env=[{"name": "B", "value": "a"}])
    assert spec_digest(one) == spec_digest(two)
    assert spec_digest(one) != spec_digest(other)


def test_the_digest_of_a_spec_does_not_depend_on_the_order_of_fields() -> None:
    assert spec_digest({"a": 1, "b": 2}) == spec_digest({"b": 2, "a": 1})


def test_a_text_is_cut_and_says_so() -> None:
    assert cut("a" * LONGEST) == "a" * LONGEST
    assert cut("a" * (LONGEST + 1)) == "a" * (LONGEST - 1) + "…"


def test_a_secret_in_a_message_of_the_api_server_leaves_in_no_event() -> None:
    spec = workers(1)
    container = spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "COLOUR", "value": "tangerine"}]
    story = Story(spec).submit().refused(status_=422, message="Invalid value: tangerine")
    lines = [event.data for event in of_story(story)]
    assert not [line for line in lines if b"tangerine" in line]
    [data] = data_of(of_story(story), "job.child_refused")
    assert data["cause"]["message"] == f"Invalid value: {REDACTED}"
    assert data["status"] == 422


def large() -> Story:
    """A job of a thousand replicas, with all the labels that there can be, and thousands of unknown fields."""
    spec = workers(1000, runMode={"x" * 400 + str(number): 1 for number in range(2000)})
    story = Story(spec)
    story.labels = {f"{'p' * 250}/{number:063}": "v" * 63 for number in range(64)}
    return story.submit()


def test_data_is_never_too_large_and_says_that_it_was_cut() -> None:
    events = of_story(large())
    [created] = data_of(events, "job.created")
    assert created["truncated"] is True
    assert len(created["notices"]) <= 20
    for event in events:
        assert len(event.data) <= LIMIT


def test_lists_of_two_thousand_problems_in_any_script_are_cut_until_they_fit() -> None:
    problem = {"rule": "G1", "path": "spec", "message": "训" * 512}
    data = {"entry": {"seq": 1}, "job": {"name": "a", "labels": {"b": "c"}}, "problems": [problem] * 2000}
    raw = fitted(json.dumps(data).encode())
    kept = json.loads(raw)
    assert len(raw) <= LIMIT
    assert kept["truncated"] is True
    assert 20 <= len(kept["problems"]) < 2000
    assert kept["problems"][0] == problem
    assert kept["job"] == data["job"]


def test_labels_are_cut_where_they_are_what_is_large() -> None:
    labels = {str(number): "v" * 1000 for number in range(100)}
    kept = json.loads(
        fitted(json.dumps({"job": {"name": "a", "labels": labels}, "counts": {"a": 1}}).encode())
    )
    assert kept["job"]["name"] == "a"
    assert 20 < len(kept["job"]["labels"]) < 50
    assert kept["counts"] == {"a": 1}


def test_what_fits_is_left_alone() -> None:
    assert fitted(b'{"a":1}') == b'{"a":1}'


def test_a_pod_of_forty_containers_names_thirty_two() -> None:
    story = Story(workers(1)).submit()
    containers = [Container(name=f"c{number}", state=ContainerStatus.RUNNING) for number in range(40)]
    story.pod("worker-0", PodPhase.RUNNING.value, containers=containers)
    [data] = data_of(of_story(story), "replica.running")
    assert len(data["containers"]) == 32
    assert data["truncated"] is True


def test_an_entry_that_changes_the_spec_repeats_nothing_of_either_spec() -> None:
    story = Story(workers(1)).submit()
    record = Record(1, story.uid, 1, story.bodies[0])
    before, after = (
        changed(story.state, spec=of_container(args=[value])) for value in ("tangerine", "aubergine")
    )
    draft = Draft(Page(record, story.entries[0], before, after, PUBLICATION))
    assert draft.text("tangerine became aubergine") == f"{REDACTED} became {REDACTED}"


def scrubbed_types(message: str) -> set[str]:
    """The types of those public events that say of themselves that they were scrubbed, of a pod with `message`."""
    story = Story(workers(1)).submit().all_pods("Running")
    story.pod("worker-0", "Failed", exit_code=1, message=message)
    return {short_name(str(event.attributes["type"])) for event in of_story(story) if event.is_scrubbed}


def test_an_event_says_whether_something_was_taken_out_of_its_texts() -> None:
    assert scrubbed_types("the node was drained") == set()
    said = scrubbed_types("login failed: password=abcd")
    assert "replica.failed" in said
    assert not said & {"job.created", "replica.started"}
