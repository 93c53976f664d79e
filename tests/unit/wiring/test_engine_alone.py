"""An engine in a process of its own: it needs no API server, and has no cluster that it could ask by mistake."""

import inspect
from pathlib import Path

import pytest

from jobledger.settings.model import Settings
from jobledger.settings.sections import ControllerSettings
from jobledger.wiring.cluster import ProcessPlan, opened
from k8s_bridge.nowhere import NoCluster
from k8s_bridge.port import Cluster
from statemachine.errors import InvariantBroken

METHODS = [name for name, _ in inspect.getmembers(Cluster, inspect.isfunction) if not name.startswith("_")]


def plan(folder: Path, roles: str) -> ProcessPlan:
    said = ControllerSettings(roles=roles, kubeconfig=str(folder / "nothing"))
    return ProcessPlan.of(Settings(store=folder / "ledger.db", controller=said), in_pod=False)


async def test_an_engine_by_itself_has_no_cluster(tmp_path: Path) -> None:
    async with opened(plan(tmp_path, "engine")) as (controller, api):
        assert api is None
        assert isinstance(controller.cluster, NoCluster)


@pytest.mark.parametrize("method", METHODS)
def test_whatever_asks_a_process_without_a_cluster_gets_an_error(method: str) -> None:
    with pytest.raises(InvariantBroken, match="a process without a cluster was asked to"):
        getattr(NoCluster(), method)("default", "j-1")
