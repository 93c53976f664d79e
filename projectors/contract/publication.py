"""What is configured of public events: whose ledger it is, and what of a job may leave."""

import hashlib
import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple

from projectors.contract.gpus import USUAL, Resources
from statemachine.log.entry import Entry
from statemachine.observations import ActorSource

Actors = Literal["plain", "hash", "none"]

_DIGITS: Final = 12
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


class Publication(NamedTuple):
    """`ledger`: its name. `labels`: patterns of the keys that are published. `gpus`: what counts as a GPU.

    `classification`: how confidential the events are; empty: that is not said.
    """

    ledger: str
    labels: tuple[str, ...] = ("*",)
    actors: Actors = "plain"
    gpus: Resources = USUAL
    classification: str = ""

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that differ where something else is published."""
        gpus = [(pattern, str(share)) for pattern, share in self.gpus]
        classified = [self.classification] if self.classification else []
        text = json.dumps([self.ledger, self.labels, self.actors, gpus, *classified])
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]

    def published(self, labels: Mapping[str, str]) -> dict[str, str]:
        """The labels that may leave."""
        if "*" in self.labels:
            return dict(labels)
        return {
            key: value
            for key, value in labels.items()
            if any(fnmatchcase(key, pattern) for pattern in self.labels)
        }

    def author(self, entry: Entry) -> dict[str, str]:
        """The attributes that say who is behind the entry. Source: CloudEvents, extension Auth Context."""
        if not entry.actor:
            return {"authtype": "system"}
        if entry.actor.startswith(_SERVICE_ACCOUNT):
            kind = "service_account"
        else:
            kind = "user" if entry.actor_source is ActorSource.VERIFIED else "unknown"
        if self.actors == "none":
            return {"authtype": kind}
        hashed = self.actors == "hash"
        name = hashlib.sha256(entry.actor.encode()).hexdigest() if hashed else entry.actor
        return {"authtype": kind, "authid": name}
