"""What a process of `jobledger controller` is to be: roles, namespaces, the log's URL, and who waits for a turn."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from jobledger.settings.model import Settings, with_kinds
from jobledger.settings.sections import ClusterSettings, ControllerSettings, KafkaSettings
from jobledger.wiring.cluster import ProcessPlan, log_of, namespaces_of, store_of
from jobledger.wiring.ledger import Kafka
from jobledger.wiring.roles import ALL, Role, roles_of
from k8s_bridge.attended import OptIn
from statemachine.errors import ConfigError
from statemachine.ids import CLUSTER_DOMAIN


def plan(*, in_pod: bool = False, **said: object) -> ProcessPlan:
    settings = Settings(store=Path("/var/lib/ledger.db"), controller=ControllerSettings.model_validate(said))
    return ProcessPlan.of(settings, in_pod=in_pod)


def test_without_a_word_a_process_has_all_roles() -> None:
    assert roles_of("") == ALL == {Role.BRIDGE, Role.ENGINE, Role.PROJECTORS, Role.FRONT}


def test_roles_are_listed_with_commas_in_any_order() -> None:
    assert roles_of("front, bridge,") == {Role.FRONT, Role.BRIDGE}


def test_an_unknown_role_is_refused_with_the_nearest_and_all_there_are() -> None:
    with pytest.raises(ConfigError) as refused:
        roles_of("bridge,projector")
    assert str(refused.value) == (
        '"projector" is no role; did you mean "projectors"? there are bridge, engine, projectors, front'
    )


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///var/lib/jobledger/ledger.db", "/var/lib/jobledger/ledger.db"),
        ("sqlite:///a b/ü#?.db", "/a b/ü#?.db"),
        ("sqlite:/abs.db", "/abs.db"),
    ],
)
def test_the_url_of_an_absolute_path(url: str, path: str) -> None:
    assert store_of(url) == Path(path)


def test_the_url_of_a_relative_path_is_of_the_working_directory() -> None:
    assert store_of("sqlite:here/ledger.db") == Path.cwd() / "here/ledger.db"
    assert store_of("sqlite:~/ledger.db") == Path.home() / "ledger.db"


@pytest.mark.parametrize(
    "url", ["", "ledger.db", "/ledger.db", "sqlite:", "sqlite://", "sqlite://host/x", "postgres:///x"]
)
def test_what_is_no_url_of_a_log_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ConfigError, match=r"--log needs a URL such as sqlite:///var/lib/jobledger/ledger.db"):
        store_of(url)


def test_a_log_may_be_in_kafka() -> None:
    log = log_of("kafka://a:9092,b:9093/team", Settings())
    assert isinstance(log, Kafka)
    assert (log.address.servers, log.address.prefix) == (("a:9092", "b:9093"), "team")
    assert (log.feed, str(log)) == ("faust", "kafka://a:9092,b:9093/team")


def test_a_kafka_that_cannot_be_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--log needs a URL such as kafka://"):
        log_of("kafka://broker", Settings())
    secured = Settings(kafka=KafkaSettings(protocol="SSL", ca_file=tmp_path / "none.pem"))
    with pytest.raises(ConfigError, match="certificates for Kafka cannot be used"):
        log_of("kafka://broker:9093", secured)


def test_namespaces_are_listed_with_commas() -> None:
    assert namespaces_of(" a, b,a,") == ("a", "b")
    assert namespaces_of("") == ()


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a.b", "a" * 64])
def test_what_cannot_be_a_namespace_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a namespace"):
        namespaces_of(f"fine,{name}")


def test_without_a_url_the_log_is_the_store() -> None:
    assert plan().log == Path("/var/lib/ledger.db")
    assert plan(log="sqlite:///x.db").log == Path("/x.db")


@pytest.mark.parametrize(
    ("in_pod", "said", "elects"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"kubeconfig": "/k"}, False),
        (True, {"context": "c"}, False),
        (True, {"leader_elect": False}, False),
        (False, {"leader_elect": True}, True),
    ],
)
def test_a_leader_is_elected_where_somebody_may_wait_to_take_over(
    in_pod: bool, said: dict[str, object], elects: bool
) -> None:
    assert plan(in_pod=in_pod, **said).leader_elect is elects


@pytest.mark.parametrize(
    ("roles", "whole"),
    [
        ("bridge", False),
        ("bridge,front", False),
        ("bridge,engine", True),
        ("bridge,projectors", True),
        ("", True),
    ],
)
def test_what_needs_the_bridge_waits_with_it_and_a_front_does_not(roles: str, whole: bool) -> None:
    assert plan(roles=roles).waits_as_a_whole is whole


def torch(namespaces: str, ours: str = "", **more: str) -> ProcessPlan:
    said = {"store": "/var/lib/ledger.db", "controller": {"namespaces": ours}}
    settings = with_kinds().model_validate({**said, "pytorchjobs": {"namespaces": namespaces, **more}})
    return ProcessPlan.of(settings, in_pod=False)


def test_pytorchjobs_are_off_until_namespaces_are_named() -> None:
    assert plan().opted_in == {}
    assert torch("").attended.opted_in == {}
    assert torch("").attended.namespaces == ()
    assert torch("*").opted_in["PyTorchJob"].namespaces == ()
    assert torch("a, b").attended.opted_in == {"PyTorchJob": OptIn(("a", "b"), {"gang_scheduler": "none"})}


def test_what_is_configured_for_pytorchjobs_is_for_them_to_keep() -> None:
    settings = torch("*", init_image="mirror/alpine:3", gang_scheduler="volcano").opted_in["PyTorchJob"]
    assert settings.settings == {"init_image": "mirror/alpine:3", "gang_scheduler": "volcano"}


@pytest.mark.parametrize(
    ("namespaces", "message"),
    [
        ("a,c", '--pytorchjobs: "c" is not among the namespaces of --namespaces'),
        ("A", '--pytorchjobs: "A" cannot be the name of a namespace'),
    ],
)
def test_pytorchjobs_are_looked_after_where_we_are(namespaces: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        torch(namespaces, ours="a,b")


def test_a_job_keeps_the_domain_of_its_cluster_also_the_usual_one() -> None:
    """That there is one says that Services have names."""
    assert plan().attended.kept[CLUSTER_DOMAIN] == "cluster.local"
    settings = Settings(store=Path("/var/lib/ledger.db"), cluster=ClusterSettings(domain="k8s.example.org"))
    assert ProcessPlan.of(settings, in_pod=False).attended.kept[CLUSTER_DOMAIN] == "k8s.example.org"


@pytest.mark.parametrize("domain", ["", "cluster.local.", ".local", "a..b", "Cluster.local", "a_b", "-a"])
def test_a_domain_is_made_of_labels(domain: str) -> None:
    with pytest.raises(ValidationError, match="domain"):
        ClusterSettings(domain=domain)
