"""Who a token is and what they may do: asked of the API server, and remembered for a short while."""

import asyncio
import pickle

import pytest

from jobledger.program.errors import Unauthenticated
from jobledger.web.cache import Cache
from jobledger.web.reviews import REFUSAL_SECONDS, RIGHT_SECONDS, TOKEN_SECONDS, Reviews
from jobledger.web.rights import AccessRight
from statemachine.errors import ClusterUnavailable, Missing, Refused
from tests.unit.api.kubernetes import Clock, FakeReviews

GET = AccessRight("get", "batch.tensorstack.dev", "pytorchtrainingjobs", "team", "train")


def _fake() -> FakeReviews:
    return FakeReviews({"good": "alice"}, alice=lambda asked: asked["namespace"] == "team")


async def test_everything_that_a_token_says_of_its_user_decides_about_rights() -> None:
    fake = _fake()
    assert await (await Reviews(fake).caller("good")).may(GET)
    assert fake.specs[1] == {
        "user": "alice",
        "uid": "u-1",
        "groups": ["people"],
        "extra": {"scopes": ["a", "b"]},
        "resourceAttributes": {
            "verb": "get",
            "group": "batch.tensorstack.dev",
            "resource": "pytorchtrainingjobs",
            "namespace": "team",
            "name": "train",
            "subresource": "",
        },
    }


async def test_a_right_is_one_for_its_verb_namespace_name_and_subresource() -> None:
    fake = FakeReviews({"good": "alice"}, alice=lambda asked: asked == GET._asdict())
    caller = await Reviews(fake).caller("good")
    assert await caller.may(GET)
    for other in (
        GET._replace(verb="list"),
        GET._replace(namespace=""),
        GET._replace(namespace="other"),
        GET._replace(name=""),
        GET._replace(subresource="status"),
        GET._replace(group=""),
    ):
        assert not await caller.may(other), other


async def test_a_token_is_looked_up_once_in_a_minute_and_a_right_once_in_ten_seconds() -> None:
    fake, clock = _fake(), Clock()
    reviews = Reviews(fake, clock)
    for _ in range(3):
        assert await (await reviews.caller("good")).may(GET)
    assert fake.asked == {"TokenReview": 1, "SubjectAccessReview": 1}
    clock.now += RIGHT_SECONDS
    assert await (await reviews.caller("good")).may(GET)
    assert fake.asked == {"TokenReview": 1, "SubjectAccessReview": 2}
    clock.now += TOKEN_SECONDS - RIGHT_SECONDS
    await reviews.caller("good")
    assert fake.asked["TokenReview"] == 2
    assert (TOKEN_SECONDS, RIGHT_SECONDS) <= (60, 10)


async def test_a_right_that_is_taken_away_is_gone_after_ten_seconds() -> None:
    fake, clock = _fake(), Clock()
    caller = await Reviews(fake, clock).caller("good")
    assert await caller.may(GET)
    fake.rules["alice"] = lambda _: False
    clock.now += RIGHT_SECONDS
    assert not await caller.may(GET)


async def test_an_answer_is_as_old_as_its_question() -> None:
    fake, clock = _fake(), Clock()
    reviews = Reviews(fake, clock)
    fake.answering.clear()
    asking = asyncio.create_task(reviews.caller("good"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.now += TOKEN_SECONDS  # a slow answer
    fake.answering.set()
    await asking
    await reviews.caller("good")
    assert fake.asked["TokenReview"] == 2


async def test_a_refused_token_is_asked_about_again_soon() -> None:
    fake, clock = _fake(), Clock()
    reviews = Reviews(fake, clock)
    for _ in range(2):
        with pytest.raises(Unauthenticated, match="not valid here"):
            await reviews.caller("bad")
    assert fake.asked["TokenReview"] == 1
    fake.tokens["bad"] = "bob"
    clock.now += REFUSAL_SECONDS
    assert (await reviews.caller("bad")).user.name == "bob"


async def test_many_who_wait_for_the_same_answer_ask_once() -> None:
    fake = _fake()
    reviews = Reviews(fake)
    fake.answering.clear()
    asking = [asyncio.create_task(reviews.caller("good")) for _ in range(20)]
    await asyncio.sleep(0)
    asking[0].cancel()  # the one who asked first goes away
    await asyncio.sleep(0)
    fake.answering.set()
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert {outcome.user.name for outcome in outcomes[1:]} == {"alice"}  # type: ignore[union-attr]
    assert fake.asked["TokenReview"] == 1


async def test_failures_reach_all_who_wait_and_are_not_kept() -> None:
    fake = _fake()
    reviews = Reviews(fake)
    fake.fail()
    outcomes = await asyncio.gather(*(reviews.caller("good") for _ in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ClusterUnavailable] * 3
    fake.down = None
    assert (await reviews.caller("good")).user.name == "alice"


@pytest.mark.parametrize("error", [Refused(403, "Forbidden", "you may not"), Missing("no such API")])
async def test_an_api_server_that_takes_no_reviews_is_no_refusal_of_the_caller(error: Exception) -> None:
    fake = _fake()
    fake.down = error
    with pytest.raises(ClusterUnavailable, match="takes no TokenReview from jobledger"):
        await Reviews(fake).caller("good")


async def test_what_is_kept_is_bounded_and_holds_no_token() -> None:
    fake = FakeReviews({f"secret-{number}": "alice" for number in range(3000)})
    reviews = Reviews(fake)
    for token in fake.tokens:
        await reviews.caller(token)
    assert len(reviews._users) <= 1024
    assert b"secret-" not in pickle.dumps(dict(reviews._users._answers))


async def test_the_answers_that_are_used_stay() -> None:
    asked = []

    async def ask() -> int:
        asked.append(1)
        return len(asked)

    cache: Cache[int, int] = Cache(lambda _: 60, most=2)
    await cache.get(1, ask)
    await cache.get(2, ask)
    await cache.get(1, ask)
    await cache.get(3, ask)  # 2 goes
    assert (await cache.get(1, ask), len(asked), len(cache)) == (1, 3, 2)
    assert await cache.get(2, ask) == 4
