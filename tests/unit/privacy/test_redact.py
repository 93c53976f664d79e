"""What is taken out of data and texts, and what is not."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from statemachine.redact import REDACTED, redacted, redacted_text, secrets_of
from tests.support import planted
from tests.support.planted import MARK, Planter


@pytest.mark.parametrize("made", planted.KINDS)
def test_two_hundred_planted_secrets_are_taken_out_of_a_job(
    made: Callable[[Planter], dict[str, Any]],
) -> None:
    plant = Planter()
    job = made(plant)
    assert len(plant.secrets) >= 200
    assert all(secret in json.dumps(job) for secret in plant.secrets)
    shown = json.dumps(redacted(job))
    assert [secret for secret in plant.secrets if secret in shown] == []
    assert MARK not in shown


def test_a_job_without_secrets_stays_as_it_is() -> None:
    job = {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {
            "name": "token-classification",
            "annotations": {planted.LAST_APPLIED: '{"spec":{"a":1}}'},
        },
        "spec": {
            "containers": [
                {
                    "args": list(planted.ORDINARY_ARGS),
                    "command": ["sh", "-c", "export LR=0.1; python t.py --tokenizer bert key=value"],
                    "env": [
                        {"name": name, "value": value} for name, value in planted.ORDINARY_VARIABLES.items()
                    ],
                    "envFrom": [{"secretRef": {"name": "store"}}],
                }
            ],
            "affinity": {"topologyKey": "kubernetes.io/hostname"},
            "volumes": [{"secret": {"secretName": "store", "items": [{"key": "token", "path": "t"}]}}],
            "serviceAccountName": "me",
            "automountServiceAccountToken": False,
        },
    }
    assert redacted(job) == job


@pytest.mark.parametrize(
    "text",
    [
        "worker-1 failed with exit code 1: see https://docs.example/tokens?page=2#auth",
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu",
        "--primary-key id --public-key k.pub --num-tokens=3 --use-auth-token True",
        "MAX_TOKENS=512 NCCL_DEBUG=INFO python -m train --tokenizer=bert --token-dropout 0.1",
        "tcp://10.0.0.1:23456",
        "git@github.com:org/repo.git and ssh://git@github.com/org/repo",
        "--password-file /run/pw --token=$(HF_TOKEN) --key-path=/k --secret-name=s",
    ],
)
def test_ordinary_texts_stay_readable(text: str) -> None:
    assert redacted_text(text) == text


@pytest.mark.parametrize("form", [*planted.SCRIPTS, *planted.FLAGS])
def test_a_text_is_as_safe_as_an_argument(form: str) -> None:
    secret = Planter().secret()
    if form == "{}":
        return
    shown = redacted_text(form.format(secret))
    assert MARK not in shown
    assert REDACTED in shown
    assert redacted_text(shown) == shown


def test_what_is_not_secret_beside_a_secret_stays() -> None:
    script = "export TOKEN=a1b2c3; python train.py --password 'x y' --lr=0.1 --max-tokens 512"
    shown = redacted(["sh", "-c", script, "--dsn=postgres://me:pw@db:5432/x", "https://me:pw@db/x?part=1"])
    assert shown[2] == (
        f"export TOKEN={REDACTED}; python train.py --password '{REDACTED}' --lr=0.1 --max-tokens 512"
    )
    assert shown[4] == f"https://me:{REDACTED}@db/x?part=1"


def test_the_mark_says_nothing_of_the_length() -> None:
    assert redacted(["--password=a1"]) == redacted(["--password=" + "a1" * 40]) == [f"--password={REDACTED}"]


def test_the_data_of_a_secret_object_is_never_shown() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "eA=="}, "stringData": {"b": "x"}}
    shown = redacted([secret])[0]
    assert (shown["data"], shown["stringData"], shown["metadata"]) == (
        {"a": REDACTED},
        {"b": REDACTED},
        {"name": "s"},
    )


def test_what_an_api_server_quotes_is_not_shown() -> None:
    spec = {"containers": [{"env": [{"name": "A_TOKEN", "value": "correct-horse"}]}]}
    said = 'Pod "a" is invalid: spec.containers[0].env[0].value: Invalid value: "x": no; it had correct-horse in it'
    assert redacted_text(said, spec) == (
        f'Pod "a" is invalid: spec.containers[0].env[0].value: Invalid value: {REDACTED}: no; it had {REDACTED} in it'
    )
    dumped = 'Invalid value: core.PodSpec{Env:[]core.EnvVar{core.EnvVar{Name:"A_TOKEN", Value:"battery"}}}'
    assert "battery" not in redacted_text(dumped)


def test_a_secret_of_one_job_hides_nothing_of_another() -> None:
    a = {"metadata": {"name": "a"}, "env": [{"name": "A_TOKEN", "value": "staple-battery"}]}
    b = {"metadata": {"name": "b"}, "args": ["staple-battery"]}
    assert redacted({"kind": "List", "items": [a, b]})["items"][1] == b


def test_secrets_that_were_looked_for_once_are_hidden_as_those_of_the_spec_itself() -> None:
    for value in ("hunter2-hunter2", "correct-horse"):  # the second spec is not mistaken for the first
        spec = {"env": [{"name": "DB_PASSWORD", "value": value}]}
        text = f"cannot log in with {value}"
        assert [redacted_text(text, known) for known in (spec, secrets_of(spec), secrets_of(spec))] == [
            f"cannot log in with {REDACTED}"
        ] * 3
    assert secrets_of(None) == frozenset()
