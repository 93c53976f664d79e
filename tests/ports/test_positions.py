"""What all PositionRecords have to do, on every adapter, and what Positions makes of them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from statemachine.errors import StoreUnusable
from statemachine.ids import JobUid
from statemachine.log.kafka.positions import KafkaPositionRecords
from statemachine.log.positions import PositionRecords, Positions, SinkFailure, SinkOrders, SinkPosition
from statemachine.log.sqlite_positions import SqlitePositionRecords
from statemachine.log.store import SqliteStore
from tests.support.logs import JOB

Again = Callable[[], Awaitable[PositionRecords]]
"""The same records as another process finds them."""

AT = SinkPosition(17, {JOB: 3}, "1.0", "abc")
FAILURE = SinkFailure(
    "u/3/1", "the receiver answered 422 “no”", 3, "2026-01-01T00:00:00Z", "2026-01-01T00:01:05Z"
)


@pytest.fixture(params=["sqlite", pytest.param("kafka", marks=pytest.mark.integration)])
async def again(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Again]:
    opened: list[SqliteStore | KafkaPositionRecords] = []

    async def in_a_file() -> PositionRecords:
        store = await SqliteStore.open(tmp_path / "store.db", beside=True)
        opened.append(store)
        return await SqlitePositionRecords.open(store)

    async def in_kafka() -> PositionRecords:
        records = KafkaPositionRecords(request.getfixturevalue("ledger_topics"))
        opened.append(records)
        return records

    if request.param == "kafka":
        request.getfixturevalue("ledger_topics")  # made before the loop's clients are
    yield in_kafka if request.param == "kafka" else in_a_file
    for opened_store in opened:
        await opened_store.close()


@pytest.fixture
async def records(again: Again) -> PositionRecords:
    return await again()


@pytest.fixture
def positions(records: PositionRecords) -> Positions:
    return Positions(records)


async def test_a_record_is_what_was_put_last_for_every_process(
    records: PositionRecords, again: Again
) -> None:
    await records.put(0, "a", b"1")
    await records.put(1, "a", b"other")
    await records.put(0, "a", b"2")
    other = await again()
    assert (await other.get(0, "a"), await other.get(1, "a"), await other.get(0, "b")) == (
        b"2",
        b"other",
        None,
    )
    await other.put(0, "a", b"3")
    assert await records.get(0, "a") == b"3"


async def test_a_deleted_record_is_gone(records: PositionRecords, again: Again) -> None:
    await records.put(0, "a", b"1")
    await records.put(0, "a", None)
    await records.put(0, "never", None)
    assert await (await again()).get(0, "a") is None
    assert await records.named("") == {}


async def test_records_are_listed_by_the_beginnings_of_their_names(records: PositionRecords) -> None:
    for partition, name in ((1, "a/2"), (0, "a/3"), (0, "a"), (0, "b/%_"), (1, "a/1")):
        await records.put(partition, name, name.encode())
    assert list((await records.named("a/")).items()) == [
        ((0, "a/3"), b"a/3"),
        ((1, "a/1"), b"a/1"),
        ((1, "a/2"), b"a/2"),
    ]
    assert await records.named("b/_") == {}


async def test_a_value_may_be_any_bytes(records: PositionRecords) -> None:
    value = bytes(range(256))
    await records.put(0, "a", value)
    assert await records.get(0, "a") == value


async def test_a_sink_has_a_position_in_every_partition(positions: Positions) -> None:
    assert await positions.load("pager", 0) is None
    await positions.save("pager", 1, AT)
    await positions.save("pager", 0, AT._replace(position=2, held={}))
    await positions.save("pager-2", 0, AT)
    assert await positions.load("pager", 1) == AT
    assert await positions.all("pager") == {0: AT._replace(position=2, held={}), 1: AT}


async def test_failures_are_kept_until_they_are_settled(positions: Positions) -> None:
    await positions.fail("pager", FAILURE._replace(attempts=1))
    await positions.fail("pager", FAILURE)
    await positions.fail("pager", FAILURE._replace(event="u/4/0"))
    await positions.fail("pager-2", FAILURE)
    assert await positions.failures("pager") == {"u/3/1": FAILURE, "u/4/0": FAILURE._replace(event="u/4/0")}
    await positions.settle_failure("pager", "u/3/1")
    assert list(await positions.failures("pager")) == ["u/4/0"]
    assert await positions.all("pager") == {}


async def test_a_failure_that_cannot_be_read_names_its_event(
    records: PositionRecords, positions: Positions
) -> None:
    await records.put(0, "pager/failed/u/3/1", b"{")
    assert list(await positions.failures("pager")) == ["u/3/1"]


async def test_a_sink_that_is_switched_off_stays_so(positions: Positions, again: Again) -> None:
    await positions.switch("pager", disabled="it answered 410")
    assert await Positions(await again()).disabled("pager") == "it answered 410"
    assert await positions.disabled("other") == ""
    await positions.switch("pager", disabled="")
    assert await positions.disabled("pager") == ""


async def test_a_reset_waits_until_it_is_done(positions: Positions) -> None:
    await positions.save("pager", 1, AT)
    await positions.ask_reset("pager", 1, AT._replace(position=0))
    assert await positions.reset_asked("pager", 0) is None
    assert await positions.reset_asked("pager", 1) == AT._replace(position=0)
    await positions.reset_done("pager", 1)
    assert (await positions.reset_asked("pager", 1), await positions.load("pager", 1)) == (None, AT)


async def test_one_look_says_what_is_asked_of_every_sink(
    records: PositionRecords, positions: Positions
) -> None:
    assert await positions.orders() == {}
    await records.put(0, "ledger", b"named")
    await positions.save("pager", 1, AT)
    await positions.fail("pager", FAILURE)
    await positions.fail("pager", FAILURE._replace(event="u/4/off"))
    await positions.ask_reset("pager", 1, AT)
    await positions.ask_reset("pager", 0, AT)
    await positions.switch("pager-2", disabled="it answered 410")
    await positions.ask_reset("chat", 0, AT)
    await positions.reset_done("chat", 0)
    await positions.save("idle", 0, AT)
    assert await positions.orders() == {
        "pager": SinkOrders(resets=frozenset({0, 1}), failed=2),
        "pager-2": SinkOrders(disabled="it answered 410"),
        "idle": SinkOrders(),
    }


@pytest.mark.parametrize(
    "value",
    [b"{", b"[]", b'{"position": 1}', b'{"position": "x", "held": {}, "contract": "", "settings": ""}'],
)
async def test_a_position_that_cannot_be_read_says_what_to_do(
    records: PositionRecords, positions: Positions, value: bytes
) -> None:
    await records.put(0, "pager", value)
    with pytest.raises(StoreUnusable, match="jobledger events sinks reset pager"):
        await positions.load("pager", 0)


async def test_a_store_of_an_older_release_has_no_positions(tmp_path: Path) -> None:
    await (await SqliteStore.open(tmp_path / "old.db")).close()
    store = await SqliteStore.open(tmp_path / "old.db", read_only=True)
    positions = Positions(await SqlitePositionRecords.open(store))
    assert (await positions.load("pager", 0), await positions.failures("pager")) == (None, {})
    assert await positions.disabled(JobUid("pager")) == ""
    await store.close()
