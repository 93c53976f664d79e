"""Every word of the console, in the languages that it speaks.

A text is English and Chinese; the Chinese of the tutorial (spec console.md) is kept where there is one. Names of
fields and values of Kubernetes, and sentences of the rules, are the same in both: they are what manifests hold and
what the API server says.
"""

from typing import Final, Literal

from fastapi import Request

from jobledger.console.vocabulary import ACTIONS, DETAILS, FORM, FRAME, HELP, LISTING

Language = Literal["en", "zh"]

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
COOKIE: Final = "jobledger_language"

WORDS: Final[dict[str, tuple[str, str]]] = FRAME | LISTING | ACTIONS | FORM | DETAILS | HELP


def say(language: Language, key: str, /, **values: object) -> str:
    """The words of `key`; `{name}` in them is replaced by the value of that name."""
    text = WORDS[key][LANGUAGES.index(language)]
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def knows(key: str) -> bool:
    """There are words for `key`."""
    return key in WORDS


def language_of(request: Request) -> Language:
    """What the user chose, else what the browser prefers, else English."""
    chosen = request.cookies.get(COOKIE, "")
    for tag in (chosen, *_preferred(request.headers.get("accept-language", ""))):
        for language in LANGUAGES:
            if tag.lower().partition("-")[0] == language:
                return language
    return "en"


def _preferred(header: str) -> list[str]:
    """The languages of an Accept-Language header, the most wanted first."""
    weighed = []
    for part in header[:500].split(","):
        tag, _, weight = part.strip().partition(";q=")
        try:
            weighed.append((-float(weight or 1), tag))
        except ValueError:
            continue
    return [tag for _, tag in sorted(weighed, key=lambda weight: weight[0])]
