"""Manifests → objects in the cluster: everything is examined before anything is created."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobledger.jobs.views import stated_phase
from jobledger.manifests import Manifest
from jobledger.program.errors import JobExists
from k8s_bridge.actors import ACTOR, ACTOR_OF
from k8s_bridge.admission import refused
from k8s_bridge.port import Cluster, Ref
from statemachine.concealed import is_reference
from statemachine.errors import Conflict, Missing, Problem, SpecInvalid
from statemachine.kinds import kind_of
from statemachine.redact import is_redacted


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and the manifest that has it."""

    manifest: Manifest
    problem: Problem

    def __str__(self) -> str:
        return f"{self.manifest.source}: {self.problem}"


class Inadmissible(SpecInvalid):
    """Manifests that no API server would store, or that would fail at once; every problem of all of them."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__([finding.problem for finding in findings])
        self.args = ("\n".join(map(str, findings)),)
        self.findings = tuple(findings)


def inspect(manifests: Sequence[Manifest], *, as_api_server: bool = False) -> None:
    """Nothing, if all is well with the jobs among `manifests`.

    `as_api_server` looks at layers S and C only, and lets a job that breaks a layer V rule be stored, so that
    it fails visibly. Source: spec R2.

    Raises:
        Inadmissible: every problem of every manifest.
    """
    findings = [*_twins(manifests)]
    for manifest in manifests:
        if manifest.is_job:
            kind = kind_of(manifest.raw["apiVersion"], manifest.kind)
            problems = kind.admit(manifest.name, manifest.spec).problems
            refusals = refused(kind.rules, problems) if as_api_server else problems
            findings += [
                Finding(manifest, problem) for problem in (*refusals, *taken_out(manifest.spec, "spec"))
            ]
    if findings:
        raise Inadmissible(findings)


def taken_out(tree: Any, path: str) -> Iterator[Problem]:
    """Where a value is missing in what was copied from something shown, or from the log."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from taken_out(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from taken_out(value, f"{path}[{index}]")
    elif is_redacted(tree) or is_reference(tree):
        yield Problem("", path, "the secret was not copied: type it again")


def _twins(manifests: Sequence[Manifest]) -> Iterator[Finding]:
    first: dict[Ref, Manifest] = {}
    for manifest in manifests:
        ref = Ref.of(manifest.raw)
        if ref in first:
            text = f"{ref} stands here a second time; the first is in {first[ref].source}"
            yield Finding(manifest, Problem("", "metadata.name", text))
        first.setdefault(ref, manifest)


class Intake:
    """Creates what was submitted."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def submit(self, manifests: Sequence[Manifest], actor: str) -> list[dict[str, Any]]:
        """See `App.submit`."""
        inspect(manifests, as_api_server=True)
        jobs = [manifest.raw for manifest in manifests if manifest.is_job]
        for job in jobs:
            await self._refuse_taken(job)
        for manifest in manifests:
            if not manifest.is_job:
                await self._apply(manifest.raw)
        return [await self._create(_signed(job, actor)) for job in jobs]

    async def _refuse_taken(self, job: dict[str, Any]) -> None:
        try:
            job_there = await self._cluster.get(Ref.of(job))
        except Missing:
            return
        raise _taken(job_there)

    async def _create(self, job: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._cluster.create(job)
        except Conflict:  # somebody was quicker
            raise _taken(await self._cluster.get(Ref.of(job))) from None

    async def _apply(self, manifest: dict[str, Any]) -> None:
        """The object is as the manifest says, also when it was there."""
        try:
            await self._cluster.create(manifest)
        except Conflict:
            ref = Ref.of(manifest)
            old = await self._cluster.get(ref)
            await self._cluster.patch(ref, _replacing(old, manifest))


def _taken(job: dict[str, Any]) -> JobExists:
    meta, phase = job["metadata"], stated_phase(job) or "New"
    return JobExists(job["kind"], meta["namespace"], meta["name"], phase)


def _signed(job: dict[str, Any], actor: str) -> dict[str, Any]:
    meta = job["metadata"]
    annotations = {**(meta.get("annotations") or {}), ACTOR: actor, ACTOR_OF: "1"}
    return {**job, "metadata": {**meta, "annotations": annotations}}


def _replacing(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A merge patch after which every field but `metadata` is exactly `new`'s."""
    patch: dict[str, Any] = {}
    for key in dict.fromkeys([*old, *new]):
        if key in ("apiVersion", "kind", "metadata", "status"):
            continue
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            patch[key] = {**dict.fromkeys(before), **after}
        else:
            patch[key] = after
    return patch
