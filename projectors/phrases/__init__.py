"""Sentences that can be said in every language of ours: the decision what is said is made once, the words come last.

A phrase is its English with `{names}` for what differs; `chinese` has a translation of each. As a string a phrase is
English. What came from a cluster or a user is text, and stays as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from projectors.phrases.chinese import CHINESE

Language: TypeAlias = Literal["en", "zh"]
Between: TypeAlias = Literal["names", "commas", "clauses", "sentences"]

_BETWEEN: Final[dict[Language, dict[Between, str]]] = {
    "en": {"names": ", ", "commas": ", ", "clauses": "; ", "sentences": " "},
    "zh": {"names": "、", "commas": "，", "clauses": "；", "sentences": ""},
}
_STOP: Final[dict[Language, str]] = {"en": ".", "zh": "。"}
_STOPS: Final = (".", "!", "?", "。", "！", "？")
_WIDE_STOPS: Final = _STOPS[3:]


@dataclass(frozen=True, slots=True)
class Phrase:
    """`template` with the values of its names filled in."""

    template: str
    values: Mapping[str, "Said | int"] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.text()

    def text(self, language: Language = "en") -> str:
        """The phrase in `language`; in English where that has no words for it."""
        if language == "en":
            return self.template.format_map(self.values)  # what is nested is English as a string, too
        template = CHINESE.get(self.template, self.template)
        return template.format_map(
            {
                name: str(value) if isinstance(value, int) else in_words(value, language)
                for name, value in self.values.items()
            }
        )


@dataclass(frozen=True, slots=True)
class Several:
    """Names, remarks, clauses or sentences after another; empty ones are left out."""

    parts: tuple["Said", ...]
    between: Between = "sentences"

    def __str__(self) -> str:
        return self.text()

    def text(self, language: Language = "en") -> str:
        """All of them in `language`."""
        said, between = "", _BETWEEN[language][self.between]
        for part in filter(None, (in_words(each, language) for each in self.parts)):
            narrow = (
                said and not between and not said.endswith(_WIDE_STOPS)
            )  # a cluster's English came before
            said += (f" {part}" if narrow else between + part) if said else part
        return said


@dataclass(frozen=True, slots=True)
class Sentence:
    """`said` with an end, which the messages of API servers often lack."""

    said: "Said"

    def __str__(self) -> str:
        return self.text()

    def text(self, language: Language = "en") -> str:
        """The sentence in `language`."""
        found = in_words(self.said, language)
        return found if found.endswith(_STOPS) else found + _STOP[language]


Said: TypeAlias = str | Phrase | Several | Sentence


def phrase(template: str, **values: "Said | int") -> Phrase:
    """The phrase with these values. The template is written out at the call, so that a test finds all of them."""
    return Phrase(template, values)


def sentences(*parts: Said) -> Said:
    """What is said in several sentences; empty ones are left out."""
    found = tuple(each for each in parts if each != "")
    return found[0] if len(found) == 1 else Several(found)


def in_words(said: Said, language: Language = "en") -> str:
    """What is said, in `language`."""
    return said if isinstance(said, str) else said.text(language)
