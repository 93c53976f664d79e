"""Generated files that are checked in are what they should be, and `--check` says so if not."""

import shutil
from pathlib import Path

import pytest

from jobledger.generate import files as generate
from jobledger.generate import opt_in_kinds as switching


def test_checked_in_files_are_fresh() -> None:
    assert generate.stale() == []


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that holds nothing but what others are made from by hand, and then the generated files."""
    by_hand = [
        *(generate.ROOT / "docs").rglob("_*.md"),
        generate.ROOT / "deploy" / "monitoring" / "alerts.yaml",
        *(generate.ROOT / name for name in (switching.VALUES, switching.SCHEMA)),
        *(generate.ROOT / "projectors" / "contract" / "released").rglob("*.json*"),
    ]
    for path in by_hand:
        copy = tmp_path / path.relative_to(generate.ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    generate.write(tmp_path)
    return tmp_path


def test_written_files_are_fresh(checkout: Path) -> None:
    assert generate.stale(checkout) == []


def test_changed_missing_and_left_over_files_are_named(checkout: Path) -> None:
    (checkout / "docs" / "phases.md").write_text("old", encoding="utf-8")
    crd = next((checkout / "crds").glob("*.yaml"))
    crd.rename(crd.with_name("other.yaml"))
    assert sorted(generate.stale(checkout)) == sorted([
        f"crds/{crd.name}",
        "docs/phases.md",
        "crds/other.yaml",
    ])  # fmt: skip


def test_check_fails_and_names_what_is_stale(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "docs" / "phases.md").unlink()
    monkeypatch.setattr(generate, "stale", lambda: ["docs/phases.md"])
    assert generate.main(["--check"]) == 1
    assert "docs/phases.md is stale" in capsys.readouterr().err
    monkeypatch.setattr(generate, "stale", list)
    assert generate.main(["--check"]) == 0
