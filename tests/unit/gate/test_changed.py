"""Which files a change touches, in real repositories, and what a test depends on."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.gate.changed import SETTLED, base, changed_files, dependencies

HOURS = 3600


class Repository:
    """A repository whose commits have the times that a test gives them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str, at: int = 0) -> str:
        who = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        times = {f"GIT_{role}_DATE": f"@{1_700_000_000 + at} +0000" for role in ("AUTHOR", "COMMITTER")}
        done = subprocess.run(
            ["git", *words],
            cwd=self.folder,
            env={**os.environ, **who, **times},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, name: str, at: int) -> str:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {at}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", f"--message={name}", at=at)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.delenv("JOBLEDGER_BASE", raising=False)
    return Repository(tmp_path / "repository")


def test_a_change_begins_where_its_branch_left_the_one_it_came_from(
    repository: Repository, tmp_path: Path
) -> None:
    fork = repository.commit("a.py", 0)
    subprocess.run(["git", "clone", "--quiet", str(repository.folder), str(tmp_path / "clone")], check=True)
    repository.folder = tmp_path / "clone"
    repository.commit("b.py", 10)
    assert base(repository.folder) == fork
    (repository.folder / "c.py").write_text("new")
    (repository.folder / "a.py").write_text("other")
    assert changed_files(fork, repository.folder) == {Path("a.py"), Path("b.py"), Path("c.py")}


def test_without_such_a_branch_it_is_the_commits_of_the_last_hours(repository: Repository) -> None:
    repository.commit("a.py", 0)
    settled = repository.commit("b.py", 1 * HOURS)
    repository.commit("c.py", 1 * HOURS + 60)
    repository.commit("d.py", 1 * HOURS + SETTLED)
    assert base(repository.folder) == settled
    assert changed_files(settled, repository.folder) == {Path("c.py"), Path("d.py")}


def test_a_young_repository_is_changed_from_its_first_commit_on(repository: Repository) -> None:
    first = repository.commit("a.py", 0)
    repository.commit("b.py", 60)
    assert base(repository.folder) == first


def test_a_base_that_is_given_counts(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit("a.py", 0)
    monkeypatch.setenv("JOBLEDGER_BASE", "v1")
    assert base(repository.folder) == "v1"


def test_a_test_depends_on_what_it_imports_and_helpers_are_followed(tmp_path: Path) -> None:
    for name, text in {
        "tests/unit/test_a.py": "from tests.support import helper\nimport product.one\n",
        "tests/unit/conftest.py": "",
        "tests/conftest.py": "from tests.support.other import thing\n",
        "tests/support/__init__.py": "",
        "tests/support/helper.py": "from product import two\n",
        "tests/support/other.py": "",
        "tests/support/unrelated.py": "",
        "product/__init__.py": "",
        "product/one.py": "import product.three\n",
        "product/two.py": "",
        "product/three.py": "",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    on = {str(file) for file in dependencies(Path("tests/unit/test_a.py"), tmp_path)}
    assert on == {
        *("tests/unit/test_a.py", "tests/unit/conftest.py", "tests/conftest.py"),
        *("tests/support/__init__.py", "tests/support/helper.py", "tests/support/other.py"),
        *("product/__init__.py", "product/one.py", "product/two.py"),
    }
