"""Who is behind a change, in words: a person whom the API server knew, one that nobody checked, or a program."""

from projectors.phrases import Said, phrase
from statemachine.observations import ActorSource


def by_whom(who: str, source: ActorSource = ActorSource.RECORDED) -> Said:
    """` by alice`, and how that is known; nothing for nobody."""
    if not who:
        return ""
    match source:
        case ActorSource.VERIFIED:
            return phrase(" by {actor} (verified)", actor=who)
        case ActorSource.STATED:
            return phrase(" by {actor} (not verified)", actor=who)
        case ActorSource.MANAGER:
            return phrase(" (field manager {actor})", actor=who)
        case ActorSource.RECORDED:
            return phrase(" by {actor}", actor=who)


def known_as(who: str, source: ActorSource) -> Said:
    """The same without a preposition, for tables."""
    match source if who else ActorSource.RECORDED:
        case ActorSource.VERIFIED:
            return phrase("{actor} (verified)", actor=who)
        case ActorSource.STATED:
            return phrase("{actor} (not verified)", actor=who)
        case ActorSource.MANAGER:
            return phrase("field manager {actor}", actor=who)
        case ActorSource.RECORDED:
            return who
