"""Laws of reading and writing manifests, over anything at all."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jobledger.manifests import read
from jobledger.manifests.documents import documents
from jobledger.manifests.text import to_yaml
from statemachine.redact import REDACTED, redacted

YAML_LIKE = st.text(alphabet="ab:-[]{}&*!|>\"'#%?,~<\n\t 0.\\u\0é\ud800", max_size=60)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "1e-4",
        "y",
        "on",
        "0o17",
        "017",
        "1_0",
        ".inf",
        "~",
        "",
        "<<",
        "2024-01-09",
        "a\nb",
        "a\n",
        "\n",
        " x",
        "22:22",
        "=",
        "-",
        "\t",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=80))
def test_reading_never_raises_on_bytes(data: bytes) -> None:
    loaded = read(data, "any")
    assert loaded.manifests or loaded.faults


@given(YAML_LIKE)
def test_reading_never_raises_on_text_that_looks_like_yaml(text: str) -> None:
    loaded = read(text.encode("utf-8", "replace"), "any")
    assert all(str(fault).isprintable() for fault in loaded.faults)


@given(VALUES)
def test_json_is_read_as_what_it_is(value: Any) -> None:
    loaded = read(
        json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "x": value}).encode(),
        "any",
    )
    assert [manifest.raw["x"] for manifest in loaded.manifests] == [value]


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_what_is_written_as_yaml_is_read_back_as_the_same(value: Any) -> None:
    assert [document.value for document in documents(to_yaml([value]), 1 << 20)] == [value]


@given(VALUES)
def test_redacting_twice_changes_nothing_more(value: Any) -> None:
    assert redacted(redacted(value)) == redacted(value)


def test_env_values_that_look_like_secrets_are_not_shown() -> None:
    names = [
        "HF_TOKEN",
        "wandbApiKey",
        "DB_PASSWORD",
        "MY_SECRET",
        "AWS_ACCESS_KEY_ID",
        "DB_PWD",
        "SSH_PRIVATE",
        "PGPASS",
    ]
    env: list[dict[str, Any]] = [{"name": name, "value": "hunter2"} for name in names]
    env.append({"name": "URL", "value": "postgres://me:hunter2@db/x"})
    env.append({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s"}}})
    shown = redacted({"spec": {"containers": [{"env": env}, {"env": {"API_TOKEN": "hunter2"}}]}})
    assert "hunter2" not in json.dumps(shown)
    assert json.dumps(shown).count(REDACTED) == len(names) + 2
    assert {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s"}}} in shown["spec"]["containers"][
        0
    ]["env"]


def test_ordinary_env_values_are_shown() -> None:
    env = [{"name": name, "value": "1"} for name in ("LR", "TOKENIZERS_PARALLELISM", "PWD", "EPOCHS", "URL")]
    assert redacted({"env": env}) == {"env": env}
