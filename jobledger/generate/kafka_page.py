"""`docs/kafka.md`: the topics with their settings, the settings of ours, and the rights of each role."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from jobledger.generate.kind_pages import NOTE, table
from jobledger.settings.loading import explained, paths, variable
from statemachine.log.kafka.layout import DEFAULT_COPIES, TOPICS, Setting, Topic
from statemachine.log.kafka.rights import Right, rights

INTRO: Final = "docs/_kafka.intro.md"


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
    yield from table(["topic", "holds"], [[f"`jobledger.{each.name}`", each.holds] for each in TOPICS])
    yield ""
    yield "What each is made with. *must*: a controller does not start on a topic that has it otherwise, and"
    yield "`jobledger topics apply` sets it right. *may*: set once, when the topic is made, and yours from then on."
    yield ""
    yield from table(["topic", "setting", "value", "", "why"], _topic_rows())
    yield ""


def _topic_rows() -> Iterator[list[str]]:
    own = {id(each) for topic in TOPICS for each in topic.own}
    for topic in TOPICS:
        yield from (_row(f"`{topic.name}`", each) for each in topic.own)
    yield from (_row("all", each) for each in _first().settings(DEFAULT_COPIES) if id(each) not in own)


def _first() -> Topic:
    return TOPICS[0]


def _row(topic: str, each: Setting) -> list[str]:
    demand = "must" if each.must else f"must be {each.demand}" if each.demand else "may"
    return [topic, f"`{each.name}`", f"`{each.value}`", demand, each.reason]


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
    yield ""
    rows = [
        [f"`{who}`" if " " in who else who, *_right(each)] for who, held in rights().items() for each in held
    ]
    yield from table(["who", "on", "name", "operations"], rows)
    yield ""


def _right(each: Right) -> list[str]:
    operations = ", ".join("".join(word.title() for word in op.name.split("_")) for op in each.operations)
    name = f"`{each.name}…`" if each.is_beginning else f"`{each.name}`"
    return [each.resource.name.lower().replace("_", " "), name, operations]
