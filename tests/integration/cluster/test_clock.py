"""The API server says with every answer what time it is."""

from datetime import datetime, timedelta

import pytest

from k8s_bridge.apiserver.access import ApiServerChoice
from k8s_bridge.apiserver.api import Api
from statemachine.engine.clock import WallClock
from statemachine.engine.skew import ClockCheck
from tests.harness import Cluster

pytestmark = pytest.mark.integration


class Ahead(WallClock):
    """A clock that is an hour ahead."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=1)


async def test_every_answer_of_the_api_server_tells_how_far_our_clock_is_off(control_plane: Cluster) -> None:
    async with await Api.connect(ApiServerChoice(control_plane.kubeconfig)) as api:
        right = api.check = ClockCheck(WallClock())
        await api.call("GET", "/version")
        assert (right.is_known, right.trouble) == (True, "")
        wrong = api.check = ClockCheck(Ahead())
        await api.call("GET", "/version")
        assert "s ahead" in wrong.trouble
