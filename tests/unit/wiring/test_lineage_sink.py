"""A lineage system that the file of sinks names gets every run, and no RunEvent twice where a process ends well."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jobledger.settings.events import EventsSettings
from jobledger.settings.model import Settings
from jobledger.settings.sinks import sinks_in
from jobledger.wiring.ledger import Ledger
from jobledger.wiring.sinks import Sinks, checked, sinks_of
from statemachine.errors import ConfigError
from statemachine.ids import JobUid
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog
from tests.support.lineage_systems import Marquez, lineage_system
from tests.support.scenario import Story, workers


@pytest.fixture
def marquez() -> Iterator[Marquez]:
    with lineage_system() as server:
        yield server


@pytest.fixture
def configured(tmp_path: Path, marquez: Marquez) -> Callable[[str], Settings]:
    """Settings with one sink of this transport; URL is that of the system, KEY a file with its key."""
    (tmp_path / "key").write_text("a-key-1")

    def settings(transport: str, more: str = "") -> Settings:
        path = tmp_path / "sinks.yaml"
        there = transport.replace("URL", marquez.url).replace("KEY", str(tmp_path / "key"))
        path.write_text(f"sinks: [{{name: lineage, type: openlineage, transport: {{{there}}}{more}}}]")
        return Settings(store=tmp_path / "store.db", events=EventsSettings(sinks=path))

    return settings


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SqliteLog]:
    event_log = await SqliteLog.open(tmp_path / "store.db")
    yield event_log
    await event_log.close()


async def append(log: SqliteLog, story: Story, after: int = 0) -> int:
    drafts = [EntryDraft(JobUid(story.uid), seq, body) for seq, body in enumerate(story.bodies, 1)]
    await log.append(drafts[after:])
    return len(drafts)


@asynccontextmanager
async def feeding(settings: Settings, log: SqliteLog) -> AsyncIterator[Sinks]:
    """The sink is fed until the block is left."""
    end = await log.end()
    async with sinks_of(settings, settings.store, Ledger(Partitions([log]))) as sinks:
        assert sinks is not None
        sinks.begin(lambda _: True, lambda _: end)
        tasks = [asyncio.create_task(loop, name=name) for name, loop in sinks.loops()]
        try:
            yield sinks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def has_all(sinks: Sinks) -> None:
    async with asyncio.timeout(60):
        while sinks.lag_entries()["lineage"]:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_a_run_has_one_start_and_one_end_across_restarts(
    configured: Callable[..., Settings], log: SqliteLog, marquez: Marquez
) -> None:
    settings = configured("type: http, url: 'URL', apiKeyFile: 'KEY'")
    story = Story(workers(1, runPolicy={"backoffLimit": 3})).submit().all_pods("Running")
    written = await append(log, story)
    async with feeding(settings, log) as sinks:
        await has_all(sinks)
    assert [event["eventType"] for event in marquez.events] == ["OTHER", "START"]
    story.pod("worker-0", "Failed", exit_code=1).gone("worker-0").all_pods("Running")
    written = await append(log, story, written)
    async with feeding(settings, log) as sinks:
        await has_all(sinks)
    await append(log, story.delete(), written)
    async with feeding(settings, log) as sinks:
        await has_all(sinks)
    assert [event["eventType"] for event in marquez.events] == ["OTHER", "START", "RUNNING", "ABORT"]
    assert marquez.keys == {"Bearer a-key-1"}


async def test_a_sink_gets_the_runs_of_the_namespaces_that_it_wants(
    configured: Callable[..., Settings], log: SqliteLog, marquez: Marquez
) -> None:
    await append(log, Story(workers(1)).submit())
    async with feeding(configured("type: http, url: 'URL'", ", namespaces: ['prod-*']"), log) as sinks:
        await has_all(sinks)
    assert marquez.events == []


@pytest.mark.parametrize(
    ("transport", "more", "words"),
    [
        ("type: http", "", "sinks.0.transport.url (sink lineage): Field required"),
        ("type: pigeon, url: 'URL'", "", "sinks.0.transport (sink lineage): "),
        (
            "type: http, url: 'URL', apiKeyfile: x",
            "",
            'sinks.0.transport.apiKeyfile (sink lineage): no such field; did you mean "apiKeyFile"?',
        ),
        ("type: kafka", "", "sinks.0.transport.topic (sink lineage): Field required"),
        ("type: http, url: 'URL'", ", types: [job.failed]", "sinks.0.types (sink lineage): no such field"),
        ("type: http, url: 'http://marquez.example'", "", "lineage goes to marquez.example without TLS"),
        ("type: http, url: 'URL', apiKeyFile: /no/such", "", "the key file /no/such cannot be read"),
    ],
)
async def test_a_wrong_sink_is_one_sentence_with_its_place(
    configured: Callable[..., Settings], transport: str, more: str, words: str
) -> None:
    settings = configured(transport, more)
    with pytest.raises(ConfigError) as refusal:
        await checked(settings, settings.store)
    assert words in str(refusal.value)


async def test_a_topic_needs_a_log_in_kafka(configured: Callable[..., Settings], log: SqliteLog) -> None:
    settings = configured("type: kafka, topic: lineage")
    with pytest.raises(ConfigError, match="the sink lineage writes to Kafka, and the log is in a file"):
        async with feeding(settings, log):
            pass


def test_addresses_are_hidden(configured: Callable[..., Settings]) -> None:
    settings = configured("type: http, url: 'https://marquez.example/secret-path'")
    assert "secret-path" not in repr(sinks_in(settings.events.sinks))
