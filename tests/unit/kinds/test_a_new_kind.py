"""What it takes to add a kind: a folder, its line in the registry, a page of documentation; the rest is made of it.

A checkout gets a made-up kind that has to be switched on; its programs are asked what they know of it.
"""

import ast
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobledger.generate import files as generate
from jobledger.generate import opt_in_kinds as switching
from statemachine.kinds import KINDS
from tests.support.checkouts import CODE, python, with_sledgejob


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with the kind, and its generated files."""
    return with_sledgejob(tmp_path_factory.mktemp("checkout"))


def asked(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return python(root, "-m", "jobledger", *arguments, **environment)


def loaded(root: Path, path: str) -> Any:
    return yaml.safe_load((root / path).read_text(encoding="utf-8"))


def test_its_settings_are_shown_with_the_others(checkout: Path) -> None:
    said = asked(checkout, "config", "-o", "json", JOBLEDGER_SLEDGEJOBS__PACE="trot")
    rows = {load["setting"]: load for load in json.loads(said.stdout)}
    assert rows["sledgejobs.pace"] == {
        "setting": "sledgejobs.pace",
        "value": "trot",
        "from": "JOBLEDGER_SLEDGEJOBS__PACE",
        "variable": "JOBLEDGER_SLEDGEJOBS__PACE",
        "about": "How fast a sledge goes: walk or trot. Default walk, for safety.",
    }
    assert rows["sledgejobs.namespaces"]["value"] == ""
    assert "Default: none, because another controller may" in rows["sledgejobs.namespaces"]["about"]


@pytest.mark.parametrize("verb", ["config", "get"])
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("SLEDGEJOBS__PACE", "fly", "JOBLEDGER_SLEDGEJOBS__PACE is 'fly', but must be 'walk' or 'trot'"),
        ("SLEDGEJOB__PACE", "trot", "JOBLEDGER_SLEDGEJOB__PACE is no setting of jobledger; did you mean "),
    ],
)
def test_a_wrong_setting_of_it_is_refused_in_a_sentence(
    checkout: Path, verb: str, name: str, value: str, sentence: str
) -> None:
    said = asked(checkout, verb, **{f"JOBLEDGER_{name}": value})
    assert said.returncode == 2
    assert sentence in said.stderr
    assert len(said.stderr.splitlines()) == 1


def test_the_controller_has_an_option_for_it(checkout: Path) -> None:
    said = asked(checkout, "controller", "--help").stdout
    (line,) = [line for line in said.splitlines() if "--sledgejobs" in line]
    assert "A,B" in line
    assert "Namespaces of a cluster in which such jobs are managed" in line
    wrong = asked(checkout, "controller", "--namespaces=a", "--sledgejobs=b")
    assert wrong.stderr == 'jobledger: --sledgejobs: "b" is not among the namespaces of --namespaces\n'


SWITCHED = """
from jobledger.settings.loading import load
from jobledger.wiring.cluster import ProcessPlan
from k8s_bridge.apiserver.sources import job_sources

plan = ProcessPlan.of(load({"sledgejobs.namespaces": ("--sledgejobs", "a,b")}).settings, in_pod=False)
print({name: (said.namespaces, said.settings) for name, said in plan.opted_in.items()})
print([each.namespace for each in job_sources(plan.attended) if each.kind == "SledgeJob"])
print(ProcessPlan.of(load().settings, in_pod=False).opted_in)
"""


def test_it_is_looked_after_where_it_is_switched_on(checkout: Path) -> None:
    said = python(checkout, "-c", SWITCHED, JOBLEDGER_SLEDGEJOBS__PACE="trot")
    assert said.stdout.splitlines() == [
        "{'SledgeJob': (('a', 'b'), {'pace': 'trot'})}",
        "['a', 'b']",
        "{}",
    ], said.stderr


def test_its_rights_are_those_of_who_switches_it_on(checkout: Path) -> None:
    common = (checkout / "deploy" / "common" / "rights.yaml").read_text(encoding="utf-8")
    assert "north.example" not in common
    switched = loaded(checkout, "deploy/helm/jobledger/files/rights.yaml")["switched"]["sledgejobs"]
    follow = {"apiGroups": ["north.example"], "resources": ["sledgejobs"], "verbs": ["list", "watch"]}
    assert follow in switched["roles"]["bridge"]
    harness = {"apiGroups": ["north.example"], "resources": ["harnesses"], "verbs": ["list", "watch"]}
    assert switched["by"] == {"pace": {"trot": {"bridge": [harness], "projectors": switched_on(harness)}}}
    component = loaded(checkout, "deploy/components/sledgejobs/kustomization.yaml")
    assert "JOBLEDGER_SLEDGEJOBS__NAMESPACES" in component["patches"][0]["patch"]
    assert (checkout / "deploy/components/sledgejobs/rights.yaml").exists()


def switched_on(harness: dict[str, Any]) -> list[dict[str, Any]]:
    return [harness, {**harness, "verbs": ["get", "create", "patch", "delete"]}]


def test_the_chart_has_its_values_beside_those_of_other_kinds(checkout: Path) -> None:
    values = loaded(checkout, switching.VALUES)
    assert values["sledgejobs"] == {"namespaces": [], "pace": "walk", "sleighBell": ""}
    assert values["pytorchjobs"] == loaded(generate.ROOT, switching.VALUES)["pytorchjobs"]
    schema = loaded(checkout, switching.SCHEMA)["properties"]
    assert schema["sledgejobs"]["properties"]["pace"]["enum"] == ["walk", "trot"]
    before = loaded(generate.ROOT, switching.SCHEMA)["properties"]
    assert {name: value for name, value in schema.items() if name != "sledgejobs"} == before


def test_its_crd_is_apart_from_those_that_are_always_installed(checkout: Path) -> None:
    assert (
        loaded(checkout, "crds/opt-in/north.example_sledgejobs.yaml")["spec"]["names"]["kind"] == "SledgeJob"
    )
    assert "sledgejobs" not in (checkout / "crds" / "Kustomization").read_text(encoding="utf-8")


def test_the_plugin_looks_where_it_is(checkout: Path) -> None:
    code = "from jobledger.plugin.groups import GROUP_VERSIONS; print(*GROUP_VERSIONS)"
    assert "north.example/v1" in python(checkout, "-c", code).stdout.split()


def test_generating_again_changes_nothing(checkout: Path) -> None:
    said = python(checkout, "-m", "jobledger.generate", "--check")
    assert (said.returncode, said.stderr) == (0, "")


# ---- it lives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tests",
    [
        ("tests/unit/console/test_every_kind.py",),
        ("tests/unit/plugin/test_every_kind.py",),
        ("tests/properties/test_kinds.py", "tests/properties/test_laws.py"),
    ],
    ids=["console", "plugin", "laws"],
)
def test_what_holds_of_every_kind_holds_of_it(checkout: Path, tests: tuple[str, ...]) -> None:
    chosen = ("-q", "-p", "no:cacheprovider", "-k", "SledgeJob", f"--basetemp={checkout / 'pytest'}")
    ran = python(checkout, "-m", "pytest", *chosen, *tests)
    assert ran.returncode == 0, ran.stdout[-4000:]


SIMULATED = """
from tests.simulation.run import simulate
from tests.support.sledgejob.shape import SLEDGE

