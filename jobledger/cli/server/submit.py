"""`jobledger submit`: hand manifests to a running server."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobledger.cli import common
from jobledger.cli.suggestions import repeating

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

    Every manifest is examined before anything is sent. Containers without a workingDir start in the folder of the
    manifest's file; those of a manifest from standard input where this command was given.
    """
    held = common.held(store=store, server=server, namespace=namespace, verbose=verbose)
    manifests = examined(files, held.settings.namespace)
    with common.client(held.settings, "submit") as asked:
        created = asked.submit([manifest.raw for manifest in manifests])
    if output is not common.Output.TABLE:
        common.dump(created, output)
        return
    for job in created:
        name = job["metadata"]["name"]
        common.say(repeating(f"{job['kind']} {name} created; follow it with `jobledger get {name} --watch`"))


def examined(files: list[str], namespace: str) -> "list[Manifest]":
    """The manifests in `files`, ready to be sent: namespace and folder filled in, every rule checked.

    Raises:
        SpecInvalid: every problem of every file.
    """
    from jobledger.jobs.intake import inspect
    from jobledger.manifests import Manifest, ManifestSource, ManifestUnusable, load

    completed = [
        Manifest(_completed(manifest, namespace), manifest.source) for manifest in load(files).usable()
    ]
    inspect(completed)
    if not any(manifest.is_job for manifest in completed):
        raise ManifestUnusable(
            ManifestSource(files[0]), "holds no job; ConfigMaps and Secrets alone do nothing"
        )
    return completed


def _completed(manifest: "Manifest", namespace: str) -> dict[str, Any]:
    from k8s_bridge.kubelet.node import WORKDIR

    raw = manifest.raw
    meta = {**raw["metadata"], "namespace": raw["metadata"].get("namespace") or namespace}
    if manifest.is_job and isinstance(meta.get("annotations") or {}, dict):
        meta["annotations"] = {
            WORKDIR: str(_folder(manifest.source.file)),
            **(meta.get("annotations") or {}),
        }
    return {**raw, "metadata": meta}


def _folder(file: str) -> Path:
    """The folder that `file` is in; what comes through a pipe is in none, and belongs where the command was given."""
    from jobledger.manifests import STDIN

    folder = Path(file).parent.resolve()
    if (
        file == STDIN
        or not Path(file).is_file()
        or folder.is_relative_to("/dev")
        or folder.is_relative_to("/proc")
    ):
        return Path.cwd()
    return folder
