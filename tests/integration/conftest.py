"""What every integration test has: an end of all that it started."""

from collections.abc import Iterator

import pytest

from tests.integration.leftovers import end_pods


@pytest.fixture(autouse=True)
def nothing_runs_on(request: pytest.FixtureRequest) -> Iterator[None]:
    """Local pods in the test's folder end with the test, also when it fails.

    Made before all other fixtures of the test, so that servers have ended by then.
    """
    if "tmp_path" not in request.fixturenames:
        yield
        return
    folder = request.getfixturevalue("tmp_path")
    yield
    end_pods(folder)
