"""Settings: from flags, else the environment, else defaults; and where each came from."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from jobledger.settings.loading import explained, load, paths, variable
from jobledger.settings.model import Settings
from jobledger.settings.values import duration
from statemachine.errors import ConfigError, InvariantBroken
from statemachine.kinds import KINDS, OPT_IN


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("JOBLEDGER_"):
            monkeypatch.delenv(name)


def test_without_anything_the_store_is_in_the_xdg_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere/state")
    assert load().settings.store == Path("/somewhere/state/jobledger/ledger.db")


def test_a_relative_xdg_directory_is_ignored_as_its_standard_demands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert load().settings.store == Path.home() / ".local/state/jobledger/ledger.db"


def test_a_variable_wins_over_the_default_and_a_flag_over_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JOBLEDGER_NAMESPACE", "team")
    assert load().settings.namespace == "team"
    assert load({"namespace": ("--namespace", "mine")}).settings.namespace == "mine"


def test_origins_name_the_flag_the_variable_or_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBLEDGER_LOG__FORMAT", "json")
    held = load({"store": ("--store", Path("x.db")), "log.level": ("-v", "info")})
    assert held.origins["store"] == "--store"
    assert held.origins["log.level"] == "-v"
    assert held.origins["log.format"] == "JOBLEDGER_LOG__FORMAT"
    assert held.origins["namespace"] == "default"
    assert held.settings.log.model_dump() == {"level": "info", "format": "json"}


def test_a_relative_store_is_made_absolute() -> None:
    assert load({"store": ("--store", Path("x.db"))}).settings.store == Path.cwd() / "x.db"


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBLEDGER_NAMESPACE", "")
    held = load()
    assert (held.settings.namespace, held.origins["namespace"]) == ("default", "default")


def test_a_misspelled_variable_is_refused_with_the_nearest_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBLEDGER_STOER", "x")
    with pytest.raises(ConfigError, match=r"JOBLEDGER_STOER is no setting .* did you mean JOBLEDGER_STORE"):
        load()


@pytest.mark.parametrize(
    "name",
    [
        "REQUIRE_ALL",
        "FRESH_SEEDS",
        "SEED",
        "REAL_STARTS",
        "TEST_WORKERS",
        "BASE",
        "SIM_SEEDS",
        "SIM_KAFKA_SEEDS",
        "SIM_FIRST",
        "SIM_SEED",
        "KILLS",
        "FIRE_SEED",
        "KUBECONFIG",
        "TOOLS",
        "MOUNT_DATA",
        "CONTAINER_ID",
    ],
)
def test_variables_of_tests_tools_and_pods_are_let_through(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"JOBLEDGER_{name}", "x")
    load()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("LOG__LEVEL", "loud", "must be 'debug', 'info', 'warning' or 'error'"),
        ("SETTLE", "soon", "must be a duration such as 90s"),
        ("EVIDENCE", "perhaps", "must be a valid boolean"),
        ("CONSOLE__METRICS", "http://prometheus:65536", "must be an address with a port from 1 to 65535"),
        ("CONSOLE__METRICS", "http://prometheus:0/x", "must be an address with a port from 1 to 65535"),
        ("CONSOLE__METRICS", "http://[prometheus", "must be an address with a port from 1 to 65535"),
    ],
)
def test_a_wrong_value_is_refused_with_its_variable_and_what_it_must_be(
    name: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"JOBLEDGER_{name}", value)
    with pytest.raises(ConfigError) as caught:
        load()
    assert str(caught.value).startswith(f"JOBLEDGER_{name} is '{value}', but ")
    assert sentence in str(caught.value)


def test_every_setting_says_what_it_is_for() -> None:
    assert [path for path in paths() if "Default" not in explained(path)] == []


def test_no_kind_is_imported_for_settings_that_are_not_about_kinds() -> None:
    """Every client command loads them, and is to answer at once."""
    code = "import sys; from jobledger.settings import loading as it; it.load(); "
    code += "print('statemachine.kinds' in sys.modules)"
    environment = {**os.environ, "JOBLEDGER_NAMESPACE": "team"}
    for more, imported in (({}, "False"), ({"JOBLEDGER_PYTORCHJOBS__NAMESPACES": "a"}, "True")):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == imported


def test_what_is_configured_for_a_kind_is_what_it_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, declared in OPT_IN:
        assert kind.names.plural not in Settings.model_fields
        assert load().settings.of(kind) == declared()
        monkeypatch.setenv(variable(f"{kind.names.plural}.namespaces"), "a,b")
        settings = load().settings.of(kind)
        assert isinstance(settings, declared)
        assert settings == declared(namespaces="a,b")


def test_a_kind_that_is_looked_after_everywhere_has_no_settings() -> None:
    always = next(kind for kind in KINDS if kind.opt_in is None)
    with pytest.raises(InvariantBroken, match="not opt-in"):
        load().settings.of(always)


def test_settings_cannot_be_changed_later() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load().settings.namespace = "other"  # type: ignore[misc]


def test_variables_of_nested_settings_have_two_underscores() -> None:
    assert variable("log.level") == "JOBLEDGER_LOG__LEVEL"


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1.5", 1.5), ("250ms", 0.25), ("1m30s", 90), ("1.5h", 5400), ("0", 0)]
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "-1", "1x", "s", "1m 30s", "inf", "nan", "1e12"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        duration(text)


def test_kafka_settings_are_what_clients_get(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBLEDGER_KAFKA__PROTOCOL", "SASL_SSL")
    monkeypatch.setenv("JOBLEDGER_KAFKA__MECHANISM", "SCRAM-SHA-512")
    monkeypatch.setenv("JOBLEDGER_KAFKA__USERNAME", "engine")
    monkeypatch.setenv("JOBLEDGER_KAFKA__PASSWORD_FILE", "/etc/kafka/password")
    monkeypatch.setenv("JOBLEDGER_KAFKA__CA_FILE", "/etc/kafka/ca.crt")
    security = load().settings.kafka.security()
    assert (security.protocol, security.mechanism) == ("SASL_SSL", "SCRAM-SHA-512")
    assert (security.username, security.password_file) == ("engine", Path("/etc/kafka/password"))
    assert (security.ca_file, security.certificate_file) == (Path("/etc/kafka/ca.crt"), None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROTOCOL", "TLS"),
        ("MECHANISM", "GSSAPI"),
        ("FEED", "flink"),
        ("PARTITIONS", "0"),
        ("REPLICATION", "x"),
    ],
)
def test_a_kafka_setting_that_cannot_be_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"JOBLEDGER_KAFKA__{name}", value)
    with pytest.raises(ConfigError, match=f"JOBLEDGER_KAFKA__{name} is '{value}', but must be"):
        load()


@pytest.mark.parametrize("name", ["../../etc", "A", "a" * 64])
def test_g20_a_namespace_is_a_dns_label(name: str) -> None:
    with pytest.raises(ConfigError, match="must be a DNS-1123 label"):
        load({"namespace": ("--namespace", name)})
