"""Admission policies that tests put in the way of a controller. Source: Kubernetes, ValidatingAdmissionPolicy."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.harness import wait_for
from tests.support.cluster_jobs import Jobs

_API: Final = "admissionregistration.k8s.io/v1"


@contextmanager
def undeletable(jobs: Jobs, resource: str, name: str, group: str = "") -> Iterator[None]:
    """Nobody can delete such objects of the jobs' namespace, of which `name` is one."""
    policy = f"no-deletion-{jobs.namespace}"
    message = f"{resource} stay"
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["DELETE"], "resources": [resource]}
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": jobs.namespace}}
    specs = {
        "ValidatingAdmissionPolicy": {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": only_here},
            "validations": [{"expression": "false", "message": message}],
        },
        "ValidatingAdmissionPolicyBinding": {"policyName": policy, "validationActions": ["Deny"]},
    }
    jobs.apply(
        *(
            {"apiVersion": _API, "kind": kind, "metadata": {"name": policy}, "spec": spec}
            for kind, spec in specs.items()
        )
    )

    def is_denied() -> bool:
        word = f"{resource}.{group}" if group else resource
        answer = jobs.cluster.answer("-n", jobs.namespace, "delete", word, name, "--dry-run=server")
        return message in answer.stdout + answer.stderr

    try:
        wait_for("the policy holds", is_denied, 60)
        yield
    finally:
        jobs.kubectl("delete", ",".join(map(str.lower, reversed(specs))), policy)
