"""Exit codes in words."""

from typing import Final

from projectors.phrases import Phrase, phrase

_SIGNALS: Final = {1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL"}
_SIGNALS_TOO: Final = {10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU"}
_NAMED: Final = {128 + number: f"SIG{name}" for number, name in {**_SIGNALS, **_SIGNALS_TOO}.items()}


def exit_code(code: int) -> Phrase:
    """`exit code 139 (SIGSEGV)`: the signal is arithmetic, not a guess at who sent it."""
    if code in _NAMED:
        return phrase("exit code {code} ({signal})", code=code, signal=_NAMED[code])
    return phrase("exit code {code}", code=code)
