"""The TLS context for an API server: how it is trusted, and our client certificate."""

import ssl
import tempfile

from k8s_bridge.kubeconfig.credentials import Credentials, Pair
from k8s_bridge.kubeconfig.files import Context
from statemachine.errors import ConfigError


def tls(context: Context, credentials: Credentials) -> ssl.SSLContext:
    """The TLS context with the server's trust, and our client certificate if there is one. Raises ConfigError."""
    try:
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if context.cluster.get("insecure-skip-tls-verify"):
            trust.check_hostname = False
            trust.verify_mode = ssl.CERT_NONE
        elif authority := credentials.authority:
            trust.load_verify_locations(cadata=authority.decode())
        else:
            trust.load_default_certs()
        if pair := credentials.pair:
            _present(trust, pair)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        reason = getattr(error, "reason", None) or error
        raise ConfigError(f'the certificates of context "{context.name}" are of no use: {reason}') from None
    return trust


def _present(trust: ssl.SSLContext, pair: Pair) -> None:
    """Loads a certificate. Python reads them from files only; this file is private, and deleted at once."""
    with tempfile.NamedTemporaryFile(prefix="jobledger-") as file:
        file.write(pair.certificate.rstrip() + b"\n" + pair.key)
        file.flush()
        trust.load_cert_chain(file.name)
