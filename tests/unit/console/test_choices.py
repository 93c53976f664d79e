"""What the form offers: names of volume claims and queues that the user may list, and never more than that."""

import html
import re
from pathlib import Path
from typing import Any

import pytest

from jobledger.console.frame import ConsoleOptions
from jobledger.generate.rbac import GRANTS, Scope
from jobledger.wiring.roles import Role
from k8s_bridge.port import Ref
from statemachine.errors import ClusterUnavailable
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.test_cluster_guard import BASE, Rules
from tests.unit.console.test_details_rights import alice
from tests.unit.console.words import KIND, Browser, console

NEW = f"/jobs/new/{KIND}"
CLAIM = "spec.replicaSpecs[0].template~volumes[0].claim"
QUEUE = "spec.scheduler.t9kScheduler.queue"
GROW = "grow:spec.replicaSpecs[0].template~volumes"


def claim(name: str, namespace: str = "default") -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}


def queue(name: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "Queue", "metadata": meta}


def choices(page: str, name: str) -> list[str]:
    """What a list of choices holds."""
    match = re.search(rf'<datalist id="offers-{name}">(.*?)</datalist>', page)
    return [html.unescape(text) for text in re.findall(r'value="([^"]*)"', match[1])] if match else []


def listed(page: str, path: str) -> str:
    """The choices that an input names."""
    match = re.search(rf'<input [^>]*name="{re.escape(path)}"[^>]*>', page)
    assert match, path
    named = re.search(r' list="([^"]*)"', match[0])
    return named[1] if named else ""


async def with_a_volume(browser: Browser, namespace: str = "default") -> str:
    """The form with an item for a volume."""
    await browser.get(NEW)
    fields = {"base": "{}", "do": GROW, "metadata.namespace": namespace, "spec.replicaSpecs#": "1"}
    fields |= {"spec.replicaSpecs[0].template.spec.containers[0].image": "x", f"{GROW[5:]}#": "0"}
    answer = await browser.post(NEW, fields)
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_claims_and_queues_of_the_namespace_are_offered(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        for manifest in (claim("tutorial"), claim("data"), claim("others", "elsewhere"), queue("gold")):
            await browser.app.cluster.create(manifest)
        page = await with_a_volume(browser)
        assert choices(page, "claims") == ["data", "tutorial"]
        assert listed(page, CLAIM) == "offers-claims"
        assert choices(page, "queues") == ["gold"]
        assert listed(page, QUEUE) == "offers-queues"
        assert choices(await with_a_volume(browser, "elsewhere"), "claims") == ["others"]


async def test_where_there_are_none_the_inputs_are_plain(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        page = await with_a_volume(browser)
        assert "<datalist" not in page
        assert (listed(page, CLAIM), listed(page, QUEUE)) == ("", "")


async def test_a_console_of_one_namespace_offers_what_is_there_alone(tmp_path: Path) -> None:
    async with console(tmp_path, ConsoleOptions("team", "team")) as browser:
        await browser.app.cluster.create(claim("ours", "team"))
        await browser.app.cluster.create(claim("theirs"))
        assert choices(await with_a_volume(browser, "default"), "claims") == ["ours"]


async def test_without_the_t9k_scheduler_no_queue_is_offered(tmp_path: Path) -> None:
    async with console(tmp_path, ConsoleOptions(t9k_scheduler=False)) as browser:
        await browser.app.cluster.create(queue("gold"))
        assert choices(await with_a_volume(browser), "queues") == []


async def test_a_cluster_that_does_not_answer_leaves_the_form_as_it_is(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        await browser.app.cluster.create(claim("tutorial"))

        async def refuse(verb: str, ref: Ref) -> None:
            raise ClusterUnavailable("not now")

        assert isinstance(browser.app.cluster, MemoryCluster)
        browser.app.cluster._before = refuse  # type: ignore[method-assign]
        assert (await browser.get(NEW)).status_code == 200
        del browser.app.cluster._before


def config_map(name: str, **data: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


ENV = "spec.replicaSpecs[0].template.spec.containers[0].env"


async def with_a_variable(browser: Browser) -> str:
    """The form with an item for an environment variable."""
    await browser.get(NEW)
    fields = {"base": "{}", "do": f"grow:{ENV}", "metadata.namespace": "default", "spec.replicaSpecs#": "1"}
    fields |= {"spec.replicaSpecs[0].template.spec.containers[0].image": "x", f"{ENV}#": "0"}
    answer = await browser.post(NEW, fields)
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_config_maps_and_their_keys_are_offered_for_variables_but_never_a_value(tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sealed", "namespace": "default"}}
    async with console(tmp_path) as browser:
        for manifest in (config_map("train", epochs="5-of-them", rate="0.1"), config_map("bare")):
            await browser.app.cluster.create(manifest)
        await browser.app.cluster.create({**secret, "stringData": {"password": "hunter2"}})
        page = await with_a_variable(browser)
        assert choices(page, "config-maps") == ["bare", "train"]
        assert choices(page, "keys-train") == ["epochs", "rate"]
        assert choices(page, "keys-bare") == []
        for never in ("5-of-them", "sealed", "password", "hunter2"):
            assert never not in page
        assert choices((await browser.get(NEW)).text, "config-maps") == [], "no form without variables asks"


def may_list(*plurals: str) -> Rules:
    return lambda asked: asked["verb"] == "list" and asked["resource"] in plurals


@pytest.mark.parametrize("plurals", [(), ("persistentvolumeclaims",), ("queues",)])
async def test_everybody_is_offered_what_they_may_list(plurals: tuple[str, ...]) -> None:
    async with alice(may_list(*plurals)) as client:
        assert str(client.base_url) == BASE
        app = client._transport.app.state.jobledger  # type: ignore[attr-defined]
        for manifest in (claim("tutorial"), queue("gold")):
            await app.cluster.create(manifest)
        page = (await client.get(NEW)).text
        assert choices(page, "claims") == (["tutorial"] if "persistentvolumeclaims" in plurals else [])
        assert choices(page, "queues") == (["gold"] if "queues" in plurals else [])


async def test_config_maps_are_for_those_who_may_list_them() -> None:
    for plurals, expected in ((("configmaps",), ["train"]), ((), [])):
        async with alice(may_list(*plurals)) as client:
            app = client._transport.app.state.jobledger  # type: ignore[attr-defined]
            await app.cluster.create(config_map("train", rate="1"))
            page = await with_a_variable(Browser(client, app))
            assert choices(page, "config-maps") == expected


def test_the_front_has_the_rights_to_read_them() -> None:
    granted = {(grant.group, *grant.resources, *grant.verbs) for grant in GRANTS[Role.FRONT][Scope.JOBS]}
    assert ("", "persistentvolumeclaims", "list") in granted
    assert ("scheduler.tensorstack.dev", "queues", "list") in granted
    assert ("", "configmaps", "list") in granted
    assert not any("secrets" in texts for texts in granted)
