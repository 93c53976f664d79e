"""Counting what a module checks."""

from tests.gate.count import assertions

SOURCE = """
def test_it(value):
    assert value
    with pytest.raises(ValueError), pytest.warns(UserWarning):
        value()
    check_end(value)
    self.assert_whole(value)
    reassert(value)
"""


def test_assertions_are_statements_and_calls_that_check() -> None:
    assert assertions(SOURCE) == 5
