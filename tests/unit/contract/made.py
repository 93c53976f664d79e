"""Public events of stories."""

import json
from collections.abc import Sequence
from typing import Any

from projectors.contract.catalogue import short_name
from projectors.contract.page import PublicEvent
from projectors.contract.publication import Publication
from projectors.contract.stream import Publisher
from statemachine.log.port import Record
from tests.contract.lives import PUBLICATION
from tests.support.scenario import Story


def of_story(story: Story, publication: Publication = PUBLICATION) -> Sequence[PublicEvent]:
    records = [Record(seq, story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)]
    return tuple(Publisher(publication).all(iter(records)))


def data_of(events: Sequence[PublicEvent], name: str) -> list[dict[str, Any]]:
    return [json.loads(event.data) for event in events if short_name(str(event.attributes["type"])) == name]
