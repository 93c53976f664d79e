"""Resource monitoring over a real Prometheus that scrapes what a kubelet and the DCGM exporter would tell."""

import asyncio
from pathlib import Path

import httpx
import pytest

from jobledger.console.frame import ConsoleOptions
from tests.integration.real_prometheus import Exporter, Labels, Serie, real_prometheus
from tests.unit.api.words import phase
from tests.unit.console.test_monitoring import TRAIN, legend, measuring_job, panel
from tests.unit.console.words import console

pytestmark = pytest.mark.integration


def of(pod: str, **more: str) -> Labels:
    return {"namespace": "default", "pod": pod, "container": "pytorch", "id": "/kubepods/x", **more}


def kubelet(one: str, two: str) -> list[Serie]:
    """What cAdvisor has of two pods: a series of the container, of its pause container, and of the whole pod."""
    cpu, memory = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
    network = {"namespace": "default", "pod": one, "interface": "eth0", "id": "/kubepods/pod"}
    return [
        Serie(cpu, of(one), 0.5),
        Serie(cpu, of(two), 0.75),
        Serie(cpu, of(one, container=""), 0.5),
        Serie(cpu, of(one, container="POD"), 0.01),
        Serie(cpu, of(f"{one}0"), 4.0),
        Serie(cpu, {**of(one), "namespace": "elsewhere"}, 8.0),
        Serie(memory, of(one), 2.0**30),
        Serie(memory, of(two), 2.0**29),
        Serie(memory, of(two, container=""), 2.0**33),
        Serie("container_network_receive_bytes_total", network, 2048.0),
        Serie("container_network_receive_bytes_total", {**network, "interface": "eth1"}, 1024.0),
        Serie("container_network_transmit_bytes_total", network, 512.0),
        Serie("container_fs_reads_bytes_total", of(one, device="/dev/sda"), 4096.0),
        Serie("container_fs_writes_bytes_total", of(two, device="/dev/sda"), 8192.0),
    ]


def devices(one: str, two: str) -> list[Serie]:
    """DCGM's series, scraped with labels of its own, and of its pod where those won."""
    util = "DCGM_FI_DEV_GPU_UTIL"
    exported = {
        "exported_namespace": "default",
        "exported_pod": one,
        "namespace": "gpu-operator",
        "pod": "dcgm-1",
    }
    return [
        Serie(util, {**exported, "gpu": "0", "UUID": "GPU-0"}, 50.0),
        Serie(util, of(two, gpu="1", UUID="GPU-1"), 25.0),
    ]


async def caught_up(url: str, source: Exporter) -> None:
    """Prometheus has a sample of every series that is not older than a few seconds."""
    query = "{job='kubelet',__name__=~'container_.*|DCGM_.*'}[12s]"
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(90):
        while True:
            answer = (await client.get(f"{url}/api/v1/query", params={"query": query})).json()
            assert answer["status"] == "success", answer
            if len(answer["data"]["result"]) == len(source.series):
                return
            await asyncio.sleep(0.2)


async def test_panels_show_what_a_real_prometheus_has_scraped(tmp_path: Path) -> None:
    with real_prometheus(tmp_path) as (url, source):
        async with console(tmp_path, ConsoleOptions(metrics=url)) as browser:
            await browser.submit(measuring_job())
            job = await phase(browser.app, "train", "Running")
            one, two = (replica["name"] for replica in job["status"]["tasks"][0]["replicas"])
            source.serve(*kubelet(one, two), *devices(one, two))
            await caught_up(url, source)
            page = (await browser.get(f"{TRAIN}/monitoring")).text
            assert legend(panel(page, "cpu")) == ["worker 1.25, at most 1.25", "Request 2.00", "Limit 4.00"]
            assert legend(panel(page, "memory"))[0] == "worker 1.50 GiB, at most 1.50 GiB"
            assert legend(panel(page, "nvidia_com_gpu"))[0] == "worker 0.75, at most 0.75"
            assert legend(panel(page, "network")) == [
                "worker · receive 3.00 KiB/s, at most 3.00 KiB/s",
                "worker · send 512 B/s, at most 512 B/s",
            ]
            assert legend(panel(page, "storage")) == [
                "worker · read 4.00 KiB/s, at most 4.00 KiB/s",
                "worker · write 8.00 KiB/s, at most 8.00 KiB/s",
            ]
            by_pod = panel((await browser.get(f"{TRAIN}/monitoring?by=pod")).text, "cpu")
            assert legend(by_pod)[:2] == [f"{one} 0.50, at most 0.50", f"{two} 0.75, at most 0.75"]
            data = (await browser.get(f"/api{TRAIN.replace('/default', '')}/metrics?by=pod")).json()
            assert [panel["error"] for panel in data["panels"]] == [""] * 6
            assert all(at <= data["panels"][0]["end"] for at, _ in data["panels"][0]["lines"][0]["points"])


async def test_what_a_real_prometheus_refuses_is_one_sentence(tmp_path: Path) -> None:
    with real_prometheus(tmp_path) as (url, _):
        async with console(tmp_path, ConsoleOptions(metrics=f"{url}/no-such-place")) as browser:
            await browser.submit(measuring_job())
            await phase(browser.app, "train", "Running")
            page = (await browser.get(f"{TRAIN}/monitoring")).text
            assert "The metrics source answers with status 404." in panel(page, "cpu")
