"""The chart's Job that makes topics knows which topics sinks of lineage write to, and nothing else of sinks."""

from pathlib import Path
from typing import Final

import pytest
import yaml

from jobledger.settings.sinks import LineageSink, sinks_in
from tests.harness import Cluster
from tests.integration.cluster.test_deploy import container_of, environment_of
from tests.support.deployment import Manifest, charted

pytestmark = pytest.mark.integration

IN_KAFKA: Final = ("--set=kafka.log=kafka://kafka:9092", "--set=kafka.applyTopics=true")

SINKS: Final = [
    {
        "name": "pager",
        "type": "webhook",
        "url": "https://hooks.example/secret",
        "keys": [{"secretFile": "/k"}],
    },
    {
        "name": "marquez",
        "type": "openlineage",
        "transport": {"type": "http", "url": "https://marquez.example"},
    },
    {"name": "runs", "type": "openlineage", "transport": {"type": "kafka", "topic": "runs"}},
]


def named(rendered: list[Manifest], kind: str) -> list[Manifest]:
    return [
        manifest
        for manifest in rendered
        if manifest["kind"] == kind and manifest["metadata"]["name"] == "jobledger-topics"
    ]


def test_the_job_that_makes_topics_gets_the_sinks_of_lineage_that_have_topics(
    helm: Cluster, tmp_path: Path
) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({"events": {"sinks": SINKS}}), encoding="utf-8")
    rendered = charted(helm, *IN_KAFKA, f"--values={values}")
    [job], [secret] = named(rendered, "Job"), named(rendered, "Secret")
    hooks = [manifest["metadata"]["annotations"] for manifest in (secret, job)]
    assert [hook["helm.sh/hook"] for hook in hooks] == ["pre-install,pre-upgrade"] * 2
    assert int(hooks[0]["helm.sh/hook-weight"]) < int(hooks[1].get("helm.sh/hook-weight", 0))
    [mount] = [mount for mount in container_of(job)["volumeMounts"] if mount["name"] == "sinks"]
    [volume] = [volume for volume in job["spec"]["template"]["spec"]["volumes"] if volume["name"] == "sinks"]
    assert volume["secret"]["secretName"] == secret["metadata"]["name"]
    [(file, text)] = secret["stringData"].items()
    assert environment_of(job)["JOBLEDGER_EVENTS__SINKS"] == f"{mount['mountPath']}/{file}"
    (tmp_path / file).write_text(text, encoding="utf-8")
    [sink] = sinks_in(tmp_path / file)
    assert isinstance(sink, LineageSink)
    assert sink.name == "runs"


def test_without_a_topic_of_lineage_the_job_has_no_file_of_sinks(helm: Cluster, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({"events": {"sinks": SINKS[:2]}}), encoding="utf-8")
    rendered = charted(helm, *IN_KAFKA, f"--values={values}")
    [job] = named(rendered, "Job")
    assert named(rendered, "Secret") == []
    assert "JOBLEDGER_EVENTS__SINKS" not in environment_of(job)
