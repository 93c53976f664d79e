"""An API server's authentication and authorisation, as far as the guard asks for it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from jobledger.web.streams import Closing
from statemachine.errors import ClusterUnavailable

Rule = Callable[[dict[str, Any]], bool]


class FakeReviews:
    """`tokens` → user names, `rules` of users over resourceAttributes; counts what it is asked."""

    def __init__(self, tokens: dict[str, str] | None = None, **rules: Rule) -> None:
        self.tokens = tokens or {}
        self.rules = rules
        self.asked: Counter[str] = Counter()
        self.specs: list[dict[str, Any]] = []
        self.down: Exception | None = None
        self.closing = Closing()
        """Ends the streams of the API that asks here."""
        self.answering = asyncio.Event()
        self.answering.set()

    async def call(self, method: str, path: str, *, body: Any = None) -> Any:
        assert method == "POST"
        self.asked[body["kind"]] += 1
        self.specs.append(body["spec"])
        await self.answering.wait()
        if self.down is not None:
            raise self.down
        if body["kind"] == "TokenReview":
            assert path == "/apis/authentication.k8s.io/v1/tokenreviews"
            return {"status": self._token(body["spec"]["token"])}
        assert (path, body["kind"]) == (
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            "SubjectAccessReview",
        )
        rule = self.rules.get(body["spec"]["user"])
        return {"status": {"allowed": bool(rule and rule(body["spec"]["resourceAttributes"]))}}

    def _token(self, token: str) -> dict[str, Any]:
        if token not in self.tokens:
            return {"error": "invalid bearer token"}
        user = {
            "username": self.tokens[token],
            "uid": "u-1",
            "groups": ["people"],
            "extra": {"scopes": ["a", "b"]},
        }
        return {"authenticated": True, "user": user}

    def fail(self) -> None:
        self.down = ClusterUnavailable("the API server cannot be reached")


class Clock:
    """Monotonic seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
