"""Requests: what each answer means, what is waited out, and who we say we are."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.apiserver.access import ApiServerChoice
from k8s_bridge.apiserver.api import Api, NotServed, lines
from statemachine.errors import ClusterUnavailable, ConfigError, Conflict, Expired, Missing, Refused
from tests.unit.bridge.apiserver.scripted import (
    CUT,
    SILENT,
    Answer,
    Server,
    kubeconfig,
    no,
    not_served,
    page,
    watch,
)
from tests.unit.bridge.words import until

THINGS = "/apis/example.org/v1/things"


async def failed(api: Api, path: str = THINGS, method: str = "GET") -> Exception:
    """What a request that cannot succeed raises."""
    try:
        answer = await api.call(method, path)
    except Exception as error:  # noqa: BLE001 - it is the result
        return error
    raise AssertionError(f"it succeeded: {answer}")


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_an_answer_is_plain_data(server: Server, api: Api) -> None:
    server.on("POST", THINGS, Answer(201, {"metadata": {"name": "ä"}}))
    assert await api.call("POST", THINGS, body={"a": [1, None]}) == {"metadata": {"name": "ä"}}
    [request] = server.requests
    assert request.body == {"a": [1, None]}
    assert request.headers["Content-Type"] == "application/json"


async def test_an_empty_answer_is_nothing(server: Server, api: Api) -> None:
    server.on("GET", THINGS, Answer(body=""))
    assert await api.call("GET", THINGS) is None


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (no(404, 'pods "a" not found', "NotFound", name="a", kind="pods"), Missing, 'pods "a" not found'),
        (not_served(), NotServed, "404 page not found"),
        (
            no(404, "the server could not find the requested resource", "NotFound"),
            NotServed,
            "could not find",
        ),
        (no(409, "exists", "AlreadyExists"), Conflict, "exists"),
        (no(410, "too old", "Expired"), Expired, "too old"),
        (no(400, "bad", "BadRequest"), Refused, "bad"),
        (no(403, "quota", "Forbidden"), Refused, "quota"),
        (no(422, "invalid", "Invalid", causes=[{"field": "spec"}]), Refused, "invalid"),
        (no(422, "immutable", "Invalid", causes=[{"field": "metadata.uid"}]), Conflict, "immutable"),
        (no(500, "broken"), ClusterUnavailable, "the API server answers 500: broken"),
        (Answer(502, "<html>bad gateway</html>"), ClusterUnavailable, "502: <html>bad gateway"),
        (Answer(503, ""), ClusterUnavailable, "503: HTTP 503"),
        (Answer(200, "<html>log in</html>"), ClusterUnavailable, "no JSON"),
    ],
)
async def test_a_refusal_is_the_error_that_it_means(
    server: Server, api: Api, answer: Answer, kind: type[Exception], said: str
) -> None:
    server.on("GET", THINGS, answer)
    error = await failed(api)
    assert type(error) is kind
    assert said in str(error)
    assert "\n" not in str(error)


async def test_a_conflict_says_whether_the_object_is_there(server: Server, api: Api) -> None:
    server.on("POST", THINGS, no(409, reason="AlreadyExists"), no(409, reason="Conflict"))
    first, second = await failed(api, method="POST"), await failed(api, method="POST")
    assert isinstance(first, Conflict)
    assert first.exists
    assert isinstance(second, Conflict)
    assert not second.exists


async def test_a_refusal_keeps_its_status_and_reason(server: Server, api: Api) -> None:
    server.on("GET", THINGS, no(403, "exceeded quota: pods", "Forbidden"))
    error = await failed(api)
    assert isinstance(error, Refused)
    assert (error.status, error.reason, error.message) == (403, "Forbidden", "exceeded quota: pods")


async def test_a_429_is_waited_out_as_long_as_the_server_asks(server: Server, api: Api) -> None:
    server.on("POST", THINGS, no(429, "slow down", retry="1"), Answer(201, {"ok": True}))
    began = now()
    assert await api.call("POST", THINGS, body={}) == {"ok": True}
    assert now() - began >= 1
    assert [request.body for request in server.requests] == [{}, {}]


async def test_a_429_holds_up_every_other_request_and_lets_fewer_in(server: Server, api: Api) -> None:
    before = api.gate.places
    server.on("POST", THINGS, no(429, retry="1"), Answer(201, {}))
    complained = asyncio.create_task(api.call("POST", THINGS))
    await until(lambda: api.gate.places < before)
    began = now()
    await api.call("GET", THINGS)
    assert now() - began > 0.5
    await complained
    assert api.gate.places == before // 2


async def test_a_429_that_does_not_end_is_for_the_caller_to_wait_out(server: Server, api: Api) -> None:
    server.on("GET", THINGS, no(429, "slow down", retry="0"))
    error = await failed(api)
    assert isinstance(error, ClusterUnavailable)
    assert error.retry_after == 0
    assert len(server.requests) == 6


@pytest.mark.parametrize("retry", ["", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"])
async def test_a_429_without_a_number_is_waited_out_for_a_second(
    server: Server, api: Api, retry: str
) -> None:
    server.on("GET", THINGS, no(429, retry=retry), page())
    began = now()
    await api.call("GET", THINGS)
    assert 1 <= now() - began < 20


async def test_nobody_listens(server: Server, api: Api) -> None:
    await server.stop()
    error = await failed(api)
    assert isinstance(error, ClusterUnavailable)
    assert "cannot be reached" in str(error)
    assert api.sent["GET", "none"] == 1


async def test_an_answer_that_breaks_off_is_no_answer(server: Server, api: Api) -> None:
    server.on("GET", THINGS, watch(b'{"kind": "Li', CUT))
    assert isinstance(await failed(api), ClusterUnavailable)


async def test_a_closed_session_sends_nothing(server: Server, api: Api) -> None:
    await api.close()
    assert isinstance(await failed(api), ClusterUnavailable)
    assert not server.requests


async def test_every_request_is_counted_by_its_answer(server: Server, api: Api) -> None:
    server.on("GET", THINGS, no(500), page())
    await failed(api)
    await api.call("GET", THINGS)
    assert api.sent == {("GET", "500"): 1, ("GET", "200"): 1}


# ---- who asks ----------------------------------------------------------------------------------------------


def bearers(server: Server) -> list[str]:
    return [request.headers["Authorization"] for request in server.requests]


async def test_after_a_401_the_credentials_are_read_again(server: Server, api: Api, tmp_path: Path) -> None:
    server.on("GET", THINGS, no(401, "Unauthorized", "Unauthorized"), page())
    (tmp_path / "kubeconfig").write_text(kubeconfig(server.url, bearer="two"))
    await api.call("GET", THINGS)
    assert bearers(server) == ["Bearer one", "Bearer two"]


async def test_after_a_second_401_the_caller_waits(server: Server, api: Api) -> None:
    server.on("GET", THINGS, no(401, "Unauthorized", "Unauthorized"))
    error = await failed(api)
    assert isinstance(error, ClusterUnavailable)
    assert "401" in str(error)
    assert len(server.requests) == 2


async def test_a_watch_that_meets_a_401_reads_the_credentials_again(
    server: Server, api: Api, tmp_path: Path
) -> None:
    server.on("WATCH", THINGS, no(401), watch())
    (tmp_path / "kubeconfig").write_text(kubeconfig(server.url, bearer="two"))
    with pytest.raises(ClusterUnavailable):
        await pieces(api)
    await pieces(api)
    assert bearers(server) == ["Bearer one", "Bearer two"]


async def test_credentials_that_are_being_replaced_are_waited_for(
    server: Server, api: Api, tmp_path: Path
) -> None:
    server.on("GET", THINGS, no(401))
    (tmp_path / "kubeconfig").write_text("")
    error = await failed(api)
    assert isinstance(error, ClusterUnavailable)
    assert "kubeconfig" in str(error)


NO_CONTEXT = "{current-context: it, contexts: [], clusters: [], users: []}"
NO_CLUSTER = (
    "{current-context: it, contexts: [{name: it, context: {cluster: gone}}], clusters: [], users: []}"
)


@pytest.mark.parametrize(
    "text", ["", "{]", "a: 1", "[1]", "text", "{contexts: 1}", "{users: [1]}", NO_CONTEXT, NO_CLUSTER]
)
async def test_a_kubeconfig_that_is_of_no_use_is_said_in_a_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        await Api.connect(ApiServerChoice(file))
    assert f"the kubeconfig {file}" in str(error.value)
    assert "\n" not in str(error.value)


async def test_a_kubeconfig_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"kubeconfig {tmp_path / 'none'}"):
        await Api.connect(ApiServerChoice(tmp_path / "none"))


async def test_a_context_that_the_kubeconfig_has_not_is_said(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(kubeconfig("http://127.0.0.1:1"))
    with pytest.raises(ConfigError, match="other"):
        await Api.connect(ApiServerChoice(file, "other"))


async def test_a_certificate_that_is_not_there_is_said(tmp_path: Path) -> None:
    file = tmp_path / "config"
    missing = "certificate-authority: none.crt"
    file.write_text(kubeconfig("https://127.0.0.1:1").replace("server:", f"{missing}\n    server:"))
    with pytest.raises(ConfigError, match="certificate-authority of context"):
        await Api.connect(ApiServerChoice(file))


# ---- streams -----------------------------------------------------------------------------------------------


async def pieces(api: Api, silence: float | None = None, **query: str) -> bytes:
    async with api.stream(THINGS, {"watch": "1", **query}, silence=silence) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def test_a_stream_comes_piece_by_piece(server: Server, api: Api) -> None:
    server.on("WATCH", THINGS, watch(b"one", b"two"))
    assert await pieces(api) == b"onetwo"
    assert api.sent == {("WATCH", "200"): 1}


async def test_a_silent_stream_is_given_up(server: Server, api: Api) -> None:
    server.on("WATCH", THINGS, watch(b"one", SILENT))
    began = now()
    with pytest.raises(ClusterUnavailable, match="does not answer"):
        await pieces(api, silence=0.3)
    assert 0.3 <= now() - began < 20


async def test_a_stream_that_breaks_off_is_an_error(server: Server, api: Api) -> None:
    server.on("WATCH", THINGS, watch(b"one", CUT))
    with pytest.raises(ClusterUnavailable):
        await pieces(api)


async def test_a_stream_that_is_refused_says_why(server: Server, api: Api) -> None:
    server.on("WATCH", THINGS, no(410, "too old resource version: 1 (2)", "Expired"))
    with pytest.raises(Expired, match="too old"):
        await pieces(api)


@pytest.mark.parametrize(
    ("sent", "pieces"),
    [
        ([], []),
        ([b"a\n"], [b"a"]),
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b", b"\n"], [b"ab"]),
        ([b"a\nb", b"c\nd\n"], [b"a", b"bc", b"d"]),
        ([b"\n\n", b"a\n\n"], [b"a"]),
        ([b"a\nhalf"], [b"a"]),
    ],
)
async def test_lines_are_whole(sent: list[bytes], pieces: list[bytes]) -> None:
    async def given() -> Any:
        for chunk in sent:
            yield chunk

    assert [line async for line in lines(given())] == pieces
