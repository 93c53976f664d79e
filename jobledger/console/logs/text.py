"""Bytes that a program wrote → lines that can be shown. Pure.

Programs write for terminals: colours, progress bars that go back to the start of their line, sometimes not even
text. What would move a cursor is taken away, what cannot be seen is made visible, and what is no text is named.
"""

import re
from typing import Final

LONGEST: Final = 8000
"""Characters of a line that are shown; the download has all of it."""

_ESCAPES: Final = re.compile(
    r"""
    \x1b\[ [0-?]* [ -/]* [@-~]?            # CSI: colours, movements
  | \x1b[\]PX^_] .*? (?: \x07 | \x1b\\ | $ )  # OSC and other strings: titles, links
  | \x1b [ -/]* [0-~]?                     # anything else that begins so
  | \x9b [0-?]* [ -/]* [@-~]?              # CSI in one character
    """,
    re.VERBOSE | re.DOTALL,
)
_BACK: Final = re.compile(r"[^\x08]\x08")
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
"""Controls, and what turns the direction of text around."""

_DIRT: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_DIRTY: Final = 0.3
"""With so large a share of bytes that no text has, a line is none."""


def line(raw: bytes) -> str:
    """One line, without its end, as it is shown."""
    text = raw.decode("utf-8", "replace")
    if len(text) > 8 and len(_DIRT.findall(text[:LONGEST])) > _DIRTY * min(len(text), LONGEST):
        return f"⟨{len(raw)} bytes that are no text⟩"
    text = _ESCAPES.sub("", text)
    text = text.rstrip("\r").rpartition("\r")[2]  # a progress bar shows its last state
    if "\b" in text:
        text = _erased(text)
    text = _UNSEEN.sub(_symbol, text)
    if len(text) > LONGEST:
        return f"{text[:LONGEST]}… ⟨{len(text) - LONGEST} more characters⟩"
    return text


def lines(raw: bytes) -> list[str]:
    """All lines of `raw`; what stands behind the last line end is one, too."""
    if not raw:
        return []
    parts = raw.split(b"\n")
    if not parts[-1]:
        parts.pop()
    return [line(part) for part in parts]


def _erased(text: str) -> str:
    for _ in range(64):  # spinners go back a few characters, nobody more
        shorter = _BACK.sub("", text)
        if shorter == text:
            break
        text = shorter
    return text.replace("\b", "")


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the picture of the control
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
