"""Where a Kafka is, who we are there, and in which partition a job is."""

from pathlib import Path

import pytest

from statemachine.errors import ConfigError
from statemachine.ids import JobUid
from statemachine.log.kafka.address import Address, Security
from statemachine.log.kafka.partitioner import partition_of


def test_a_url_names_brokers_and_topics_begin_with_jobledger() -> None:
    address = Address.of("kafka://one:9092,two:9093")
    assert address.servers == ("one:9092", "two:9093")
    assert address.topic("events") == "jobledger.events"
    assert str(address) == "kafka://one:9092,two:9093"


def test_a_path_is_the_prefix_of_the_topics() -> None:
    address = Address.of("kafka://one:9092/team-a")
    assert address.topic("events") == "team-a.events"
    assert str(address) == "kafka://one:9092/team-a"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "kafka://",
        "kafka://one",
        "kafka://one:port",
        "kafka://one:0",
        "kafka://one:70000",
        "kafka://one:9092,two:65536",
        "kafka://one:²",
        "kafka://[one",
        "http://one:9092",
    ],
)
def test_a_url_without_brokers_and_ports_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="needs a URL such as kafka://"):
        Address.of(url)


@pytest.mark.parametrize("rest", ["/a/b", "/a b", "/ä", "?x=1", "#x", "/" + "x" * 201])
def test_a_prefix_that_no_topic_may_have_is_refused(rest: str) -> None:
    with pytest.raises(ConfigError, match="only the prefix"):
        Address.of(f"kafka://one:9092{rest}")


def test_an_empty_broker_between_commas_is_left_out() -> None:
    assert Address.of("kafka://one:9092,").servers == ("one:9092",)


def test_without_security_clients_talk_plainly() -> None:
    options = Address.of("kafka://one:9092").options()
    assert options == {"bootstrap_servers": ["one:9092"], "security_protocol": "PLAINTEXT"}


def test_a_user_proves_who_they_are_with_the_password_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("open sesame\n")
    security = Security("SASL_PLAINTEXT", "SCRAM-SHA-512", "engine", tmp_path / "password")
    assert security.options() == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "engine",
        "sasl_plain_password": "open sesame",
    }


def test_no_password_is_in_what_is_shown_of_an_address(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("open sesame")
    address = Address.of("kafka://one:9092", Security("SASL_SSL", "PLAIN", "me", tmp_path / "password"))
    assert "sesame" not in f"{address} {address!r}"


def test_tls_checks_the_names_of_brokers() -> None:
    context = Security("SSL").options()["ssl_context"]
    assert context.check_hostname


@pytest.mark.parametrize(
    ("security", "says"),
    [
        (Security("TLS"), 'kafka.protocol is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, not "TLS"'),
        (Security("SASL_PLAINTEXT"), "kafka.mechanism is one of PLAIN"),
        (Security("SASL_PLAINTEXT", "PLAIN"), "needs kafka.username and kafka.password_file"),
        (Security("SASL_PLAINTEXT", "PLAIN", "me", Path("/not/there")), "password_file cannot be read"),
        (Security("SASL_SSL", "OAUTHBEARER"), "kafka.mechanism OAUTHBEARER needs kafka.token_file"),
        (Security("SASL_SSL", "OAUTHBEARER", token_file=Path("/not/there")), "token_file cannot be read"),
        (Security("SASL_SSL", "OAUTHBEARER", token_file=Path("/dev/null")), "/dev/null holds no token"),
        (Security("SSL", ca_file=Path("/not/there")), "the certificates for Kafka cannot be used"),
        (Security("SSL", certificate_file=Path("/not/there")), "the certificates for Kafka cannot be used"),
    ],
    ids=[
        "protocol",
        "mechanism",
        "user",
        "password",
        "no-token-file",
        "token-file",
        "token",
        "ca",
        "certificate",
    ],
)
def test_what_is_wrong_with_security_is_said_before_anything_is_opened(security: Security, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Address.of("kafka://one:9092", security).options()


def test_a_password_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="password_file cannot be read"):
        Security("SASL_PLAINTEXT", "PLAIN", "me", tmp_path / "password").options()


@pytest.mark.parametrize(
    ("uid", "hashed"),
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("abc", 479470107),
    ],
)
def test_a_job_is_in_the_partition_that_every_client_chooses(uid: str, hashed: int) -> None:
    """Source: Kafka, UtilsTest.testMurmur2."""
    assert partition_of(JobUid(uid), 12) == (hashed & 0x7FFFFFFF) % 12


def test_a_job_is_in_one_partition_of_one() -> None:
    assert partition_of(JobUid("any"), 1) == 0
