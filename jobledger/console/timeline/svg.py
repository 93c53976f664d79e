"""SVG as text: elements with escaped attributes, and nothing that a content security policy could refuse."""

from collections.abc import Iterable

from markupsafe import Markup, escape

from jobledger.console.hiding import shown


def element(name: str, *children: str, **attributes: object) -> Markup:
    """`<name …>children</name>`; children that are no Markup are escaped.

    Attributes that are None are left out; `class_` is `class`, other underscores are hyphens.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(shown(number(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{joined(children)}</{name}>")  # noqa: S704 - all parts are escaped


def joined(parts: Iterable[str]) -> Markup:
    """The parts one after the other, escaped where they are no Markup."""
    return Markup("").join(map(shown, parts))


def number(value: object) -> object:
    """Numbers as short as they can be."""
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def percent(value: float) -> str:
    """`12.5%`."""
    return f"{number(float(value))}%"
