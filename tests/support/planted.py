"""Jobs with a secret planted in every field that can hold one, and with ordinary texts that look a little like it."""

import json
from collections.abc import Callable
from typing import Any, Final

MARK: Final = "pl4nted"
"""In every planted secret, and in nothing else."""

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

VARIABLES: Final = (
    *(
        "HF_TOKEN",
        "WANDB_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "PGPASSWORD",
    ),
    *("DB_PASS", "MYSQL_PWD", "API_KEY", "GITHUB_TOKEN", "CLIENT_SECRET", "SSH_PRIVATE_KEY", "SMTP_PASSWORD"),
    *(
        "BASIC_AUTH",
        "SESSION_COOKIE",
        "SENTRY_DSN",
        "SLACK_WEBHOOK",
        "JWT_SIGNATURE",
        "TLS_CERT",
        "GCP_CREDENTIALS",
    ),
)
FLAGS: Final = (
    *(
        "--hf-token={}",
        "--password={}",
        "--api_key={}",
        "-password={}",
        "--db.password={}",
        "wandb.api_key={}",
    ),
    *("WANDB_API_KEY={}", "+trainer.secret={}", "--client-secret='{}'", "--aws-secret-access-key={}", "{}"),
    *("--dsn=postgres://me:{}@db:5432/x", "redis://:{}@cache:6379/0", "https://me:{}@git.example/r.git"),
    *(
        "https://store.example/o?token={}&part=1",
        "https://hub.example/?X-Amz-Signature={}",
        "--opts=password={}",
    ),
    '{{"lr": 0.1, "api_key": "{}"}}',
    '--config={{"auth": {{"password": "{}"}}}}',
)
PAIRS: Final = ("--password", "--hf-token", "--wandb-key", "--secret", "-passwd", "--api-key")
SCRIPTS: Final = (
    "export TOKEN={}; python train.py --lr=0.1",
    "WANDB_API_KEY='{}' python train.py",
    'HF_TOKEN="{}" exec torchrun train.py --epochs 3',
    "python train.py --password {} --max-tokens 512",
    "git clone https://oauth2:{}@git.example/repo.git && python train.py",
    "curl -H 'Authorization: Bearer {}' https://example.org",
    "curl -u me:{} https://example.org",
    "sshpass -p {} ssh worker hostname",
    "cat > c.yaml <<E\nuser: me\npassword: {}\nE\npython train.py",
    "mysql --password={} -e 'select 1'",
)
ORDINARY_ARGS: Final = (
    *(
        "--lr=0.1",
        "--epochs",
        "3",
        "--tokenizer",
        "bert",
        "--max-tokens",
        "512",
        "--eos-token=</s>",
        "key=value",
    ),
    *(
        "--sort-key=name",
        "--data=https://data.example/set?part=1",
        "--text-key",
        "caption",
        "--pad-token",
        "[PAD]",
    ),
    *("--password-file=/run/secrets/pw", "--token=$(HF_TOKEN)", "--monitor=val/loss", "optimizer.lr=3e-4"),
)
ORDINARY_VARIABLES: Final = {
    "TOKENIZERS_PARALLELISM": "false",
    "NCCL_DEBUG": "INFO",
    "LR": "1e-4 .",
    "PYTHONPATH": "/a",
}


class Planter:
    """Makes secrets, one unlike the other."""

    def __init__(self) -> None:
        self.secrets: list[str] = []

    def secret(self) -> str:
        """A new one."""
        self.secrets.append(f"{MARK}-{len(self.secrets):03}-x9")
        return self.secrets[-1]

    def in_each(self, forms: tuple[str, ...]) -> list[str]:
        """The forms, each around a new secret; a bare one is no secret by itself."""
        return [form.format(self.secret()) for form in forms if form != "{}"]


