"""The program as a whole: its verbs, what a wrong command line costs, and what it may not import."""

import subprocess
import sys
from pathlib import Path

import pytest

from jobledger.plugin import VERBS, run_command
from tests.unit.plugin.words import JOBS, discovery, job, kubeconfig, listed, server, status

HEAVY = (
    *("asyncio", "aiohttp", "httpx", "fastapi", "uvicorn", "kubernetes", "transitions"),
    *("statemachine.kinds", "statemachine.log", "projectors", "jobledger.manifests", "jobledger.settings"),
)


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--help"]) == 0
    said = capsys.readouterr().out
    assert "kubectl jobledger" in said
    assert [verb for verb in VERBS if f" {verb} " not in said] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([verb, "--help"]) == 0
    assert "--kubeconfig" in capsys.readouterr().out


def test_every_page_of_the_documentation_is_about_verbs_that_there_are() -> None:
    page = (Path(__file__).parents[3] / "docs" / "kubectl.md").read_text()
    for verb in VERBS:
        assert f"`kubectl jobledger {verb}" in page


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ["gte"],
            ["get", "--no-such"],
            ["get", "--phase", "runing"],
            ["pause"],
            ["why", "x", "--via", "pigeon"],
        ),
        *(["get", "-l", "team in (a"], ["get", "train", "-l", "team=a"]),
    ],
)
def test_a_command_line_that_is_wrong_is_exit_code_2(arguments: list[str]) -> None:
    assert run_command(arguments) == 2


def test_a_listing_and_its_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forbidden = JOBS.replace("/team/", "/other/")
    answers = {**discovery("PyTorchTrainingJob"), JOBS: listed(job()), forbidden: status(403, "you may not")}
    with server(answers) as fake:
        clusters = [{"name": "here", "cluster": {"server": fake.url}}]
        config = ["--kubeconfig", str(kubeconfig(tmp_path / "config", clusters=clusters))]
        assert run_command(["get", *config]) == 0
        assert capsys.readouterr().out.splitlines()[1].split()[:3] == [
            "train",
            "PyTorchTrainingJob",
            "Running",
        ]
        assert run_command(["get", "-n", "other", *config]) == 1
        assert capsys.readouterr().err == "jobledger: you may not\n"
        assert run_command(["pause", "trian", *config]) == 2
        assert 'did you mean "train"?' in capsys.readouterr().err
    assert run_command(["get", *config]) == 3
    assert run_command(["get", "--kubeconfig", "/nowhere"]) == 2


def test_a_listing_imports_nothing_big() -> None:
    """Kubectl answers in a tenth of a second; each of these costs about as much again, or more."""
    code = (
        "import sys\n"
        "import jobledger.plugin.verbs, jobledger.plugin.cluster, jobledger.plugin.asking, jobledger.cli.server.get\n"
        "import jobledger.program.exit_codes, jobledger.cli.server.changes, k8s_bridge.selectors\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in HEAVY if name in done.stdout.split()] == []
