"""Sentences in every supported language: one decision about the content, with the words chosen last.

A phrase is its English with `{names}` for the values; `chinese` has a translation of each. As a string a phrase is
English. Text from a cluster or a user is not translated.
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
        """The phrase in `language`; in English if it has no translation."""
        if language == "en":
            return self.template.format_map(self.values)  # nested phrases are English as strings, too
        template = CHINESE.get(self.template, self.template)
        return template.format_map(
            {
                name: str(value) if isinstance(value, int) else in_words(value, language)
                for name, value in self.values.items()
            }
        )


@dataclass(frozen=True, slots=True)
class Several:
    """Names, remarks, clauses or sentences in a row, without the empty ones."""

    parts: tuple["Said", ...]
    between: Between = "sentences"

    def __str__(self) -> str:
        return self.text()

    def text(self, language: Language = "en") -> str:
        """All parts in `language`."""
        text, between = "", _BETWEEN[language][self.between]
        for words in filter(None, (in_words(part, language) for part in self.parts)):
            # Chinese has no space between sentences, but English text of a cluster needs one behind it
            narrow = text and not between and not text.endswith(_WIDE_STOPS)
            text += (f" {words}" if narrow else between + words) if text else words
        return text


@dataclass(frozen=True, slots=True)
class Sentence:
    """`said` with a full stop, which messages of API servers often lack."""

    said: "Said"

    def __str__(self) -> str:
        return self.text()

    def text(self, language: Language = "en") -> str:
        """The sentence in `language`."""
        text = in_words(self.said, language)
        return text if text.endswith(_STOPS) else text + _STOP[language]


Said: TypeAlias = str | Phrase | Several | Sentence


def phrase(template: str, **values: "Said | int") -> Phrase:
    """The phrase with these values. Calls have the template as a literal, so that a test finds all of them."""
    return Phrase(template, values)


def sentences(*parts: Said) -> Said:
    """The parts as sentences in a row, without the empty ones."""
    spoken = tuple(part for part in parts if part != "")
    return spoken[0] if len(spoken) == 1 else Several(spoken)


def in_words(said: Said, language: Language = "en") -> str:
    """The text of a phrase, or of what phrases make up, in `language`."""
    return said if isinstance(said, str) else said.text(language)
