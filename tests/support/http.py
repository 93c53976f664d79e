"""HTTP in the clear, as tests ask servers of this machine again and again."""

from typing import Final

import httpx

PLAIN: Final = httpx.Client(
    verify=False,  # noqa: S501 - nothing is asked over TLS, and the machine's certificates take 20 ms to read
    trust_env=False,
    limits=httpx.Limits(max_keepalive_connections=0),
)
"""A connection for each request: servers are killed and started again. `httpx.get` would make a client for each."""
