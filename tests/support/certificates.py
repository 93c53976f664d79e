"""An authority of our own that issues certificates for servers of tests: right ones, and wrong in one way each."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Authority:
    """Issues certificates; who trusts `file` trusts them."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, _named(name)
        self._key = generate_private_key(SECP256R1())
        now = datetime.now(UTC)
        built = (
            self._builder(self._name, self._key, now - timedelta(days=1), now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, SHA256())
        )
        self.file = folder / f"{name}.crt"
        self.file.write_bytes(built.public_bytes(Encoding.PEM))

    def server(
        self,
        host: str = "127.0.0.1",
        *,
        begins: timedelta = timedelta(days=-1),
        ends: timedelta = timedelta(days=1),
    ) -> SSLContext:
        """What a server needs to be the host, by a certificate that begins and ends so long from now."""
        key, now = generate_private_key(SECP256R1()), datetime.now(UTC)
        built = (
            self._builder(_named(host), key, now + begins, now + ends)
            .add_extension(x509.SubjectAlternativeName([_alternative(host)]), critical=False)
            .sign(self._key, SHA256())
        )
        file = self._folder / f"server-{built.serial_number}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(private + built.public_bytes(Encoding.PEM))
        context = SSLContext(PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _builder(
        self, subject: x509.Name, key: EllipticCurvePrivateKey, begins_at: datetime, ends_at: datetime
    ) -> x509.CertificateBuilder:
        public = key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins_at)
            .not_valid_after(ends_at)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
