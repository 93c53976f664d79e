"""Callers as the API server knows them: TokenReview says who a token is, SubjectAccessReview what they may do.

Answers are kept for a short while, because a page or a command asks several things at once: who a token is for up
to 60 s under a keyed hash of it (never the token), what they may do for up to 10 s. So a right that is taken away
works here for 10 s at most, a token for 60 s. Streams that are open ask again as well (`streams.RECHECK`).
"""

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from jobledger.program.errors import Unauthenticated
from jobledger.web.cache import Cache
from jobledger.web.rights import AccessRight
from statemachine.errors import ClusterUnavailable, Missing, Refused

TOKEN_SECONDS: Final = 60.0
REFUSAL_SECONDS: Final = 5.0
"""A token that was refused may be one that the API server did not know yet."""
RIGHT_SECONDS: Final = 10.0

_TOKENS: Final = 1024
_RIGHTS: Final = 8192
"""Answers that are kept. About 1 KB each."""

_PATIENCE: Final = 10.0
"""Seconds that a review may take, with all repetitions."""

_TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
_ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Asks(Protocol):
    """The part of `k8s_bridge.apiserver.api.Api` that is needed here."""

    async def call(self, method: str, path: str, *, body: Any = None) -> Any:
        """What the API server answers. Raises Missing, Refused, ClusterUnavailable."""


@dataclass(frozen=True, slots=True)
class User:
    """Who somebody is, as an authenticator said."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Reviews:
    """Asks the API server behind `api` about tokens and rights. `clock` is monotonic."""

    def __init__(self, api: Asks, clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._key = secrets.token_bytes(32)
        self._users: Cache[bytes, User | None] = Cache(
            lambda user: REFUSAL_SECONDS if user is None else TOKEN_SECONDS, _TOKENS, clock
        )
        self._allowed: Cache[tuple[User, AccessRight], bool] = Cache(lambda _: RIGHT_SECONDS, _RIGHTS, clock)

    async def caller(self, token: str) -> "Reviewed":
        """The holder of the token.

        Raises:
            Unauthenticated: it is nobody's.
            ClusterUnavailable: the API server does not say.
        """
        key = hashlib.blake2b(token.encode(), key=self._key).digest()
        user = await self._users.get(key, lambda: self._review_token(token))
        if user is None:
            raise Unauthenticated(
                "the token is not valid here: it has expired, or belongs to another cluster"
            )
        return Reviewed(user, self, token)

    async def may(self, user: User, right: AccessRight) -> bool:
        """The user has the right. Raises ClusterUnavailable when the API server does not say."""
        return await self._allowed.get((user, right), lambda: self._review_access(user, right))

    async def _review_token(self, token: str) -> User | None:
        status = await self._review(_TOKEN_REVIEWS, "TokenReview", {"token": token})
        if status.get("authenticated") is not True:
            return None
        said = status.get("user") or {}
        extra = {name: tuple(values) for name, values in (said.get("extra") or {}).items()}
        return User(
            name=said.get("username", ""),
            uid=said.get("uid", ""),
            groups=tuple(said.get("groups") or ()),
            extra=tuple(sorted(extra.items())),
        )

    async def _review_access(self, user: User, right: AccessRight) -> bool:
        spec = {
            "user": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": {name: list(values) for name, values in user.extra},
            "resourceAttributes": right._asdict(),
        }
        status = await self._review(_ACCESS_REVIEWS, "SubjectAccessReview", spec)
        return status.get("allowed") is True

    async def _review(self, path: str, kind: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """The status of the review. Raises ClusterUnavailable, also where we may not ask."""
        group = path.split("/")[2]
        body = {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}
        try:
            async with asyncio.timeout(_PATIENCE):
                answer = await self._api.call("POST", path, body=body)
        except TimeoutError:
            raise ClusterUnavailable(f"the API server does not answer a {kind}") from None
        except (Missing, Refused) as error:
            raise ClusterUnavailable(f"the API server takes no {kind} from jobledger: {error}") from error
        status: Mapping[str, Any] = answer.get("status") or {}
        return status


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A caller whom the API server knows."""

    user: User
    reviews: Reviews
    token: str = field(default="", repr=False)
    """By which they came in; kept as long as their request lasts."""

    def signature(self, said: str) -> str:
        """See Caller: what a request says of itself proves nothing."""
        return self.user.name

    async def may(self, right: AccessRight) -> bool:
        """See Caller."""
        return await self.reviews.may(self.user, right)

    async def still(self) -> None:
        """See Caller: their token may have been taken back."""
        await self.reviews.caller(self.token)

    def __str__(self) -> str:
        return f'"{self.user.name}"'
