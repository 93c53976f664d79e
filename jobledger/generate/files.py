"""The files that are generated and checked in: `python -m jobledger.generate [--check]`.

Each has a function that gives its whole text; `files` lists them. With `--check` nothing is written, and files that
are not what they should be are named.
"""

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from jobledger.generate import opt_in_kinds as switching
from jobledger.generate.cli_page import cli_markdown
from jobledger.generate.dashboard import dashboard
from jobledger.generate.events_page import events_page
from jobledger.generate.kafka_page import kafka_page
from jobledger.generate.kind_pages import NOTE, kind_page, kinds_page
from jobledger.generate.monitoring import metrics_page, prometheus_rule
from jobledger.generate.phases_page import phases_page
from jobledger.generate.rbac import bindings, chart_rules, kueue_objects, rbac_objects, switched_objects
from k8s_bridge.actor_policy import mutating, rules_of, validating
from projectors.contract.asyncapi import document as asyncapi_document
from projectors.contract.catalogue import CATALOGUE, PublicType
from projectors.contract.lineage import facets
from projectors.contract.schemas import schema as contract_schema
from projectors.explain import json_schema as explanation_schema
from statemachine.events import Event
from statemachine.kind import Kind, Names
from statemachine.kinds import KINDS, OPT_IN, SERVED
from statemachine.observations import Observation

ROOT: Final = Path(__file__).resolve().parents[2]
"""The checkout. An installed jobledger has none of these files."""

CHART: Final = "deploy/helm/jobledger"
"""Helm packs only what is inside of a chart, so it has copies of some files."""

CRD_FOLDERS: Final = ("crds", f"{CHART}/crds")

OPT_IN_CRDS: Final = "crds/opt-in"
"""CRDs of opt-in kinds stand apart: where somebody else looks after such jobs the CRD is theirs, and `kubectl apply
-f crds/` and the chart leave it as it is."""

CONTRACT: Final = "docs/schemas/contract"
LINEAGE: Final = "docs/schemas/lineage"

Maker = Callable[[], str]


def files(root: Path = ROOT) -> dict[str, Maker]:
    """Path below the checkout → what the file must hold. Add a line for a new file."""
    makers: dict[str, Maker] = {}
    for kind in KINDS:
        folders = (OPT_IN_CRDS,) if kind.opt_in else CRD_FOLDERS
        for names, folder in product((kind.names, *kind.aliases), folders):
            makers[f"{folder}/{_crd_name(names)}"] = partial(crd_file, kind, names)
        makers[f"docs/kinds/{kind.names.singular}.md"] = partial(kind_page, kind, root)
    makers["docs/kinds/README.md"] = partial(kinds_page, KINDS, root)
    makers["crds/Kustomization"] = crd_list
    makers["deploy/common/rights.yaml"] = lambda: yaml_file(*rbac_objects())
    makers[f"{CHART}/files/actor.yaml"] = lambda: yaml_file(chart_policies())
    makers["deploy/actor/policy.yaml"] = lambda: yaml_file(*validating(SERVED, _FRONT))
    makers["deploy/actor-written/policy.yaml"] = lambda: yaml_file(*mutating(_always(), _FRONT))
    makers["jobledger/plugin/groups.py"] = groups_module
    makers[switching.OPTIONS] = switching.options  # before docs/cli.md, which is made with it
    for kind, _ in OPT_IN:
        folder = f"deploy/components/{kind.names.plural}"
        makers[f"{folder}/kustomization.yaml"] = partial(switching.component, kind)
        makers[f"{folder}/rights.yaml"] = partial(switched_rights, kind)
    makers["deploy/components/kueue/rights.yaml"] = lambda: yaml_file(*kueue_objects("jobledger"))
    makers[switching.VALUES] = partial(switching.values, root)
    makers[switching.SCHEMA] = partial(switching.schema, root)
    makers["deploy/base/bindings.yaml"] = lambda: yaml_file(*bindings("jobledger"))
    makers["deploy/overlays/roles-split/bindings.yaml"] = lambda: yaml_file(*bindings())
    makers[f"{CHART}/files/rights.yaml"] = lambda: yaml_file(chart_rules())
    makers["docs/asyncapi.yaml"] = lambda: yaml_file(asyncapi_document())
    makers["docs/cli.md"] = cli_markdown
    makers["docs/events.md"] = partial(events_page, root)
    makers["docs/kafka.md"] = partial(kafka_page, root)
    makers["docs/metrics.md"] = partial(metrics_page, root)
    for folder in ("deploy/monitoring", f"{CHART}/files"):
        makers[f"{folder}/dashboard.json"] = dashboard
        makers[f"{folder}/prometheusrule.yaml"] = partial(prometheus_rule, root)
    makers["docs/phases.md"] = phases_page
    makers["docs/schemas/events.json"] = partial(schema_file, Event, "Event")
    makers["docs/schemas/observations.json"] = partial(schema_file, Observation, "Observation")
    makers["docs/schemas/why.json"] = why_schema_file
    for public_type in CATALOGUE:
        makers[f"{CONTRACT}/{public_type.name}.json"] = partial(contract_file, public_type)
    for facet in facets.OWN:
        makers[f"{LINEAGE}/{facet}.json"] = partial(facet_file, facet)
    return makers


