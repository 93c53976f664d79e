"""How an API server is trusted, and the certificate that says who we are."""

import ssl
import tempfile

from k8s_bridge.kubeconfig.credentials import Credentials, Pair
from k8s_bridge.kubeconfig.files import Context
from statemachine.errors import ConfigError


def tls(context: Context, credentials: Credentials) -> ssl.SSLContext:
    """How the server is trusted, and our client certificate if there is one. Raises ConfigError."""
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
    """Python takes certificates from files only; this one is ours alone, and gone at once."""
    with tempfile.NamedTemporaryFile(prefix="jobledger-") as file:
        file.write(pair.certificate.rstrip() + b"\n" + pair.key)
        file.flush()
        trust.load_cert_chain(file.name)
