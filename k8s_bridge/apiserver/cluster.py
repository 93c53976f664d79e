"""The Cluster port over an API server.

Reads of a job's children come from the index that the watches fill, so that a visit costs no request. Every write has
the uid of its object as a precondition; the object in the server's response goes into the index at once, ahead of the
watch.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil
from typing import Any, Final

from k8s_bridge.apiserver import tails
from k8s_bridge.apiserver.api import FIELD_MANAGER, JSON, JSON_PATCH, MERGE, STRATEGIC, Api, NotServed
from k8s_bridge.apiserver.events import happening, ours, written
from k8s_bridge.apiserver.index import KnownObject
from k8s_bridge.apiserver.paths import Paths, not_served
from k8s_bridge.apiserver.reflector import METADATA_ONLY, WatchPatience, WatchProgress
from k8s_bridge.apiserver.sources import UNWATCHED, child_sources
from k8s_bridge.apiserver.watching import WatchStream
from k8s_bridge.attended import Attended
from k8s_bridge.port import EVIDENCE, Change, Happening, JobEvent, Manifest, Ref, Sight, Synced
from statemachine.errors import ClusterUnavailable, Conflict, Expired, Missing, Refused

_MANAGED: Final = {"fieldManager": FIELD_MANAGER}
_PAGE: Final = "500"
_LIST_TRIES: Final = 3

_PATIENCE: Final = WatchPatience()

Manifests = list[Manifest]

_NOT_OURS_TO_PATCH: Final = ("uid", "name", "namespace", "creationTimestamp", "generation", "managedFields")


class ApiServerCluster:
    """A Kubernetes cluster, of which it watches what is `attended`.

    With `namespaces` alone these are all kinds that need not be switched on.
    """

    def __init__(
        self,
        api: Api,
        *,
        namespaces: Sequence[str] = (),
        attended: Attended | None = None,
        patience: WatchPatience = _PATIENCE,
    ) -> None:
        self.api = api
        self._attended = attended or Attended(tuple(namespaces), {})
        self._namespaces, self._patience = self._attended.namespaces, patience
        self._paths = Paths(api)
        self._watching: WatchStream | None = None
        self._open: list[WatchStream] = []
        self._status_seq: dict[str, int] = {}

    @property
    def watches(self) -> Sequence[WatchProgress]:
        """The progress of each watch; empty while nothing is watched."""
        return self._watching.progress if self._watching else ()

    def known(self) -> Sequence[KnownObject]:
        """Every child object that the watches know."""
        return list(self._watching.index.everything()) if self._watching else ()

    # ---- reading -------------------------------------------------------------------------------------------

    def signs_of_life(self) -> object:
        """See ShowsLife."""
        return [(watch.heard, watch.lists, watch.watches, watch.failures) for watch in self.watches]

    def watch(self) -> AsyncIterator[Change | Synced]:
        """Jobs, then pods and the other children; `Synced`; every change. Never ends by itself."""
        self._watching = WatchStream(self.api, self._attended, self._patience, self._forget)
        self._open = [*(stream for stream in self._open if stream.is_open), self._watching]
        return self._watching

    async def get(self, ref: Ref) -> Manifest:
        """The object; of a Secret the metadata alone. Raises Missing."""
        manifest: Manifest
        if ref.kind not in UNWATCHED:
            manifest = await self.api.call("GET", await self._to(ref))
            return manifest
        try:
            manifest = await self.api.call("GET", await self._to(ref), accept=METADATA_ONLY)
        except Missing:
            self._note_missing(ref)
            raise
        manifest |= {"apiVersion": ref.api_version, "kind": ref.kind}
        self._note(manifest)
        return manifest

    async def look(self, ref: Ref, uid: str) -> Sight:
        """The pod with this uid as it is now, which the watches may not show any more. Raises Refused."""
        try:
            pod: Manifest | None = await self.get(ref)
        except Missing:
            pod = None
        if pod is not None and pod["metadata"]["uid"] != uid:
            pod = None
        if self._watching is not None:
            self._watching.note_sight(uid, pod)
        return Sight(pod, datetime.now(UTC))

    async def list(self, api_version: str, kind: str, namespace: str | None = None) -> Sequence[Manifest]:
        """All objects of a kind, by namespace and name; empty for a kind that is not installed.

        Without a namespace these are the objects in all watched ones.
        """
        manifests: Manifests = []
        try:
            for place in (namespace,) if namespace else self._namespaces or (None,):
                manifests += await self._paged(await self._paths.of(api_version, kind, place))
        except (Missing, Refused) as error:
            if isinstance(error, Refused) and error.status != 404:
                raise
            return []
        for manifest in manifests:
            manifest["apiVersion"], manifest["kind"] = api_version, kind
        manifests.sort(
            key=lambda manifest: (manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"])
        )
        return manifests

    async def _paged(self, path: str, query: Mapping[str, str] | None = None) -> Manifests:
        for _ in range(_LIST_TRIES):
            with suppress(Expired):  # the server has forgotten the next page: the list begins again
                return [item async for item in self._pages(path, query or {})]
        raise ClusterUnavailable(f"the list of {path} never comes to its end")

    async def _pages(self, path: str, query: Mapping[str, str]) -> AsyncIterator[Manifest]:
        place = ""
        while True:
            more = {"limit": _PAGE, **query, **({"continue": place} if place else {})}
            page = await self.api.call("GET", path, query=more)
            for item in page["items"] or ():
                yield item
            place = page["metadata"].get("continue", "")
            if not place:
                return

    async def children(self, namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Manifest]:
        """The objects controlled by the job with uid `owner`, once all watches are listed; `also` as in the port.

        Without an open watch it lists them, which takes a request a kind.
        """
        if self._watching is not None:
            await self._watching.synced.wait()
            index = self._watching.index
            return [
                child.manifest() for child in index.owned(owner, also) if namespace in ("", child.namespace)
            ]
        manifests: Manifests = []
        there = replace(self._attended, namespaces=(namespace,)) if namespace else self._attended
        for source in child_sources(there):
            with suppress(NotServed):
                listed = await self._paged(source.path, source.query())
                manifests += [
                    source.named(item)
                    for item in listed
                    if (by := _controller(item)) == owner or (not by and item["metadata"]["uid"] in also)
                ]
        return manifests

    def owners(self) -> Collection[str]:
        """See the port."""
        return self._watching.index.owners() if self._watching is not None else ()

    async def held(self) -> Manifests:
        """Every pod of a job with an evidence finalizer, listed from the API server."""
        pods: Manifests = []
        for source in child_sources(self._attended):
            if source.kind == "Pod":
                pods += map(source.named, await self._paged(source.path, source.query()))
        return [pod for pod in pods if EVIDENCE in (pod["metadata"].get("finalizers") or ())]

    async def orphans(self) -> Sequence[Manifest]:
        """The pods with an evidence finalizer whose job no watch knows; empty until all watches are listed."""
        watching = self._watching
        if watching is None or not watching.synced.is_set():
            return []
        return [
            child.manifest()
            for child in watching.index.everything()
            if EVIDENCE in child.finalizers and child.job not in watching.versions
        ]

    # ---- writing -------------------------------------------------------------------------------------------

    async def create(self, manifest: Manifest) -> Manifest:
        """Creates the object. Returns it as stored. Raises Conflict (name taken), Refused, ClusterUnavailable."""
        meta = manifest["metadata"]
        path = await self._paths.of(manifest["apiVersion"], manifest["kind"], _namespace(meta))
        try:
            accept = METADATA_ONLY if manifest["kind"] in UNWATCHED else JSON
            stored: Manifest = await self.api.call("POST", path, query=_MANAGED, body=manifest, accept=accept)
        except NotServed as error:
            raise not_served(manifest["apiVersion"], manifest["kind"]) from error
        except Missing as error:  # there is no such namespace
            raise Refused(404, "NotFound", str(error)) from error
        except Conflict as error:
            if error.exists:
                raise
            raise ClusterUnavailable(
                str(error)
            ) from error  # another client changed the quota at the same time
        stored |= {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}
        self._note(stored)
        return stored

    async def patch(self, ref: Ref, merge: Mapping[str, Any], *, uid: str = "") -> Manifest:
        """Merges `merge` into the object. Raises Missing, Conflict (another uid or version), Refused."""
        stored: Manifest = await self.api.call(
            "PATCH", await self._to(ref), query=_MANAGED, body=_patch(merge, uid), content=MERGE
        )
        self._note(stored)
        return stored

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        """Writes `status` to the object, unless one of a higher `seq` was written.

        The last known version is a precondition: a writer that slept finds another one, and has to read its state
        again first. Raises Missing; ClusterUnavailable, if the object was changed at the same time.
        """
        if seq < self._status_seq.get(uid, 0):
            return
        version = await self._version(ref, uid)
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/status", "value": status},
        ]
        path = f"{await self._to(ref)}/status"
        try:
            stored = await self.api.call(
                "PATCH",
                path,
                query=_MANAGED,
                body=patch,
                content=JSON_PATCH,
                accept=METADATA_ONLY,
                behind=True,
            )
        except (Refused, Conflict) as error:
            await self._look_again(ref, uid, version, error)
            raise ClusterUnavailable(f"{ref} was changed just now; its status is written next") from error
        self._status_seq[uid] = seq
        self._note_version(stored)

    async def _version(self, ref: Ref, uid: str) -> str:
        version = self._watching.versions.get(uid) if self._watching else None
        return version or str((await self._job(ref, uid))["metadata"]["resourceVersion"])

    async def _look_again(self, ref: Ref, uid: str, version: str, error: Exception) -> None:
        """Reads the object after a failed precondition. Raises `error` if its version was not the reason."""
        job = await self._job(ref, uid)
        if job["metadata"]["resourceVersion"] == version:
            raise error
        self._note_version(job)

    async def _job(self, ref: Ref, uid: str) -> Manifest:
        job = await self.get(ref)
        if job["metadata"]["uid"] != uid:
            raise Missing(f'{ref.kind} "{ref.name}" with uid {uid} not found')
        return job

    async def delete(self, ref: Ref, *, uid: str = "", version: str = "", grace: float | None = None) -> None:
        """Begins the object's deletion; its children follow.

        Raises Missing, Conflict (another uid or version), Refused.
        """
        options: Manifest = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        conditions = {"uid": uid, "resourceVersion": version}
        if preconditions := {key: value for key, value in conditions.items() if value}:
            options["preconditions"] = preconditions
        if grace is not None:
            options["gracePeriodSeconds"] = ceil(grace)  # 0 would not let processes end at all
        try:
            response: Manifest = await self.api.call("DELETE", await self._to(ref), body=options)
        except (Missing, Conflict):
            if ref.kind in UNWATCHED:  # no watch would show that it is gone, or another one
                self._note_missing(ref)
            raise
        meta, details = response.get("metadata") or {}, response.get("details") or {}
        if "deletionTimestamp" in meta:
            self._note_left(response)
        else:  # a Status, or the last form of the object
            self._note_gone(meta.get("uid") or details.get("uid") or uid)

    async def release(self, ref: Ref, uid: str) -> None:
        """Takes the evidence finalizer off the pod. Raises Missing, Conflict (another uid)."""
        patch = {"metadata": {"uid": uid, "$deleteFromPrimitiveList/finalizers": [EVIDENCE]}}
        stored: Manifest = await self.api.call(
            "PATCH", await self._to(ref), query=_MANAGED, body=patch, content=STRATEGIC, behind=True
        )
        self._note_left(stored)

    # ---- events and logs -----------------------------------------------------------------------------------

    async def emit(self, event: JobEvent) -> None:
        """Writes the Event, unless there is one of its name. Raises Missing (no namespace), Refused."""
        path = await self._paths.of("v1", "Event", event.about.namespace)
        with suppress(Conflict):
            body = written(event)
            await self.api.call("POST", path, query=_MANAGED, body=body, accept=METADATA_ONLY, behind=True)

    async def events(self, namespace: str, job_uid: str) -> Sequence[JobEvent]:
        """Our Events of a job that the server still keeps, oldest first."""
        path = await self._paths.of("v1", "Event", namespace)
        query = {"fieldSelector": f"involvedObject.uid={job_uid},source={FIELD_MANAGER}"}
        events = map(ours, await self._paged(path, query))
        return sorted(events, key=lambda event: (event.at, event.name))

    async def events_about(
        self, namespace: str, uids: Collection[str], names: Collection[tuple[str, str]] = ()
    ) -> Sequence[Happening]:
        """The Events about these objects that the server still keeps; oldest first. See the port.

        A selector fits one object only, and a job has many: so this reads the namespace's Events, page by page.
        """
        wanted_uids, named = frozenset(uids), frozenset(names)
        path = await self._paths.of("v1", "Event", namespace)
        events = [
            happening(event)
            for event in await self._paged(path)
            if (about := event.get("involvedObject") or {}).get("uid") in wanted_uids
            or (about.get("kind"), about.get("name")) in named
        ]
        return sorted(events, key=lambda event: event.last_at)

    async def logs(
        self,
        namespace: str,
        pod: str,
        *,
        uid: str = "",
        container: str = "",
        previous: bool = False,
        follow: bool = False,
    ) -> AsyncIterator[bytes]:
        """The log of the pod's container. Raises Missing; Kubernetes keeps no log of a pod that is gone."""
        ref = Ref("v1", "Pod", namespace, pod)
        manifest = await self.get(ref)
        if uid and manifest["metadata"]["uid"] != uid:
            raise Missing(f'pod "{pod}" was made anew since, and the log went with the old one')
        names = [
            container["name"]
            for field in ("containers", "initContainers")
            for container in manifest["spec"].get(field, ())
        ]
        if container and container not in names:
            raise Missing(f'pod "{pod}" has no container "{container}"')
        query = {"container": container or names[0]}
        query |= {"previous": "true"} if previous else {"follow": "true"} if follow else {}
        try:
            async with self.api.stream(f"{await self._to(ref)}/log", query, accept="*/*") as pieces:
                async for piece in pieces:
                    yield piece
        except Refused as error:
            if not previous or error.status != 400:
                raise
            raise Missing(f'pod "{pod}" has no log of the run before: {error.message}') from error

    async def log_tail(
        self,
        namespace: str,
        pod: str,
        lines: int,
        *,
        uid: str = "",
        container: str = "",
        previous: bool = False,
        follow: bool = False,
    ) -> AsyncIterator[bytes]:
        """See `TailedLogs`."""
        query = tails.query(lines, container=container, previous=previous, follow=follow)
        ref = Ref("v1", "Pod", namespace, pod)
        path, manifest = await self._to(ref), await self.get(ref)
        async for piece in tails.tail(self.api, path, manifest, uid, query):
            yield piece

    async def close(self) -> None:
        """Ends all watches and closes all connections; idempotent. Pods live on."""
        for stream in self._open:
            await stream.aclose()
        await self.api.close()

    # ---- inside --------------------------------------------------------------------------------------------

    async def _to(self, ref: Ref) -> str:
        return await self._paths.to(ref)

    def _note(self, stored: Manifest) -> None:
        if self._watching is not None and _controller(stored):
            self._watching.note(stored)

    def _note_left(self, stored: Manifest) -> None:
        """Takes the response to a step of a deletion: the object is gone if nothing holds it any more."""
        meta = stored["metadata"]
        is_held = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
        if "deletionTimestamp" in meta and not is_held:
            self._note_gone(meta["uid"])
        else:
            self._note(stored)

    def _note_gone(self, uid: str) -> None:
        if self._watching is not None:
            self._watching.index.note_gone(uid)

    def _note_missing(self, ref: Ref) -> None:
        """Drops an object that is gone, of a kind that is not watched."""
        if self._watching is not None:
            for uid in self._watching.index.named(ref.kind, ref.namespace, ref.name):
                self._watching.index.note_gone(uid)

    def _note_version(self, job: Manifest) -> None:
        if self._watching is not None:
            self._watching.note_version(job["metadata"])

    def _forget(self, uid: str) -> None:
        """Drops what is kept of a job that is gone."""
        self._status_seq.pop(uid, None)


def _patch(merge: Mapping[str, Any], uid: str) -> Manifest:
    """The patch without what it cannot change; `uid`, in the metadata, is a precondition."""
    patch = {key: value for key, value in merge.items() if key not in ("apiVersion", "kind", "status")}
    meta = {
        key: value for key, value in (patch.get("metadata") or {}).items() if key not in _NOT_OURS_TO_PATCH
    }
    if uid:
        meta["uid"] = uid
    return {**patch, "metadata": meta} if meta else {**patch, "metadata": {}}


def _namespace(meta: Mapping[str, Any]) -> str:
    return str(meta.get("namespace") or "default")


def _controller(manifest: Manifest) -> str:
    for owner in manifest["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner["uid"])
    return ""
