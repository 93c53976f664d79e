"""The actor of a change in words: verified by the API server, stated by a client, or the program that wrote."""

from projectors.phrases import Said, phrase
from statemachine.observations import ActorSource


def by_whom(actor: str, source: ActorSource = ActorSource.RECORDED) -> Said:
    """` by alice`, and how that is known; empty without an actor."""
    if not actor:
        return ""
    match source:
        case ActorSource.VERIFIED:
            return phrase(" by {actor} (verified)", actor=actor)
        case ActorSource.STATED:
            return phrase(" by {actor} (not verified)", actor=actor)
        case ActorSource.MANAGER:
            return phrase(" (field manager {actor})", actor=actor)
        case ActorSource.RECORDED:
            return phrase(" by {actor}", actor=actor)


def known_as(actor: str, source: ActorSource) -> Said:
    """The same without a preposition, for tables."""
    match source if actor else ActorSource.RECORDED:
        case ActorSource.VERIFIED:
            return phrase("{actor} (verified)", actor=actor)
        case ActorSource.STATED:
            return phrase("{actor} (not verified)", actor=actor)
        case ActorSource.MANAGER:
            return phrase("field manager {actor}", actor=actor)
        case ActorSource.RECORDED:
            return actor
