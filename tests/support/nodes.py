"""A cluster in memory whose nodes can be lost: what their kubelets would do is done when they are back."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from k8s_bridge.port import Manifest, Ref
from statemachine.errors import Missing
from tests.support.memory_cluster import MemoryCluster
from tests.support.sim_pods import SimStep


class NodesCluster(MemoryCluster):
    """A `MemoryCluster` with nodes that nobody hears of for a while."""

    def __init__(self, **kept: Any) -> None:
        super().__init__(**kept)
        self._lost: dict[str, list[Callable[[], None]]] = {}

    def nodes(self) -> list[str]:
        """The nodes that have pods, by name."""
        return sorted({str(pod["spec"]["nodeName"]) for pod in self.objects.peek_all("Pod")})

    def pods_on(self, node: str) -> list[Manifest]:
        """The pods of a node, uncopied."""
        return [pod for pod in self.objects.peek_all("Pod") if pod["spec"].get("nodeName") == node]

    def is_lost(self, node: str) -> bool:
        """Nobody hears of the node."""
        return node in self._lost

    def lose(self, node: str) -> None:
        """Nothing of what happens on the node is seen, and nothing that is asked of it is done."""
        self._lost.setdefault(node, [])

    def unreachable(self, node: str) -> None:
        """The control plane notices: its pods are not Ready, and are to be deleted."""
        for pod in self.pods_on(node):
            if pod["status"]["phase"] == "Running":
                not_ready = [{"type": "Ready", "status": "False"}]
                self.objects.set_status(
                    Ref.of(pod), pod["metadata"]["uid"], {**pod["status"], "conditions": not_ready}
                )
            try:
                self.objects.delete(Ref.of(pod))
            except Missing:
                continue

    def bring_back(self, node: str) -> None:
        """The node is heard of again, and does all that it was asked for."""
        for callback in self._lost.pop(node, []):
            callback()

    def collect(self, node: str) -> None:
        """The node will never come back: its pods are Failed, and nothing of them runs (pod garbage collection)."""
        self._lost.pop(node, None)
        for pod in self.pods_on(node):
            ref, uid = Ref.of(pod), pod["metadata"]["uid"]
            if pod["status"]["phase"] not in ("Succeeded", "Failed"):
                self.evict(ref.namespace, ref.name, "NodeLost")
            self.objects.delete(ref, grace=0)
            self.objects.terminated(ref, uid)

    def _move(self, ref: Ref, uid: str, steps: Sequence[SimStep]) -> None:
        self._on_node(ref, partial(super()._move, ref, uid, steps))

    def _stopped(self, ref: Ref, uid: str) -> None:
        self._on_node(ref, partial(super()._stopped, ref, uid))

    def _on_node(self, ref: Ref, act: Callable[[], None]) -> None:
        """Done by the pod's kubelet: now, or when somebody hears of it again."""
        pod = self.objects.peek(ref)
        waiting = self._lost.get(pod["spec"].get("nodeName", "")) if pod is not None else None
        if waiting is None:
            act()
        else:
            waiting.append(act)
