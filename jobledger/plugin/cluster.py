"""Jobs as the API server shows them to this user: what the verbs ask, in the form in which `jobledger serve` answers.

Kinds are found by discovery, so that a cluster may have kinds of a newer jobledger, and lack others. What a user may
not read is left out as long as something is left, as kubectl does with categories.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from jobledger.client.connection import path_of
from jobledger.jobs.views import is_in
from jobledger.plugin.apiserver import ApiServer
from jobledger.plugin.changes import selected_by, watched
from jobledger.plugin.groups import GROUP_VERSIONS, KINDS
from jobledger.plugin.pods import Pods
from jobledger.program.errors import NoRight, NotPossible, UnknownJob, several
from statemachine.errors import ConfigError, Expired, JobledgerError, Missing
from statemachine.redact import redacted

Manifest = dict[str, Any]

CATEGORY: Final = "jobledger"
"""What the CRDs of jobledger are in, also those of a newer one; others have kinds in the same groups.

A CRD that somebody else installed for one of our kinds, such as another operator's, is not in it.
"""

_PAGE: Final = "500"


class KindPath(NamedTuple):
    """A kind and where its objects are. `words`: other names by which users may call it, in lower case."""

    api_version: str
    kind: str
    plural: str
    words: frozenset[str] = frozenset()

    def path(self, namespace: str | None = None, name: str = "") -> str:
        """Of an object, of all in a namespace, or of all."""
        place = () if namespace is None else ("namespaces", namespace)
        return path_of("apis", *self.api_version.split("/"), *place, self.plural, *([name] if name else ()))


class ClusterJobs:
    """The jobs of a cluster, in the name of a context's user."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._kinds: list[KindPath] = []

    def kinds(self, kind: str = "") -> list[KindPath]:
        """The job kinds of this cluster, or those that are called `kind`: one, and its older name.

        Raises ConfigError if there is none.
        """
        self._kinds = self._kinds or [kind for group in GROUP_VERSIONS for kind in self._discovered(group)]
        if not self._kinds:
            raise ConfigError(
                f"{self._api.context.server} has no job kinds: `jobledger crds | kubectl apply -f -` installs them"
            )
        word = kind.lower()
        called = [kind for kind in self._kinds if word in ("", kind.kind.lower(), kind.plural, *kind.words)]
        meant = {
            kind.kind.lower() for kind in called
        }  # an older name may differ in its case alone, and has no short one
        kinds = [kind for kind in self._kinds if kind.kind.lower() in meant]
        if not kinds:
            known = ", ".join(kind.kind for kind in self._kinds)
            raise ConfigError(f'there is no job kind "{kind}" in this cluster; there is {known}')
        return kinds

    def _discovered(self, group_version: str) -> Iterator[KindPath]:
        try:
            resources = self._api.get(f"/apis/{group_version}")
        except Missing:
            return
        for resource in resources.get("resources") or ():
            ours = (group_version, resource["kind"]) in KINDS or CATEGORY in (
                resource.get("categories") or ()
            )
            if ours and "/" not in resource["name"]:
                words = (resource.get("singularName") or "", *(resource.get("shortNames") or ()))
                yield KindPath(
                    group_version, resource["kind"], resource["name"], frozenset(filter(None, words))
                )

    # ---- reading -------------------------------------------------------------------------------------------

    def jobs(
        self, *, namespace: str | None = None, phase: str = "", selector: str = "", gone: bool = False
    ) -> list[Manifest]:
        """Jobs by namespace and name. Raises NotPossible for `gone`: the API server forgets."""
        if gone:
            raise NotPossible("the API server does not know deleted jobs; `jobledger history NAME` does")
        jobs = [job for listed in self._lists(namespace, selector) for job in listed.items]
        jobs.sort(key=lambda job: (job["metadata"]["namespace"], job["metadata"]["name"], job["kind"]))
        return [job for job in jobs if is_in(job, phase)]

    def job(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> Manifest:
        """A job.

        Raises:
            UnknownJob: there is none of this name (and uid).
            NotPossible: jobs of several kinds have it.
        """
        jobs = self._named(self.kinds(kind), namespace, name)
        jobs = [job for job in jobs if uid in ("", job["metadata"]["uid"])]
        if len(jobs) > 1 and kind:
            jobs = [job for job in jobs if job["kind"] == kind] or jobs
        if len(jobs) > 1:
            raise several(name, [job["kind"] for job in jobs])
        if not jobs:
            raise UnknownJob(namespace, name, self._names(namespace))
        return redacted(jobs[0])  # type: ignore[no-any-return]

    def events(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> list[dict[str, Any]]:
        """The Kubernetes Events of a job, oldest first."""
        uid = uid or self.job(namespace, name, kind=kind)["metadata"]["uid"]
        path = path_of("api", "v1", "namespaces", namespace, "events")
        events = self._api.get(path, {"fieldSelector": f"involvedObject.uid={uid}"})
        return sorted(map(_event, events["items"]), key=lambda event: str(event["at"]))

    @contextmanager
    def logs(self, namespace: str, name: str, **which: str | bool) -> Iterator[Iterator[bytes]]:
        """What a replica writes. `which`: kind, replica, container, previous, follow."""
        job = self.job(namespace, name, kind=str(which.get("kind") or ""))
        with Pods(self._api, job, self._path(job)).log(
            str(which.get("replica") or ""),
            container=str(which.get("container") or ""),
            previous=bool(which.get("previous")),
            follow=bool(which.get("follow")),
        ) as pieces:
            yield pieces

    def watch(
        self, *, namespace: str | None = None, name: str | None = None, selector: str = ""
    ) -> Iterator[tuple[str, Manifest]]:
        """Jobs as they stand (ADDED), ("SYNCED", {}), then every change, for ever."""
        lists = self._lists(namespace, selector)
        for listed in lists:
            yield from (("ADDED", job) for job in listed.items if name in (None, job["metadata"]["name"]))
        yield "SYNCED", {}
        for type_, job in watched(self._api, [(listed.path, listed.version) for listed in lists], selector):
            if name in (None, job["metadata"]["name"]):
                yield type_, redacted(job)

    # ---- writing -------------------------------------------------------------------------------------------

    def wish(
        self,
        wish: str,
        namespace: str,
        name: str,
        body: Mapping[str, Any] | None = None,
        *,
        kind: str = "",
        uid: str = "",
    ) -> Manifest:
        """`pause`, `resume`, or `scale` with a body; the job as stored."""
        from jobledger.jobs.changes import wished
        from jobledger.jobs.patches import signed

        job = self.job(namespace, name, kind=kind, uid=uid)
        patch = wished(wish, job, body or {})
        meta: dict[str, Any] = {"uid": job["metadata"]["uid"]}
        patch = {**patch, "metadata": meta}
        if user := self._user():
            patch = signed(job, patch, f"{user} with kubectl jobledger {wish}")
        stored: Manifest = redacted(self._api.merge(self._path(job), patch))
        return stored

    def _user(self) -> str:
        """Our name there; empty where the API server does not say."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        try:
            review = self._api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
        except JobledgerError:
            return ""
        return str((review.get("status") or {}).get("userInfo", {}).get("username") or "")

    # ---- inside --------------------------------------------------------------------------------------------

    def _path(self, job: Manifest) -> str:
        meta = job["metadata"]
        meant = (job["apiVersion"], job["kind"])
        (kind,) = [kind for kind in self.kinds() if (kind.api_version, kind.kind) == meant]
        return kind.path(meta["namespace"], meta["name"])

    def _lists(self, namespace: str | None, selector: str = "") -> list["_List"]:
        """What there is of every kind that the user may list. Raises NoRight if that is none."""
        lists, refusals, kinds = [], [], self.kinds()
        for kind in kinds:
            try:
                lists.append(self._list(kind.path(namespace), selected_by(selector)))
            except NoRight as error:
                refusals.append(error)
        if len(refusals) == len(kinds):
            raise refusals[0]
        return lists

    def _list(self, path: str, which: Mapping[str, str]) -> "_List":
        """All of it, in pages; in one go if the pages do not fit together any more."""
        query: dict[str, str] = {"limit": _PAGE, **which}
        items: list[Manifest] = []
        while True:
            try:
                page = self._api.get(path, query)
            except Expired:
                query, items = dict(which), []
                continue
            items += page["items"]
            meta = page["metadata"]
            if not meta.get("continue"):
                return _List(path, redacted(items), str(meta["resourceVersion"]))
            query = {"limit": _PAGE, "continue": meta["continue"], **which}

    def _named(self, kinds: Sequence[KindPath], namespace: str, name: str) -> list[Manifest]:
        """What is called so of the kinds that the user may get. Raises NoRight if that is none."""
        jobs, refusals = [], []
        for kind in kinds:
            try:
                jobs.append(self._api.get(kind.path(namespace, name)))
            except Missing:
                continue
            except NoRight as error:
                refusals.append(error)
        if len(refusals) == len(kinds):
            raise refusals[0]
        return jobs

    def _names(self, namespace: str) -> list[str]:
        """The names of jobs here, as far as we may know them."""
        try:
            return [job["metadata"]["name"] for job in self.jobs(namespace=namespace)]
        except JobledgerError:
            return []


class _List(NamedTuple):
    """The objects at a path, and the version as of which they are."""

    path: str
    items: list[Manifest]
    version: str


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    """An Event in the form in which the API of jobledger shows it."""
    at = event.get("eventTime") or event.get("lastTimestamp") or event["metadata"]["creationTimestamp"]
    return {
        "name": event["metadata"]["name"],
        "at": at,
        "type": event.get("type", ""),
        "reason": event.get("reason", ""),
        "message": event.get("message", ""),
    }