# ---- CRDs, rights and JSON schemas ------------------------------------------------------------------------------


def yaml_file(*objects: Any) -> str:
    """The objects, a document each."""
    return f"# {NOTE}\n" + "---\n".join(
        yaml.safe_dump(document, sort_keys=False, width=110, allow_unicode=True) for document in objects
    )


def switched_rights(kind: Kind) -> str:
    """The rights that an opt-in kind needs where it is switched on in all namespaces."""
    return yaml_file(*switched_objects(kind, "jobledger"))


_FRONT: Final = ("system:serviceaccount:jobledger-system:jobledger",)
"""The account of the front in the overlays with one process."""


def _always() -> list[Names]:
    return [names for kind in KINDS if not kind.opt_in for names in (kind.names, *kind.aliases)]


def chart_policies() -> dict[str, Any]:
    """The policies that guard who is named on jobs, as the chart's template reads them; `switched`: rules by kind.

    Jobs of opt-in kinds may be others': in them nothing is written where they are not switched on.
    """
    return {
        "validating": [policy["spec"] for policy in validating(SERVED, _FRONT)],
        "mutating": [policy["spec"] for policy in mutating(_always(), _FRONT)],
        "switched": {kind.names.plural: rules_of((kind.names, *kind.aliases)) for kind, _ in OPT_IN},
    }


def crd_file(kind: Kind, names: Names) -> str:
    """The CustomResourceDefinition, by these of the kind's names, as YAML."""
    return yaml_file(kind.crd(names))


def groups_module() -> str:
    """Where the kinds are, for those who cannot wait until the kinds are imported."""
    versions = dict.fromkeys(f'    "{names.api_version}",' for names in SERVED)
    served = [f'    ("{names.api_version}", "{names.kind}"),' for names in SERVED]
    return "\n".join([
        '"""Where job kinds are in an API server, for the plugin: to import the kinds takes longer than to ask.',
        "",
        NOTE,
        '"""',
        "",
        "from typing import Final",
        "",
        "GROUP_VERSIONS: Final = (",
        *versions,
        ")",
        '"""Every one in which a kind is served."""',
        "",
        "KINDS: Final = frozenset({",
        *served,
        "})  # fmt: skip",
        '"""Every kind that is served, by the group and version of its objects."""',
        "",
    ])  # fmt: skip


def crd_list() -> str:
    """The CRDs, for kustomize. By this name, without an ending, `kubectl apply -f crds/` does not read it."""
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return yaml_file({**head, "resources": [_crd_name(names) for names in _always()]})


def _crd_name(names: Names) -> str:
    return f"{names.group}_{names.plural}.yaml"


def schema_file(union: Any, title: str) -> str:
    """The JSON schema of everything that may stand in a topic."""
    schema = msgspec.json.schema(union)
    return json.dumps({"title": title, "description": NOTE, **schema}, indent=2, ensure_ascii=False) + "\n"


def why_schema_file() -> str:
    """The JSON schema of what `jobledger why -o json` prints."""
    schema = explanation_schema()
    return json.dumps({**schema, "$comment": NOTE}, indent=2, ensure_ascii=False) + "\n"


def contract_file(public_type: PublicType) -> str:
    """The JSON schema of the data of a type of public event."""
    schema = contract_schema(public_type)
    return json.dumps({**schema, "$comment": NOTE}, indent=2, ensure_ascii=False) + "\n"


def facet_file(name: str) -> str:
    """The JSON schema of a facet of our own in RunEvents."""
    return json.dumps({**facets.own_schema(name), "$comment": NOTE}, indent=2, ensure_ascii=False) + "\n"


# ---- command ----------------------------------------------------------------------------------------------------


def stale(root: Path = ROOT) -> list[str]:
    """Files that are missing, or not what they should be, and generated ones that no longer should be there."""
    wanted = files(root)
    wrong = [path for path, make in wanted.items() if _text(root / path) != make()]
    left = [
        path.relative_to(root).as_posix()
        for folder, ending in (
            *((folder, "*.yaml") for folder in (*CRD_FOLDERS, OPT_IN_CRDS)),
            ("docs/schemas", "*.json"),
            (CONTRACT, "*.json"),
            (LINEAGE, "*.json"),
        )
        for path in sorted((root / folder).glob(ending))
    ]
    return wrong + [path for path in left if path not in wanted]


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def write(root: Path = ROOT) -> None:
    """Every generated file is what it should be."""
    for path, make in files(root).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(make(), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Write the generated files, or with `--check` name those that are stale; exit code 1 if there are any."""
    parser = argparse.ArgumentParser(
        prog="python -m jobledger.generate", description="Write all generated files."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    if not parser.parse_args(arguments).check:
        write()
        return 0
    wrong = stale()
    for path in wrong:
        sys.stderr.write(f"{path} is stale; run `make generate`\n")
    return 1 if wrong else 0
