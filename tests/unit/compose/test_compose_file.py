"""compose/ holds together: the file is one by the specification's schema, and what its parts name exists."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from jsonschema import Draft202012Validator

from jobledger.settings.loading import paths, variable
from tests.support.composed import COMPOSE, composed, ours

ROOT = COMPOSE.parent
SCHEMA = ROOT / "tests" / "schemas" / "compose-spec.json"
ROLES = {"bridge", "engine", "projectors", "front"}


@pytest.fixture(scope="module")
def file() -> dict[str, Any]:
    return composed()


def wrong(file: Any) -> list[str]:
    """What the schema says against a file."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return [error.message for error in Draft202012Validator(schema).iter_errors(file)]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def mounts(service: dict[str, Any]) -> dict[str, Path]:
    """Files and folders of the checkout by where a service sees them."""
    parts = [volume.split(":") for volume in service.get("volumes", ())]
    return {target: (COMPOSE / source).resolve() for source, target, *_ in parts if source.startswith(".")}


def test_the_file_is_one_by_the_schema(file: dict[str, Any]) -> None:
    assert wrong(file) == []


def test_the_schema_finds_what_is_wrong(file: dict[str, Any]) -> None:
    service = {**file["services"]["serve"], "restarts": "always"}
    assert wrong({**file, "services": {"serve": service}})


def test_each_profile_has_what_it_is_for(file: dict[str, Any]) -> None:
    profiles = {name: service.get("profiles") for name, service in file["services"].items()}
    assert {name for name, service in profiles.items() if service == ["cluster"]} == ROLES
    assert {name for name, service in profiles.items() if service == ["local"]} == {"serve", "serve-metrics"}
    assert re.search("^COMPOSE_PROFILES=local$", (COMPOSE / "env.example").read_text(), re.MULTILINE)


def test_every_service_that_stays_tells_its_health_and_is_restarted(file: dict[str, Any]) -> None:
    for name, service in file["services"].items():
        if name == "topics":
            assert service["restart"] == "no"
        else:
            assert service["healthcheck"]["test"][0] == "CMD"
            assert service["restart"] == "unless-stopped"


def test_images_are_pinned_and_those_that_tests_have_too_are_the_same(file: dict[str, Any]) -> None:
    images = {name: service["image"] for name, service in file["services"].items()}
    assert [image for image in images.values() if not re.fullmatch(r"[a-z/]+:v?\d+(\.\d+)+", image)] == []
    pom = ElementTree.parse(ROOT / "tests" / "harness" / "kafka-pom.xml")  # noqa: S314 - our own
    assert images["kafka"] == f"apache/kafka:{pom.findtext('.//kafka.version')}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {our["image"] for our in ours(file).values()} == {f"jobledger:{project['version']}"}


def test_what_is_named_exists(file: dict[str, Any]) -> None:
    named = [
        name
        for service in file["services"].values()
        for volume in service.get("volumes", ())
        if re.fullmatch(r"[a-z]+", name := volume.split(":")[0])
    ]
    assert set(named) == set(file["volumes"])
    for name, service in file["services"].items():
        assert set(service.get("depends_on", ())) <= set(file["services"])
        secrets = set(service.get("secrets", ()))
        assert secrets <= set(file["secrets"])
        asked = re.findall(r"/run/secrets/([\w-]+)", str(service.get("environment")))
        assert set(asked) == secrets, name
        for path in mounts(service).values():
            assert path.exists(), (name, path)


def test_secrets_are_files_that_the_readme_makes_and_git_ignores(file: dict[str, Any]) -> None:
    readme = (COMPOSE / "README.md").read_text(encoding="utf-8")
    made = re.findall(r"^openssl rand .*>(\S+)", readme, re.MULTILINE)
    # not from variables: compose cannot give those to containers whose file system is read-only
    assert {secret["file"] for secret in file["secrets"].values()} == set(made)
    assert "/compose/secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_nothing_is_open_beyond_this_machine(file: dict[str, Any]) -> None:
    ports = [port for service in file["services"].values() for port in service.get("ports", ())]
    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_every_container_is_bounded_and_may_not_become_more(file: dict[str, Any]) -> None:
    for name, service in file["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["logging"]["options"] == {"max-size": "10m", "max-file": "3"}, name
        assert all(service[limit] for limit in ("mem_limit", "cpus", "pids_limit")), name
        assert service.get("read_only") is (None if name == "kafka" else True), name
    assert [name for name, service in file["services"].items() if "cap_add" in service] == ["postgres"]
    assert "version" not in file  # Compose warns of it


def test_no_secret_is_in_a_file() -> None:
    for path in (path for path in COMPOSE.rglob("*") if path.suffix in (".yaml", ".example")):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not re.search(r"PASSWORD(=|: )", line), (path.name, line)


def test_variables_are_settings_that_there_are(file: dict[str, Any]) -> None:
    known = {variable(path) for path in paths()}
    for service in ours(file).values():
        given = {item for item in service["environment"] if item.startswith("JOBLEDGER_")}
        assert given <= known


# ---- monitoring --------------------------------------------------------------------------------------------------


def test_prometheus_reads_our_alerts_and_every_process_of_ours(file: dict[str, Any]) -> None:
    prometheus = file["services"]["prometheus"]
    config = read(mounts(prometheus)["/etc/prometheus/prometheus.yml"])
    rules = [mounts(prometheus)[item] for item in config["rule_files"]]
    assert rules == [ROOT / "deploy" / "monitoring" / "alerts.yaml"]
    cluster, local = config["scrape_configs"]
    (asked,) = cluster["dns_sd_configs"]
    assert set(asked["names"]) == ROLES
    for role in ROLES:
        assert f"--listen=0.0.0.0:{asked['port']}" in file["services"][role]["command"]
    serve, metrics = file["services"]["serve"], file["services"]["serve-metrics"]
    assert "network_mode" not in serve
    assert "--listen=127.0.0.1:8080" in serve["command"]
    assert metrics["network_mode"] == "service:serve"
    assert metrics["entrypoint"][1] in mounts(metrics)
    assert local["static_configs"][0]["targets"] == ["serve:8081"]


def test_grafana_shows_our_dashboard_of_that_prometheus(file: dict[str, Any]) -> None:
    mounted = mounts(file["services"]["grafana"])
    (source,) = read(mounted["/etc/grafana/provisioning/datasources/jobledger.yaml"])["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://prometheus:9090")
    assert "127.0.0.1:9090:9090" in file["services"]["prometheus"]["ports"]
    (provider,) = read(mounted["/etc/grafana/provisioning/dashboards/jobledger.yaml"])["providers"]
    dashboard = mounted[f"{provider['options']['path']}/jobledger.json"]
    assert dashboard == ROOT / "deploy" / "monitoring" / "dashboard.json"
    # its queries, and those of the alerts, are looked at by tests/unit/telemetry/test_monitoring.py
    assert json.loads(dashboard.read_text(encoding="utf-8"))["uid"] == "jobledger"