for seed in range(12):
    simulate(seed, SLEDGE)
"""


def test_it_is_simulated_with_every_fault(checkout: Path) -> None:
    ran = python(checkout, "-c", SIMULATED)
    assert ran.returncode == 0, ran.stderr[-4000:]


def test_commands_know_it(checkout: Path, tmp_path: Path) -> None:
    here = {"JOBLEDGER_STORE": str(tmp_path / "store.db"), "XDG_STATE_HOME": str(tmp_path)}
    example = "examples/sledge.yaml"
    checked = asked(checkout, "validate", example, **here)
    assert (checked.returncode, checked.stderr) == (0, "")
    ran = asked(checkout, "run", example, **here)
    assert ran.returncode == 0, ran.stderr
    (line,) = [line for line in asked(checkout, "get", **here).stdout.splitlines() if "SledgeJob" in line]
    assert "Succeeded" in line
    assert "north" in asked(checkout, "why", "north", **here).stdout
    wrong = (checkout / example).read_text(encoding="utf-8").replace("arrivals: 2", "arrivals: 9")
    (tmp_path / "wrong.yaml").write_text(wrong, encoding="utf-8")
    refused = asked(checkout, "validate", str(tmp_path / "wrong.yaml"), **here)
    assert "spec.arrivals: more than there are dogs" in refused.stdout + refused.stderr


NAMED = """
from jobledger.console.forms.field_labels import explained, label
from statemachine.kinds import kind_of

form = kind_of("north.example/v1", "SledgeJob").form
print(label("zh", "spec.dogs.falls", form), explained("zh", "Its size.", form))
"""


def test_without_words_of_its_own_its_fields_have_the_names_of_manifests(checkout: Path) -> None:
    assert python(checkout, "-c", NAMED).stdout == "Falls Its size.\n"


# ---- nobody else knows a kind by name ---------------------------------------------------------------------------

NAMES = sorted({
    word
    for kind in KINDS
    for names in (kind.names, *kind.aliases)
    for word in (names.kind, names.plural, names.singular)
})  # fmt: skip

MADE = {generate.ROOT / path for path in generate.files()}

APART = [generate.ROOT / "statemachine" / "kinds"]
MODULES = [
    path
    for folder in CODE
    for path in sorted((generate.ROOT / folder).rglob("*.py"))
    if path not in MADE and not any(place in path.parents for place in APART)
]


def literals(source: str) -> Iterator[str]:
    """The texts in a module that its program uses: no docstring, no comment."""
    tree = ast.parse(source)
    said = {id(expr.value) for expr in ast.walk(tree) if isinstance(expr, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def test_no_module_knows_a_kind_by_name() -> None:
    known = [
        (path.relative_to(generate.ROOT).as_posix(), text)
        for path in MODULES
        for text in literals(path.read_text(encoding="utf-8"))
        if any(name in text for name in NAMES)
    ]
    assert known == []


def test_nothing_that_is_written_by_hand_for_a_cluster_knows_a_kind_by_name() -> None:
    files = [path for path in (generate.ROOT / "deploy").rglob("*") if path.is_file() and path not in MADE]
    files += [path for path in (generate.ROOT / "compose").rglob("*") if path.suffix in (".yaml", ".yml")]
    assert len(files) > 20
    assert [
        path.name for path in files if any(name in path.read_text(encoding="utf-8") for name in NAMES)
    ] == []
