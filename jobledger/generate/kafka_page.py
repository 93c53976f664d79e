"""`docs/kafka.md`: the topics with their settings, the settings of ours, and the rights of each role."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from jobledger.generate.kind_pages import NOTE, table
from jobledger.settings.loading import explained, paths, variable
from statemachine.log.kafka.layout import DEFAULT_COPIES, LINEAGE, TOPICS, Setting, Topic
from statemachine.log.kafka.rights import Right, rights

INTRO: Final = "docs/_kafka.intro.md"

_LINEAGE_NAME: Final = "openlineage.events"
"""What the topic of a sink of lineage is called in examples."""


def kafka_page(root: Path) -> str:
    """How to run on Kafka, hand-written in the checkout at `root`, then topics, settings and rights in tables."""
    intro = (root / INTRO).read_text(encoding="utf-8").strip()
    return "\n".join([
        "# Kafka",
        "",
        f"<!-- {NOTE} The introduction is in {Path(INTRO).name}. -->",
        "",
        intro,
        "",
        *_topics(),
        *_settings(),
        *_rights(),
    ])  # fmt: skip


def _topics() -> Iterator[str]:
    yield "## Topics"
    yield ""
    rows = [[f"`jobledger.{topic.name}`", topic.codec, topic.holds] for topic in TOPICS]
    rows.append([f"`{_LINEAGE_NAME}`", LINEAGE.codec, LINEAGE.holds])
    yield from table(["topic", "compressed by", "holds"], rows)
    yield ""
    yield "Senders compress, brokers keep what they are sent: zstd costs the least work for what only we read;"
    yield "where its library is missing, that is sent uncompressed. What others read is gzip: every client knows it."
    yield ""
    yield "What each is made with. *must*: a controller does not start on a topic that has it otherwise, and"
    yield "`jobledger topics apply` sets it right. *may*: set once, when the topic is made, and yours from then on."
    yield f"A topic of lineage (here `{_LINEAGE_NAME}`) that has it otherwise, or is missing, holds up its sink only."
    yield ""
    yield from table(["topic", "setting", "value", "", "why"], _topic_rows())
    yield ""


def _topic_rows() -> Iterator[list[str]]:
    own = {id(setting) for topic in TOPICS for setting in topic.own}
    for topic in TOPICS:
        yield from (_row(f"`{topic.name}`", setting) for setting in topic.own)
    yield from (_row(f"`{_LINEAGE_NAME}`", setting) for setting in LINEAGE.own)
    yield from (
        _row("all", setting) for setting in _first().settings(DEFAULT_COPIES) if id(setting) not in own
    )


def _first() -> Topic:
    return TOPICS[0]


def _row(topic: str, setting: Setting) -> list[str]:
    demand = "must" if setting.must else f"must be {setting.demand}" if setting.demand else "may"
    return [topic, f"`{setting.name}`", f"`{setting.value}`", demand, setting.reason]


def _settings() -> Iterator[str]:
    yield "## Settings"
    yield ""
    rows = [[f"`{variable(path)}`", explained(path)] for path in paths() if path.startswith("kafka.")]
    yield from table(["variable", "meaning"], rows)
    yield ""


def _rights() -> Iterator[str]:
    yield "## Rights"
    yield ""
    yield "What each role asks of brokers that have ACLs: with a user of its own, it can do no more than that."
    yield "Another prefix of the topics stands in the place of `jobledger` everywhere in this table. A controller"
    yield "with several roles needs the rights of all of them."
    yield f"`{_LINEAGE_NAME}` stands for the topic that a [sink of lineage](lineage.md) writes to; without one"
    yield "nobody needs rights on it."
    yield ""
    rows = [
        [f"`{who}`" if who.startswith("jobledger ") else who, *_right(right)]
        for who, held in rights(lineage=_LINEAGE_NAME).items()
        for right in held
    ]
    yield from table(["who", "on", "name", "operations"], rows)
    yield ""


def _right(right: Right) -> list[str]:
    operations = ", ".join("".join(word.title() for word in op.name.split("_")) for op in right.operations)
    name = f"`{right.name}…`" if right.is_beginning else f"`{right.name}`"
    return [right.resource.name.lower().replace("_", " "), name, operations]
