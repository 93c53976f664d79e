"""Kubernetes quantities."""

from decimal import Decimal

import pytest

from statemachine.schema.quantities import quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        (2, 2),
        (0.5, "0.5"),
        ("500m", "0.5"),
        ("1500u", "0.0015"),
        ("1n", "0.000000001"),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Gi", 1610612736),
        ("2E", 2 * 10**18),
        ("2E3", 2000),
        ("2e-3", "0.002"),
        ("1Ei", 2**60),
        (".5", "0.5"),
        ("5.", 5),
        ("-1", -1),
    ],
)
def test_a_quantity_is_exact(text: object, value: object) -> None:
    assert quantity(text) == Decimal(str(value))


@pytest.mark.parametrize(
    "bad", ["", "Gi", "1Gb", "1 Gi", "1KI", "1,5", "e3", "1e", None, True, [], "1" * 500, "\u0661"]
)
def test_other_things_are_no_quantities(bad: object) -> None:
    assert quantity(bad) is None
