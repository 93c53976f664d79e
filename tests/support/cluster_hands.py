"""Somebody who uses a cluster while it burns: asks the API server until it answers."""

import ssl
import time
from typing import Any, Self

import httpx
import yaml

from tests.harness import ControlPlane
from tests.support.cluster_jobs import CHILDREN, SIMULATED
from tests.support.cluster_recorder import JobRecord, PodRecord


class Hands:
    """Somebody who asks the API server again and again until it answers."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        config = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._http = httpx.Client(
            base_url=cluster["server"],
            verify=ssl.create_default_context(cafile=cluster["certificate-authority"]),
            headers={"Authorization": f"Bearer {user['token']}"},
            timeout=30,
            trust_env=False,
        )
        self._ended: set[str] = set()
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._services = f"/api/v1/namespaces/{namespace}/services"
        self._jobs = f"/apis/batch.tensorstack.dev/v1beta1/namespaces/{namespace}/pytorchtrainingjobs"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def create(self, manifest: dict[str, Any]) -> None:
        self._ask("POST", self._jobs, json=manifest)

    def edit(self, job: JobRecord, spec: dict[str, Any]) -> None:
        self._merge(f"{self._jobs}/{job.name}", {"spec": spec})

    def pause(self, job: JobRecord, wish: bool) -> None:
        self.edit(job, {"runMode": {"pause": {"enabled": wish}}})

    def delete_job(self, job: JobRecord) -> None:
        self._ask("DELETE", f"{self._jobs}/{job.name}")

    def delete_pod(self, pod: PodRecord) -> None:
        precondition = {"preconditions": {"uid": pod.uid}}
        self._ask("DELETE", f"{self._pods}/{pod.name}", json=precondition)

    def end(self, pod: PodRecord, code: int) -> None:
        """The container of this very pod ends; once: a simulated node would make it end again, another way."""
        if pod.is_doomed or pod.uid in self._ended:
            return
        self._ended.add(pod.uid)
        life = {f"{SIMULATED}exit-code": str(code), f"{SIMULATED}run-seconds": "0"}
        self._merge(f"{self._pods}/{pod.name}", {"metadata": {"uid": pod.uid, "annotations": life}})

    def left(self) -> list[str]:
        """What is left of jobs, and what holds it."""
        children = {"labelSelector": CHILDREN}
        leftovers: list[str] = []
        for path, query in ((self._jobs, {}), (self._pods, children), (self._services, children)):
            for manifest in self._ask("GET", path, params=query).json()["items"]:
                meta = manifest["metadata"]
                leftovers.append(f"{path}/{meta['name']} held by {meta.get('finalizers')}")
        return leftovers

    def _merge(self, path: str, patch: dict[str, Any]) -> None:
        self._ask("PATCH", path, json=patch, headers={"Content-Type": "application/merge-patch+json"})

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        until = time.monotonic() + 120
        while True:
            try:
                answer = self._http.request(method, path, **more)
                if answer.status_code < 429:  # gone, or another by now: somebody else was quicker
                    assert answer.status_code in (200, 201, 202, 404, 409, 422), answer.text
                    return answer
            except httpx.TransportError:
                pass
            assert time.monotonic() < until, f"no answer to {method} {path}"
            time.sleep(0.2)
