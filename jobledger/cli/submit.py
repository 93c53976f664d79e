"""`jobledger submit`: hand manifests to a running server."""

from typing import TYPE_CHECKING, Any

from jobledger.cli import common

if TYPE_CHECKING:
    from jobledger.manifests import Manifest


def submit(
    files: common.Files,
    *,
    namespace: common.Namespace = None,
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """Hand jobs to a running server, with the ConfigMaps and Secrets they use. All are created, or none.

    Every manifest is examined before anything is sent. Processes of the jobs start in the folder in which
    this command was given.
    """
    held = common.held(store=store, server=server, namespace=namespace, verbose=verbose)
    manifests = examined(files, held.settings.namespace)
    with common.client(held.settings, "submit") as asked:
        created = asked.submit([each.raw for each in manifests])
    if output is not common.Output.TABLE:
        common.dump(created, output)
        return
    for job in created:
        name = job["metadata"]["name"]
        common.say(f"{job['kind']} {name} created; follow it with `jobledger get {name} --watch`")


def examined(files: list[str], namespace: str) -> "list[Manifest]":
    """The manifests in `files`, ready to be sent: namespace and folder filled in, every rule checked.

    Raises:
        SpecInvalid: every problem of every file.
    """
    from jobledger.intake import inspect
    from jobledger.manifests import Manifest, ManifestUnusable, Source, load

    found = [
        Manifest(_completed(each.raw, namespace, is_job=each.is_job), each.source)
        for each in load(files).usable()
    ]
    inspect(found)
    if not any(each.is_job for each in found):
        raise ManifestUnusable(Source(files[0]), "holds no job; ConfigMaps and Secrets alone do nothing")
    return found


def _completed(raw: dict[str, Any], namespace: str, *, is_job: bool) -> dict[str, Any]:
    from pathlib import Path

    from k8s_bridge.local.kubelet import WORKDIR

    meta = {**raw["metadata"], "namespace": raw["metadata"].get("namespace") or namespace}
    if is_job and isinstance(meta.get("annotations") or {}, dict):
        meta["annotations"] = {WORKDIR: str(Path.cwd()), **(meta.get("annotations") or {})}
    return {**raw, "metadata": meta}
