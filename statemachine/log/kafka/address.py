"""Where the Kafka of a log is, how to prove who we are, and what its topics are called."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from statemachine.addresses import port_of
from statemachine.errors import ConfigError

DEFAULT_PREFIX: Final = "jobledger"

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_BEARER: Final = "OAUTHBEARER"
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", _BEARER)
_LONGEST_PREFIX: Final = 200
_NEEDED: Final = "--log needs a URL such as kafka://broker-1:9092,broker-2:9092"


@dataclass(frozen=True, slots=True)
class Security:
    """How clients talk to the brokers and who they say they are. Files hold secrets; nothing here is one."""

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    username: str = ""
    password_file: Path | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None

    def options(self) -> dict[str, Any]:
        """The keyword arguments of every aiokafka client. Raises ConfigError."""
        if self.protocol not in _PROTOCOLS:
            raise ConfigError(f'kafka.protocol is one of {", ".join(_PROTOCOLS)}, not "{self.protocol}"')
        options: dict[str, Any] = {"security_protocol": self.protocol}
        if self.protocol.endswith("SSL"):
            options["ssl_context"] = self._tls()
        if self.protocol.startswith("SASL"):
            options |= self._sasl()
        return options

    def _tls(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca_file and str(self.ca_file))
            if self.certificate_file:
                context.load_cert_chain(self.certificate_file, self.key_file)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"the certificates for Kafka cannot be used: {error}") from error
        return context

    def _sasl(self) -> dict[str, Any]:
        if self.mechanism not in _MECHANISMS:
            raise ConfigError(f'kafka.mechanism is one of {", ".join(_MECHANISMS)}, not "{self.mechanism}"')
        if self.mechanism == _BEARER:
            return self._bearer()
        if not self.username or self.password_file is None:
            raise ConfigError(f"{self.protocol} needs kafka.username and kafka.password_file")
        try:
            password = self.password_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"kafka.password_file cannot be read: {error}") from error
        return {
            "sasl_mechanism": self.mechanism,
            "sasl_plain_username": self.username,
            "sasl_plain_password": password,
        }

    def _bearer(self) -> dict[str, Any]:
        if self.token_file is None:
            raise ConfigError(f"kafka.mechanism {_BEARER} needs kafka.token_file")
        from aiokafka.errors import SaslAuthenticationFailed

        from statemachine.log.kafka.tokens import TokenFile

        tokens = TokenFile(self.token_file)
        try:
            tokens.read()
        except SaslAuthenticationFailed as error:
            raise ConfigError(str(error.args[0])) from error
        return {"sasl_mechanism": _BEARER, "sasl_oauth_token_provider": tokens}


@dataclass(frozen=True, slots=True)
class Address:
    """Brokers to begin with, and the prefix of the topics' names. Two ledgers may share brokers."""

    servers: tuple[str, ...]
    prefix: str = DEFAULT_PREFIX
    security: Security = field(default_factory=Security)

    @classmethod
    def of(cls, url: str, security: Security | None = None) -> Self:
        """What `kafka://host:port[,host:port…][/prefix]` says. Raises ConfigError."""
        servers, parts = brokers(url, _NEEDED), urlsplit(url)
        prefix = parts.path.strip("/") or DEFAULT_PREFIX
        if parts.query or parts.fragment or not _is_prefix(prefix):
            raise ConfigError(
                f"--log {url}: behind the brokers only the prefix of the topics may stand, such as "
                f'"/{DEFAULT_PREFIX}"'
            )
        return cls(servers, prefix, security or Security())

    def __str__(self) -> str:
        return f"kafka://{','.join(self.servers)}" + f"/{self.prefix}" * (self.prefix != DEFAULT_PREFIX)

    def topic(self, name: str) -> str:
        """The whole name of the topic `name`."""
        return f"{self.prefix}.{name}"

    def options(self) -> dict[str, Any]:
        """The keyword arguments of every aiokafka client. Raises ConfigError."""
        return {"bootstrap_servers": list(self.servers), **self.security.options()}


def brokers(url: str, needed: str) -> tuple[str, ...]:
    """Host and port of each broker that a `kafka://` URL names. Raises ConfigError, which begins with `needed`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError(f'{needed}, not "{url}"') from None
    servers = tuple(part for part in parts.netloc.split(",") if part)
    if parts.scheme != "kafka" or not servers or not all(map(_is_server, servers)):
        raise ConfigError(f'{needed}, not "{url}"')
    for server in servers:
        port_of(server, f'{needed}: "{server}"')
    return servers


def _is_server(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host and port)


def _is_prefix(text: str) -> bool:
    """Source: Kafka, legal characters of topic names."""
    return len(text) <= _LONGEST_PREFIX and all(
        character.isascii() and (character.isalnum() or character in "._-") for character in text
    )
