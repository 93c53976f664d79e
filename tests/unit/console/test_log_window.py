"""Windows on logs: text from bytes, the last lines, those before, what stands in them, what is added."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobledger.console.logs import follow, text, window
from jobledger.console.logs.sources import HELD, Seekable, Whole, heard
from k8s_bridge.local import logs
from k8s_bridge.port import LogPart


class Counting:
    """A log in memory that counts what is read of it."""

    def __init__(self, data: bytes, *, ended: bool = True) -> None:
        self.data, self.ended, self.bytes_read = data, ended, 0

    async def read(self, start: int, length: int) -> LogPart:
        part = await Whole(self.data, ended=self.ended).read(start, length)
        self.bytes_read += len(part.data)
        return part


def numbered(count: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(1, count + 1))


# ---- text --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain", "plain"),
        ("Grüße, 你好".encode(), "Grüße, 你好"),
        (b"\x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[m", "red and green"),
        (b"\x1b]0;a title\x07after", "after"),
        (b"\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b[2J\x1b[Hcleared", "cleared"),
        (b" 10%\r 50%\r100%", "100%"),
        (b"windows\r", "windows"),
        (b"wait |\x08/\x08-", "wait -"),
        (b"tab\there", "tab\there"),
        (b"bell\x07 nul\x00", "bell␇ nul␀"),
        ("turned \u202eevil".encode(), "turned ⟨U+202E⟩evil"),
        (b"<script>alert(1)</script>", "<script>alert(1)</script>"),
        (b"half \xff utf-8", "half \ufffd utf-8"),
        (bytes(range(32)) * 4, "⟨128 bytes that are no text⟩"),
    ],
)
def test_what_a_program_writes_becomes_text_that_hurts_nobody(raw: bytes, shown: str) -> None:
    assert text.line(raw) == shown


def test_a_very_long_line_is_cut_and_says_so() -> None:
    assert text.line(b"x" * 100_000) == "x" * text.LONGEST + f"… ⟨{100_000 - text.LONGEST} more characters⟩"


def test_no_escape_survives_whatever_the_bytes() -> None:
    for first in set(range(256)) - {ord("\n")}:
        shown = text.line(b"some words " + bytes([0x1B, first]) + b" and some more words")
        assert not any(letter < " " or "\x7f" <= letter <= "\x9f" for letter in shown.replace("\t", ""))


# ---- windows -----------------------------------------------------------------------------------------------


async def test_a_window_shows_the_last_lines_with_their_numbers() -> None:
    tail = await window.tail(Counting(numbered(5000)), 3)
    assert tail.lines == ("line 4998", "line 4999", "line 5000")
    assert (tail.first, tail.tail, tail.has_earlier) == (4998, "", True)


async def test_earlier_lines_follow_on_without_a_gap_or_a_repeat() -> None:
    source = Counting(numbered(5000))
    tail = await window.tail(source, 1000)
    every = list(tail.lines)
    while tail.has_earlier:
        tail = await window.before(source, tail.begin, 1000)
        every[:0] = tail.lines
        assert tail.first == 5001 - len(every)
    assert every == [f"line {number}" for number in range(1, 5001)]


@pytest.mark.parametrize("data", [b"", b"\n", b"one", b"one\n", b"one\ntwo", b"\n\n\n"])
async def test_small_logs_are_shown_whole(data: bytes) -> None:
    tail = await window.tail(Counting(data), 10)
    shown = [*tail.lines, *([tail.tail] if tail.tail else [])]
    assert shown == data.decode().splitlines()
    assert not tail.has_earlier


async def test_the_line_that_is_being_written_is_apart() -> None:
    tail = await window.tail(Counting(b"done\n 47%\r 48%", ended=False))
    assert (tail.lines, tail.tail, tail.end) == (("done",), " 48%", 5)


async def test_half_a_gigabyte_costs_a_window_no_more_than_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("wb") as file:  # a hole: the size is real, the disk is not
        file.seek(500 << 20)
        file.write(b"\n" + numbered(3000))
    read = 0

    def part(start: int, length: int) -> LogPart:
        nonlocal read
        part = logs.part(path, start, length, ended=True)
        read += len(part.data)
        return part

    tail = await window.tail(Seekable(part))
    assert tail.size > 500 << 20
    assert tail.lines[-1] == "line 3000"
    assert (len(tail.lines), tail.first) == (1000, None)
    assert read <= 2 * window.PIECE


async def test_a_window_of_endless_lines_is_bounded() -> None:
    source = Counting(b"x" * (8 << 20))
    tail = await window.tail(source)
    assert len("".join(tail.lines) + tail.tail) < 3 * text.LONGEST
    assert source.bytes_read <= window.MOST + window.PIECE + window.COUNTED


async def test_a_log_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    source = Seekable(lambda start, length: logs.part(tmp_path / "no.log", start, length, ended=False))
    assert (await window.tail(source)).lines == ()


# ---- search ------------------------------------------------------------------------------------------------


async def test_a_search_finds_lines_whatever_the_case_the_latest_first() -> None:
    source = Counting(b"an Error\nfine\nERROR two\nfine\nno end error")
    matches = await window.search(source, "error")
    assert [match.line for match in matches.hits] == ["no end error", "ERROR two", "an Error"]
    assert [match.place for match in matches.hits] == [29, 14, 0]
    assert matches.is_whole


async def test_what_is_sought_is_no_pattern() -> None:
    matches = await window.search(Counting(b"loss [3/10]\nloss 3\n"), "[3/10]")
    assert [match.line for match in matches.hits] == ["loss [3/10]"]


async def test_a_search_finds_lines_that_lie_across_two_pieces() -> None:
    data = b"a" * ((1 << 20) - 4) + b"\nthe needle is here\n" + b"b" * ((1 << 20) - 8) + b"\n"
    matches = await window.search(Counting(data), "the needle is here")
    assert [match.line for match in matches.hits] == ["the needle is here"]


async def test_a_search_goes_on_where_it_stopped() -> None:
    source, every, end = Counting(numbered(1000)), [], None
    while True:
        matches = await window.search(source, "line", end, limit=300)
        every += [match.line for match in matches.hits]
        if matches.is_whole:
            break
        end = matches.until
    assert every == [f"line {number}" for number in range(1000, 0, -1)]


async def test_a_search_that_takes_too_long_says_how_far_it_came() -> None:
    matches = await window.search(Counting(numbered(1_000_000)), "nowhere", seconds=0)
    assert not matches.is_whole


# ---- following ---------------------------------------------------------------------------------------------


class Growing:
    """A log that grows by a step each time somebody reads of it."""

    def __init__(self, *steps: bytes) -> None:
        self.steps, self.data = list(steps), b""

    async def read(self, start: int, length: int) -> LogPart:
        if self.steps:
            self.data += self.steps.pop(0)
        return LogPart(self.data[start : start + length], start, len(self.data), not self.steps)


async def test_what_is_added_comes_line_by_line_until_the_end() -> None:
    source = Growing(b"one\ntw", b"", b"two\nthree\n")
    source.data = b"zero\n"
    news = [new async for new in follow.added(source, 5, look=0)]
    assert [line for new in news for line in new.lines] == ["one", "twtwo", "three"]
    assert news[0].tail == "tw"
    assert news[-1].ended
    assert news[-1].end == len(source.data)


async def test_a_follower_that_is_far_behind_learns_what_was_left_out() -> None:
    data = numbered(1_000_000)
    news = [new async for new in follow.added(Counting(data), 0, look=0)]
    assert news[0].skipped > follow.BEHIND
    assert news[0].lines[0].startswith("line ")
    total = sum(len(line) + 1 for new in news for line in new.lines)
    assert total + news[0].skipped == len(data)


async def test_a_line_without_end_does_not_grow_for_ever() -> None:
    news = [new async for new in follow.added(Counting(b"x" * 200_000), 0, look=0)]
    assert sum(len(new.lines) for new in news) == 1


async def stream(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def test_a_stream_is_held_by_its_end_only() -> None:
    received = await heard(stream(*[numbered(200_000)] * 20))
    part = await received.read(-10, 100)
    assert part.size <= HELD
    assert part.data.endswith(b"200000\n")


async def test_a_stream_is_followed_in_whole_lines() -> None:
    news = [new async for new in follow.heard_on(stream(b"on", b"e\ntwo\nth", b"ree"))]
    assert [new.lines for new in news] == [(), ("one", "two"), (), ("three",)]
    assert (news[2].tail, news[-1].ended) == ("three", True)
