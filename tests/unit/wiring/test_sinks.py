"""Sinks that the projectors feed: each gets what it wants, and one that is down holds up nobody."""

import asyncio
import gc
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jobledger.settings.events import EventsSettings
from jobledger.settings.model import Settings
from jobledger.settings.sinks import sinks_in
from jobledger.telemetry.collect import of_sinks
from jobledger.wiring import sinks as wired
from jobledger.wiring.fed_sink import SinkLoop
from jobledger.wiring.ledger import Ledger
from jobledger.wiring.sinks import Sinks, sinks_of
from projectors.sinks.stdout import StdoutSink
from statemachine.errors import ConfigError, LogUnavailable
from statemachine.ids import JobUid, Position
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft
from statemachine.log.positions import Positions
from statemachine.log.sqlite import SqliteLog
from statemachine.log.sqlite_positions import SqlitePositionRecords
from tests.support.memory_log import MemoryLog
from tests.support.receivers import KEY, Hook, receiving
from tests.support.scenario import Story, workers


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wired, "LOOK", 0.02)


@pytest.fixture
def hook() -> Iterator[Hook]:
    with receiving() as server:
        yield server


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SqliteLog]:
    event_log = await SqliteLog.open(tmp_path / "store.db")
    for name in ("a", "b"):
        story = Story(workers(2), name=name, uid=f"{name}-1").submit().all_pods("Running")
        await append(event_log, story.pod("worker-0", "Failed", exit_code=3))
    yield event_log
    await event_log.close()


async def append(log: SqliteLog, story: Story) -> None:
    await log.append([EntryDraft(JobUid(story.uid), seq, body) for seq, body in enumerate(story.bodies, 1)])


@pytest.fixture
async def positions(log: SqliteLog) -> Positions:
    return Positions(await SqlitePositionRecords.open(log.store))


@pytest.fixture
def configured(tmp_path: Path) -> Callable[[str], Settings]:
    """Settings with these sinks; `KEY` is a key file, and `HERE` a directory."""
    (tmp_path / "key").write_text(KEY)

    def settings(sinks: str) -> Settings:
        path = tmp_path / "sinks.yaml"
        path.write_text(sinks.replace("KEY", str(tmp_path / "key")).replace("HERE", str(tmp_path)))
        return Settings(store=tmp_path / "store.db", events=EventsSettings(sinks=path))

    return settings


@asynccontextmanager
async def feeding(
    settings: Settings, log: SqliteLog, mine: Callable[[int], bool] = bool
) -> AsyncIterator[Sinks]:
    """The sinks are fed until the block is left."""
    end = await log.end()
    async with sinks_of(settings, settings.store, Ledger(Partitions([log]))) as sinks:
        assert sinks is not None
        sinks.begin(lambda number: True if mine is bool else mine(number), lambda _: end)
        tasks = [asyncio.create_task(loop, name=name) for name, loop in sinks.loops()]
        try:
            yield sinks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


def types_of(hook: Hook) -> set[str]:
    return {json.loads(body)["type"] for body in hook.bodies}


def ids_of(hook: Hook) -> list[str]:
    return [json.loads(body)["id"] for body in hook.bodies]


async def test_events_that_were_scrubbed_are_counted_for_each_sink_that_got_them(
    configured: Callable[[str], Settings], log: SqliteLog, hook: Hook
) -> None:
    story = Story(workers(1), name="c", uid="c-1").submit().all_pods("Running")
    await append(log, story.pod("worker-0", "Failed", exit_code=3, message="login: password=abcd"))
    settings = configured(f"""sinks:
- {{name: pager, type: webhook, url: "{hook.url}", keys: [{{secretFile: KEY}}]}}
- {{name: archive, type: file, path: HERE/archive}}
- {{name: elsewhere, type: file, path: HERE/elsewhere, namespaces: [prod]}}
""")
    async with feeding(settings, log) as sinks:
        await until(lambda: set(sinks.lag_entries().values()) == {0})
        values = {about.name: dict(samples) for about, samples in of_sinks(sinks)}
    redacted = sum(b"<redacted>" in body for body in hook.bodies)
    assert redacted > 0
    assert values["jobledger_events_scrubbed_total"] == {(): 2 * redacted}


