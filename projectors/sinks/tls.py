"""The certificates of receivers: whose are trusted, and in words why one is not, or why there is no TLS at all."""

import ssl
from typing import Final

import httpx

from statemachine.errors import ConfigError

_UNTRUSTED: Final = "is of an issuer that is not trusted"

_WORDS: Final = {
    9: "is not valid yet",
    10: "has expired",
    18: _UNTRUSTED,
    19: _UNTRUSTED,
    20: _UNTRUSTED,
    21: _UNTRUSTED,
    62: "is for another host",
    64: "is for another address",
}
"""By OpenSSL's number of what is wrong. Source: OpenSSL, X509_STORE_CTX_get_error."""


def trusted_issuers() -> ssl.SSLContext:
    """Those in the file SSL_CERT_FILE or the directory SSL_CERT_DIR, where one is set, else those of Mozilla's list.

    Raises ConfigError.
    """
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise ConfigError(
            f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be used: {error.strerror}"
        ) from error


def connection_failure(error: BaseException) -> str:
    """Why there is no connection to a receiver, in words without its address."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the receiver's certificate {_WORDS.get(cause.verify_code, 'is not valid')}"
    if cause is not None:
        return f"no TLS connection to the receiver: {cause.reason or type(cause).__name__}"
    return f"the receiver cannot be reached: {type(error).__name__}"
