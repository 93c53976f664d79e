"""Every verb as a process: with the packages of all extras, and on an installation that has none of them."""

import os
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from jobledger.cli import GROUPS
from tests.harness.program import run

EXTRAS: Final = ("aiohttp", "aiokafka", "faust", "asyncpg", "alembic", "sqlalchemy", "greenlet")
"""The packages of the extras, by the names that are imported; FastAPI needs a part of OpenTelemetry itself."""

HIDING: Final = f"""\
from importlib.machinery import PathFinder

find = PathFinder.find_spec


def without_extras(name, path=None, target=None):
    return None if name.split(".")[0] in {EXTRAS!r} else find(name, path, target)


PathFinder.find_spec = without_extras
"""
"""A module that every interpreter imports at its start."""

KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: x}}]
"""
"""A cluster that does not answer."""

NO_KUBERNETES: Final = "install `jobledger[kubernetes]`"
NO_KAFKA: Final = "install `jobledger[kafka]`"

VERBS: Final[dict[str, tuple[str, int, str]]] = {
    "run": ("run none.yaml", 2, ""),
    "serve": ("serve --bind nowhere", 2, ""),
    "controller": ("controller --kubeconfig none.config", 2, NO_KUBERNETES),
    "evidence": ("evidence --kubeconfig cluster.config", 3, NO_KUBERNETES),
    "submit": ("submit none.yaml", 2, ""),
    "get": ("get", 3, ""),
    "describe": ("describe mnist", 3, ""),
    "logs": ("logs mnist", 3, ""),
    "wait": ("wait mnist --for phase=Succeeded", 3, ""),
    "pause": ("pause mnist", 3, ""),
    "resume": ("resume mnist", 3, ""),
    "scale": ("scale mnist --replicas 2", 3, ""),
    "delete": ("delete mnist", 3, ""),
    "history": ("history mnist", 3, ""),
    "why": ("why mnist", 3, ""),
    "replay": ("replay mnist", 3, ""),
    "log": ("log copy sqlite:///none.db kafka://127.0.0.1:1/jobledger", 3, NO_KAFKA),
    "topics": ("topics check --log kafka://127.0.0.1:1/jobledger", 3, NO_KAFKA),
    "dead-letters": ("dead-letters list", 3, ""),
    "events": ("events tail", 3, ""),
    "validate": ("validate none.yaml", 2, ""),
    "render": ("render none.yaml", 2, ""),
    "crds": ("crds", 0, ""),
    "config": ("config", 0, ""),
}
"""A command line of each verb, its exit code, and what it says where its extra is missing."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "cluster.config").write_text(KUBECONFIG)
    return tmp_path


def asked(verb: str, place: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "JOBLEDGER_STORE": str(place / "store.db"), **options.pop("env", {})}
    return run(*VERBS[verb][0].split(), cwd=place, env=environment, **options)


def test_every_verb_is_tried() -> None:
    assert list(VERBS) == [verb for verbs in GROUPS.values() for verb in verbs]


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_ends_with_its_code_and_a_sentence(verb: str, place: Path) -> None:
    done = asked(verb, place)
    assert (done.returncode, "Traceback" in done.stderr) == (VERBS[verb][1], False), done.stderr
    assert done.stdout or done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_without_the_extras_works_or_says_what_to_install(verb: str, place: Path) -> None:
    (place / "hiding").mkdir()
    (place / "hiding" / "sitecustomize.py").write_text(HIDING)
    done = asked(verb, place, env={"PYTHONPATH": str(place / "hiding")}, real=True)
    _, code, says = VERBS[verb]
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if says else code), done.stderr
    assert says in done.stderr
    assert not says or len(done.stderr.strip().splitlines()) == 1