def container(plant: Planter, name: str) -> dict[str, Any]:
    """A container with secrets wherever it can have any."""
    variables: list[dict[str, Any]] = [{"name": variable, "value": plant.secret()} for variable in VARIABLES]
    variables += [{"name": name, "value": value} for name, value in ORDINARY_VARIABLES.items()]
    variables += [
        {"name": "LAUNCH", "value": f"python t.py --hf-token={plant.secret()}"},
        {"name": "DATABASE", "value": f"postgres://me:{plant.secret()}@db/x"},
        {"name": "REF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "store", "key": "token"}}},
    ]
    pairs = [text for flag in PAIRS for text in (flag, plant.secret())]
    probe = {"path": "/", "port": 80, "httpHeaders": [{"name": "Authorization", "value": plant.secret()}]}
    return {
        "name": name,
        "image": "pytorch:2",
        "command": ["sh", "-c", *plant.in_each(SCRIPTS)],
        "args": [*plant.in_each(FLAGS), *pairs, *ORDINARY_ARGS],
        "env": variables,
        "lifecycle": {
            "postStart": {"exec": {"command": ["login", "--password", plant.secret()]}},
            "preStop": {
                "httpGet": {**probe, "httpHeaders": [{"name": "X-Api-Key", "value": plant.secret()}]}
            },
        },
        "livenessProbe": {"exec": {"command": ["sh", "-c", f"check --token={plant.secret()}"]}},
        "readinessProbe": {"httpGet": probe},
        "startupProbe": {"exec": {"command": [f"API_TOKEN={plant.secret()}", "check"]}},
    }


def pod_template(plant: Planter) -> dict[str, Any]:
    """A pod template with init containers, a sidecar, and volumes whose attributes are secrets."""
    sidecar = container(plant, "sidecar") | {"restartPolicy": "Always"}
    return {
        "metadata": {
            "annotations": {
                "vault.example/token": plant.secret(),
                "sidecar.example/env": f"PROXY_PASSWORD={plant.secret()}",
                "config.example/json": json.dumps({"client": {"clientSecret": plant.secret()}}),
                "note": "the key=value form is explained in the wiki",
            }
        },
        "spec": {
            "initContainers": [container(plant, "fetch"), container(plant, "warm"), sidecar],
            "containers": [container(plant, "pytorch")],
            "volumes": [
                {
                    "name": "share",
                    "csi": {
                        "driver": "share.example",
                        "volumeAttributes": {
                            "accountKey": plant.secret(),
                            "mountOptions": f"password={plant.secret()},vers=3.0",
                            "server": "nas.example",
                        },
                    },
                },
                {"name": "old", "flexVolume": {"driver": "a/b", "options": {"password": plant.secret()}}},
                {"name": "given", "secret": {"secretName": "store"}},
            ],
        },
    }


def t9k_job(plant: Planter, name: str = "train") -> dict[str, Any]:
    """A PyTorchTrainingJob, as `kubectl apply` leaves it."""
    return applied(
        plant,
        {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "PyTorchTrainingJob",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicaSpecs": [{"type": "worker", "replicas": 1, "template": pod_template(plant)}]},
        },
    )


def kubeflow_job(plant: Planter, name: str = "train") -> dict[str, Any]:
    """A PyTorchJob of Kubeflow's, as `kubectl apply` leaves it."""
    types = {type_: {"replicas": 1, "template": pod_template(plant)} for type_ in ("Master", "Worker")}
    return applied(
        plant,
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"pytorchReplicaSpecs": types},
        },
    )


def applied(plant: Planter, job: dict[str, Any]) -> dict[str, Any]:
    """The job with the annotation of `kubectl apply`, whose text may be an older one."""
    older = json.loads(json.dumps(job).replace(MARK, f"{MARK}-older"))
    notes = {
        LAST_APPLIED: json.dumps(older),
        "team.example/password": plant.secret(),
        "team.example/owner": "us",
    }
    return {**job, "metadata": {**job["metadata"], "annotations": notes}}


KINDS: Final[tuple[Callable[[Planter], dict[str, Any]], ...]] = (t9k_job, kubeflow_job)
