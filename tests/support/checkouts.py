"""A checkout with one kind more: the made-up one of `tests.support.sledgejob`, and its generated files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from jobledger.generate import files as generate

CODE: Final = ("jobledger", "projectors", "k8s_bridge", "statemachine")

FOLDER: Final = generate.ROOT / "tests" / "support" / "sledgejob"
"""A kind that is unlike the others: no primary, another child, a budget and labels of its own, no form."""

_TRIALS: Final = ("shape.py", "example.yaml", "harness.yaml")
"""What is beside the kind's own modules."""


def with_sledgejob(root: Path) -> Path:
    """The checkout: a folder, its line in the registry, a page and an example are all that the kind needs."""
    for folder in (*CODE, "deploy", "docs", "examples", "tests"):
        unwanted = shutil.ignore_patterns("__pycache__", "archives")
        shutil.copytree(generate.ROOT / folder, root / folder, ignore=unwanted)
    shutil.copy(generate.ROOT / "pyproject.toml", root)
    kinds = root / "statemachine" / "kinds"
    (kinds / "sledgejob").mkdir()
    for module in FOLDER.glob("*.py"):
        if module.name not in _TRIALS:
            source = module.read_text(encoding="utf-8").replace("tests.support", "statemachine.kinds")
            (kinds / "sledgejob" / module.name).write_text(source, encoding="utf-8")
    registry = (kinds / "__init__.py").read_text(encoding="utf-8")
    entered = registry.replace("    PYTORCH_JOB,\n)", "    PYTORCH_JOB,\n    SLEDGE_JOB,\n)").replace(
        "\nfrom statemachine.kinds.pytorchtrainingjob",
        "\nfrom statemachine.kinds.sledgejob import KIND as SLEDGE_JOB\nfrom statemachine.kinds.pytorchtrainingjob",
    )
    (kinds / "__init__.py").write_text(entered, encoding="utf-8")
    (root / "docs" / "kinds" / "_sledgejob.intro.md").write_text("A sledge.\n", encoding="utf-8")
    shutil.copy(FOLDER / "example.yaml", root / "examples" / "sledge.yaml")
    assert python(root, "-m", "jobledger.generate").returncode == 0
    return root


def python(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program of a checkout, in an environment of its own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("JOBLEDGER_") and name != "PYTHONDONTWRITEBYTECODE"  # it is compiled once
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**kept, "PYTHONPATH": str(root), "COLUMNS": "300", "XDG_STATE_HOME": str(root), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
