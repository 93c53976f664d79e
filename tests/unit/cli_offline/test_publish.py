"""`jobledger events publish` posts what the log has to a real server, and says what the server refused."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.support.planted import MARK
from tests.support.receivers import Hook, SecureHook, served
from tests.unit.cli_offline.conftest import SECRET, Ask


def test_a_log_reaches_a_web_hook_as_it_is_exported(ask: Ask, hook: Hook, key: Path, tmp_path: Path) -> None:
    said = ask("events", "publish", "--to", hook.url, "--key", key, "--once")
    ask("events", "export", "--to", tmp_path / "a.jsonl")
    exported = (tmp_path / "a.jsonl").read_bytes().splitlines()
    assert said == (0, f"{len(exported)} events sent\n", "")
    assert sorted(hook.bodies) == sorted(exported)
    assert not any(secret.encode() in body for body in hook.bodies for secret in (SECRET, MARK))


def test_only_what_is_wanted_is_sent(ask: Ask, hook: Hook, key: Path) -> None:
    ask("events", "publish", "--to", hook.url, "--key", key, "--once", "--type", "job.failed")
    assert {json.loads(body)["type"] for body in hook.bodies} == {"dev.jobledger.job.failed.v1"}


def test_a_receiver_that_wants_no_more_ends_the_command(ask: Ask, hook: Hook, key: Path) -> None:
    hook.status = lambda _: 410
    said = ask("events", "publish", "--to", hook.url, "--key", key)
    assert (said.code, said.out) == (2, "")
    assert "the receiver answered 410: it wants no more events" in said.err


@pytest.mark.parametrize(
    ("more", "origin"), [((), "jobledger"), (("--origin", "prod.example"), "prod.example")]
)
def test_a_receiver_is_asked_for_leave_once_before_the_first_event(
    ask: Ask, hook: Hook, key: Path, more: tuple[str, ...], origin: str
) -> None:
    hook.allowed = origin
    said = ask("events", "publish", "--to", hook.url, "--key", key, "--once", "--handshake", *more)
    assert hook.asking == [origin]
    assert said == (0, f"{len(hook.bodies)} events sent\n", "")
    assert len(hook.bodies) > 10


def test_a_receiver_that_gives_no_leave_gets_nothing(ask: Ask, hook: Hook, key: Path) -> None:
    said = ask("events", "publish", "--to", hook.url, "--key", key, "--once", "--handshake")
    assert (said.code, hook.asking, hook.bodies) == (2, ["jobledger"], [])
    assert "the receiver answered 410: it wants no more events" in said.err


def test_without_the_option_a_receiver_is_not_asked(ask: Ask, hook: Hook, key: Path) -> None:
    assert ask("events", "publish", "--to", hook.url, "--key", key, "--once").code == 0
    assert hook.asking == []


def test_events_that_are_given_up_are_named(ask: Ask, hook: Hook, key: Path) -> None:
    hook.status = lambda event: 500 if event["type"] == "dev.jobledger.job.failed.v1" else 204
    said = ask("events", "publish", "--to", hook.url, "--key", key, "--once", "--give-up-after", "0")
    assert said.code == 1
    assert said.err.count("\n") == 1
    assert "is not delivered: the receiver answered 500 (1 attempt)" in said.err
    assert said.out.endswith("sent, 1 of them not delivered\n")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--from", "end", "--once"), "--from end sends nothing with --once"),
        (("--from", "soon"), '--from "soon" is no place to begin'),
        (("--give-up-after", "soon"), '--give-up-after "soon" must be a duration'),
        (("--type", "job.exploded"), "is no type of public event"),
        (("--origin", "prod.example"), "--origin is a word of the handshake: give --handshake, too"),
        (("--handshake", "--origin", "a b"), '--origin "a b" must be a host name'),
    ],
)
def test_a_wrong_option_is_one_sentence(
    ask: Ask, hook: Hook, key: Path, more: tuple[str, ...], words: str
) -> None:
    said = ask("events", "publish", "--to", hook.url, "--key", key, *more)
    assert said.code == 2
    assert words in said.err


@pytest.mark.parametrize("more", [("--type", "job.failed"), ("--concurrency", "2"), ("--handshake",)])
def test_files_take_no_options_of_web_hooks(ask: Ask, tmp_path: Path, more: tuple[str, ...]) -> None:
    said = ask("events", "publish", "--to", f"file:{tmp_path}", "--once", *more)
    assert said.code == 2
    assert "takes no options of web hooks" in said.err


def test_a_missing_key_file_is_one_sentence(ask: Ask, hook: Hook, tmp_path: Path) -> None:
    said = ask("events", "publish", "--to", hook.url, "--key", tmp_path / "no")
    assert said.code == 2
    assert "cannot be read: No such file or directory" in said.err


def test_a_name_keeps_the_position(ask: Ask, hook: Hook, key: Path) -> None:
    first = ask("events", "publish", "--to", hook.url, "--key", key, "--once", "--name", "pager")
    assert first.code == 0
    assert len(hook.bodies) > 10
    again = ask("events", "publish", "--to", hook.url, "--key", key, "--once", "--name", "pager")
    assert again == (0, "0 events sent\n", "")
    ask("events", "publish", "--to", hook.url, "--key", key, "--once", "--name", "another", "--type", "job.*")
    assert len(set(hook.bodies)) < len(hook.bodies)


def test_events_for_a_receiver_with_an_expired_certificate_are_named_and_reach_one_with_a_valid_one(
    ask: Ask, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path, "trusted")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    expired = authority.server(ends=timedelta(hours=-1))
    with served(SecureHook(expired)) as hook:
        words = ("events", "publish", "--to", hook.url, "--key", key, "--once")
        said = ask(*words, "--give-up-after", "0")
        count = said.err.count("is not delivered: the receiver's certificate has expired (1 attempt)\n")
        assert (said.code, said.out) == (1, f"{count} events sent, {count} of them not delivered\n")
        assert said.err.count("\n") == count > 10
        assert hook.url not in said.err
        assert hook.bodies == []
        hook.context = authority.server()
        assert ask(*words) == (0, f"{count} events sent\n", "")
        assert len(set(hook.bodies)) == count


def test_a_wrong_name_is_one_sentence(ask: Ask, hook: Hook, key: Path) -> None:
    said = ask("events", "publish", "--to", hook.url, "--key", key, "--name", "My hook")
    assert said.code == 2
    assert '--name "My hook" must be lower-case letters' in said.err
