"""The replica tab: which columns it shows, and what a row leads to."""

import re

import pytest

from jobledger.console.details.replicas import ALL_COLUMNS, COLUMNS, columns
from jobledger.console.words import WORDS
from tests.unit.console.test_details_overview import happens, pods
from tests.unit.console.test_details_pages import PATH, one_job, text


def test_the_usual_columns_are_shown_until_others_are_chosen() -> None:
    assert columns("") == COLUMNS
    assert columns("uid,attempt,nonsense") == [
        "name",
        "attempt",
        "uid",
    ]  # the name leads on, and always stays
    assert columns("nonsense") == COLUMNS


def test_every_column_has_a_name() -> None:
    assert {f"replicas.column.{column}" for column in ALL_COLUMNS} <= set(WORDS)


async def test_the_chosen_columns_are_shown_and_kept() -> None:
    async with one_job() as (_, client):
        usual = await text(client, f"{PATH}/replicas")
        assert 'data-label="Node"' in usual
        assert 'data-label="UID"' not in usual
        answer = await client.get(f"{PATH}/replicas?columns=name,uid", headers={"HX-Request": "true"})
        assert "samesite=strict" in answer.headers["set-cookie"].lower()
        for page in (answer.text, await text(client, f"{PATH}/replicas")):
            assert 'data-label="UID"' in page
            assert 'data-label="Node"' not in page
            assert re.search(r'value="uid" checked', page)


@pytest.mark.parametrize("name", ALL_COLUMNS)
async def test_every_column_is_shown_for_every_replica(name: str) -> None:
    async with one_job() as (_, client):
        page = await text(client, f"{PATH}/replicas?columns={name}")
        label = WORDS[f"replicas.column.{name}"][0]
        assert page.count(f'data-label="{label}"') == 2


async def test_a_rows_menu_leads_to_yaml_conditions_and_events_of_the_pod() -> None:
    async with one_job() as (app, client):
        page = await text(client, f"{PATH}/replicas")
        for pod in await pods(app):
            await happens(app, pod, "BackOff")
        for part in ("pod-yaml", "pod-conditions", "pod-events"):
            link = re.search(rf'href="([^"]*/replicas/worker-1)#{part}"', page)
            assert link
            one = await text(client, link[1])
            assert f'id="{part}"' in one
            assert "BackOff" in one
            assert "said of" in one


async def test_the_events_of_a_replica_are_its_own() -> None:
    async with one_job() as (app, client):
        first, second = await pods(app)
        await happens(app, first, "OfTheFirst")
        await happens(app, second, "OfTheSecond")
        page = await text(client, f"{PATH}/replicas/{first['metadata']['name']}")
        assert "OfTheFirst" in page
        assert "OfTheSecond" not in page
