"""Kubernetes resource quantities, compared exactly. Source: Kubernetes, apimachinery resource.Quantity."""

import re
from decimal import Context, Decimal
from typing import Final

_NUMBER: Final = re.compile(
    r"(?P<digits>[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<power>[+-]?[0-9]{1,3}))?"
)

_SUFFIXES: Final = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}

_EXACT: Final = Context(prec=200)


def quantity(value: object) -> Decimal | None:
    """The number that `value` stands for (`500m`, `4Gi`, `1e3`, 2); None if it is no quantity."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    match = _NUMBER.fullmatch(str(value).strip(" \t\r\n"))
    if match is None:
        return None
    digits = Decimal(match["digits"])
    if match["power"]:
        return _EXACT.scaleb(digits, int(match["power"]))
    return _EXACT.multiply(digits, _SUFFIXES[match["suffix"]]) if match["suffix"] else digits