async def test_a_delivery_that_fails_because_its_process_stops_is_logged_by_nobody(
    configured: Callable[[str], Settings],
    log: SqliteLog,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A client that is broken off may say that it got no answer: nobody asks for that any more."""
    begun = asyncio.Event()

    async def broken_off(_: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise LogUnavailable("no answer in time") from None

    monkeypatch.setattr(SinkLoop, "_advance", broken_off)
    async with feeding(configured("sinks: [{name: archive, type: file, path: HERE/archive}]"), log):
        await begun.wait()
    gc.collect()  # asyncio complains of a task once nothing refers to it
    assert caplog.records == []


async def test_a_look_at_what_users_ask_reads_the_records_once_for_all_sinks(
    configured: Callable[[str], Settings], log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = Counter[str]()
    get, named = SqlitePositionRecords.get, SqlitePositionRecords.named

    async def counted_get(self: SqlitePositionRecords, partition: int, name: str) -> bytes | None:
        reads["get"] += 1
        return await get(self, partition, name)

    async def counted_named(self: SqlitePositionRecords, prefix: str) -> Mapping[tuple[int, str], bytes]:
        reads[prefix] += 1
        return await named(self, prefix)

    monkeypatch.setattr(SqlitePositionRecords, "get", counted_get)
    monkeypatch.setattr(SqlitePositionRecords, "named", counted_named)
    settings = configured(
        "sinks: [" + ", ".join(f"{{name: {name}, type: file, path: HERE/{name}}}" for name in "abc") + "]"
    )
    async with feeding(settings, log) as sinks:
        await until(lambda: set(sinks.lag_entries().values()) == {0})
        before = reads.copy()
        await until(lambda: reads[""] >= before[""] + 5)
        assert (reads - before).keys() == {""}


async def test_of_several_partitions_only_the_one_that_has_grown_is_asked_for_its_end(
    configured: Callable[[str], Settings], log: SqliteLog
) -> None:
    """`log` is the store that says what the ledger is called."""
    asked = Counter[int]()

    class Counted(MemoryLog):
        async def end(self) -> Position:
            asked[logs.index(self)] += 1
            return await super().end()

    logs = [Counted(), Counted()]
    story = Story(workers(1)).submit().all_pods("Running")
    *before, last = [EntryDraft(JobUid(story.uid), seq, body) for seq, body in enumerate(story.bodies, 1)]
    for partition in logs:
        await partition.append(before)
    settings = configured("sinks: [{name: archive, type: file, path: HERE/archive}]")
    async with sinks_of(settings, settings.store, Ledger(Partitions(logs))) as sinks:
        assert sinks is not None
        sinks.begin(lambda _: True, lambda number: len(before) + number)
        tasks = [asyncio.create_task(loop, name=name) for name, loop in sinks.loops()]
        await until(lambda: sinks.lag_entries()["archive"] == 1)
        await logs[1].append([last])
        asked.clear()
        sinks.grown()
        await until(lambda: sinks.lag_entries()["archive"] == 0)
        assert asked.keys() == {1}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_a_sink_that_is_down_holds_up_no_other(
    configured: Callable[[str], Settings], log: SqliteLog, hook: Hook, tmp_path: Path
) -> None:
    with receiving() as down:
        down.status = lambda _: 503
        settings = configured(f"""sinks:
- {{name: down, type: webhook, url: "{down.url}", keys: [{{secretFile: KEY}}]}}
- {{name: pager, type: webhook, url: "{hook.url}", keys: [{{secretFile: KEY}}]}}
- {{name: archive, type: file, path: HERE/archive}}
""")
        async with feeding(settings, log) as sinks:
            await until(lambda: sinks.lag_entries()["pager"] == sinks.lag_entries()["archive"] == 0)
            assert sinks.lag_entries()["down"] == await log.end()
            assert sinks.lag_seconds()["down"] > 0
            assert sinks.lag_seconds()["pager"] == 0
            await until(lambda: sinks.fed[0].attempts["away"] > 0)
            assert sum(sinks.settled().values()) == 2 * len(hook.bodies)
            values = {about.name: dict(samples) for about, samples in of_sinks(sinks)}
            assert values["jobledger_sink_attempts_total"]["pager", "delivered"] == len(hook.bodies)
            assert values["jobledger_sink_events_total"]["archive", "job.created"] == 2
            assert values["jobledger_events_scrubbed_total"] == {(): 0}
            assert values["jobledger_sink_disabled"] == {(name,): 0 for name in ("down", "pager", "archive")}
            assert {len(labels) for labels in values["jobledger_sink_failed"]} == {1}
    lines = (tmp_path / "archive" / "events-1.jsonl").read_bytes().splitlines()
    assert sorted(lines) == sorted(hook.bodies)
    assert down.bodies == []


async def test_a_restart_goes_on_where_the_sink_was(
    configured: Callable[[str], Settings], log: SqliteLog, hook: Hook
) -> None:
    settings = configured(
        f'sinks: [{{name: pager, type: webhook, url: "{hook.url}", keys: [{{secretFile: KEY}}]}}]'
    )
    for name in ("c", "d", "e"):
        async with feeding(settings, log) as sinks:
            await _gone_on(sinks, log, name)
    assert len(ids_of(hook)) == len(set(ids_of(hook)))
    assert {id_.partition("/")[0] for id_ in ids_of(hook)} == {"a-1", "b-1", "c-1", "d-1", "e-1"}


async def _gone_on(sinks: Sinks, log: SqliteLog, name: str) -> None:
    """One more job is in the log, and with the sink."""
    await until(lambda: sinks.lag_entries()["pager"] == 0)
    before = sum(sinks.settled().values())
    await append(log, Story(workers(1), name=name, uid=f"{name}-1").submit())
    end = await log.end()
    sinks.begin(lambda _: True, lambda _: end)
    sinks.grown()
    await until(lambda: sum(sinks.settled().values()) > before)


async def test_filters_choose_types_namespaces_and_labels(
    configured: Callable[[str], Settings], log: SqliteLog, hook: Hook
) -> None:
    with receiving() as none:
        settings = configured(f"""sinks:
- name: failures
  type: webhook
  url: {hook.url}
  keys: [{{secretFile: KEY}}]
  types: [job.failed, dev.jobledger.replica.failed.v1, "job.p*"]
  namespaces: ["de*"]
- {{name: elsewhere, type: webhook, url: "{none.url}", keys: [{{secretFile: KEY}}], namespaces: [prod]}}
- {{name: labelled, type: webhook, url: "{none.url}", keys: [{{secretFile: KEY}}], labelSelector: "team=x"}}
""")
        async with feeding(settings, log) as sinks:
            await until(lambda: not any(sinks.lag_entries().values()))
    assert types_of(hook) == {"dev.jobledger.replica.failed.v1", "dev.jobledger.job.pending.v1"}
    assert none.bodies == []


async def test_410_switches_a_sink_off_until_somebody_switches_it_on(
    configured: Callable[[str], Settings], log: SqliteLog, hook: Hook, positions: Positions
) -> None:
    hook.status = lambda _: 410
    settings = configured(
        f'sinks: [{{name: pager, type: webhook, url: "{hook.url}", keys: [{{secretFile: KEY}}]}}]'
    )
    async with feeding(settings, log) as sinks:
        await until(lambda: bool(sinks.fed[0].disabled))
    async with feeding(settings, log) as sinks:
        await until(lambda: bool(sinks.fed[0].disabled))
        assert "410" in await positions.disabled("pager")
        assert hook.bodies == []
        hook.status = lambda _: 204
        await positions.switch("pager", disabled="")
        await until(lambda: sinks.lag_entries()["pager"] == 0)
    assert hook.bodies


async def test_a_delivery_under_way_ends_when_the_sink_is_switched_off(
    configured: Callable[[str], Settings], log: SqliteLog, hook: Hook, positions: Positions
) -> None:
    hook.status = lambda _: 500
    settings = configured(
        f'sinks: [{{name: pager, type: webhook, url: "{hook.url}", keys: [{{secretFile: KEY}}]}}]'
    )
    async with feeding(settings, log) as sinks:
        await until(lambda: sinks.fed[0].attempts["away"] > 0)
        await positions.switch("pager", disabled="a user wants it so")
        await until(lambda: sinks.lag_seconds()["pager"] == 0)
        hook.status = lambda _: 204
        await positions.switch("pager", disabled="")
        await until(lambda: sinks.lag_entries()["pager"] == 0)
    assert len(ids_of(hook)) == len(set(ids_of(hook)))


async def test_a_reset_sends_everything_again(
    configured: Callable[[str], Settings], log: SqliteLog, hook: Hook, positions: Positions
) -> None:
    settings = configured(
        f'sinks: [{{name: pager, type: webhook, url: "{hook.url}", keys: [{{secretFile: KEY}}]}}]'
    )
    async with feeding(settings, log) as sinks:
        await until(lambda: sinks.lag_entries()["pager"] == 0)
        count, at = len(hook.bodies), await positions.load("pager", 0)
        assert at is not None
        await positions.ask_reset("pager", 0, at._replace(position=0))
        await until(lambda: len(hook.bodies) == 2 * count)
        await until(lambda: sinks.lag_entries()["pager"] == 0)
    assert await positions.reset_asked("pager", 0) is None
    assert sorted(ids_of(hook)[:count]) == sorted(ids_of(hook)[count:])


async def test_what_is_another_process_s_is_left_at_once(
    configured: Callable[[str], Settings], log: SqliteLog, hook: Hook
) -> None:
    hook.status = lambda _: 500
    ours = [True]
    settings = configured(
        f'sinks: [{{name: pager, type: webhook, url: "{hook.url}", keys: [{{secretFile: KEY}}]}}]'
    )
    async with feeding(settings, log, lambda _: ours[0]) as sinks:
        await until(lambda: sinks.lag_seconds()["pager"] > 0)
        ours[0] = False
        sinks.shared()
        await until(lambda: sinks.lag_seconds()["pager"] == 0)
        assert sinks.lag_entries()["pager"] == 0
        hook.status = lambda _: 204
        ours[0] = True
        sinks.shared()
        await until(lambda: bool(hook.bodies))


async def test_a_sink_that_fails_unforeseen_is_tried_again(
    configured: Callable[[str], Settings], log: SqliteLog, monkeypatch: pytest.MonkeyPatch, hook: Hook
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(StdoutSink, "deliver", broken)
    settings = configured(f"""sinks:
- {{name: out, type: stdout}}
- {{name: pager, type: webhook, url: "{hook.url}", keys: [{{secretFile: KEY}}]}}
""")
    async with feeding(settings, log) as sinks:
        await until(lambda: sinks.lag_entries()["pager"] == 0)
        assert sinks.lag_entries()["out"] == await log.end()
        monkeypatch.undo()
        await until(lambda: sinks.lag_entries()["out"] == 0)


# ---- the file of sinks -------------------------------------------------------------------------------------------

HOOK = 'type: webhook, url: "https://user-secret.example", keys: [{secretFile: /k}]'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sinks: [", ": this is no YAML"),
        ("[]", "sinks.yaml: "),
        ("sinks: [{name: a, type: carrier-pigeon}]", "sinks.0"),
        ("sinks: [{name: a b, type: stdout}]", "sinks.0.name: must be lower-case letters"),
        ("sinks: [{name: a, type: file}]", "sinks.0.path (sink a): Field required"),
        (
            "sinks: [{name: a, type: stdout, typs: [x]}]",
            'sinks.0.typs (sink a): no such field; did you mean "types"?',
        ),
        (
            "sinks: [{name: a, type: stdout, types: [job.exploded]}]",
            '"job.exploded" is no type of public event',
        ),
        ("sinks: [{name: a, type: stdout, labelSelector: 'a in'}]", "sinks.0.labelSelector (sink a): "),
        ("sinks: [{name: a, type: stdout}, {name: a, type: stdout}]", "two sinks have the name a"),
        (f"sinks: [{{name: a, {HOOK}, giveUpAfter: soon}}]", "sinks.0.giveUpAfter (sink a): "),
        (f"sinks: [{{name: a, {HOOK}, concurrency: 0}}]", "sinks.0.concurrency (sink a): "),
    ],
)
def test_a_wrong_file_is_one_sentence_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "sinks.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        sinks_in(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        sinks_in(tmp_path / "sinks.yaml")
