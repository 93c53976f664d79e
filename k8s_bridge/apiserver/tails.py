"""The last lines of a log from an API server."""

from collections.abc import AsyncIterator, Mapping

from k8s_bridge.apiserver.api import Api
from k8s_bridge.port import Manifest
from statemachine.errors import Missing, Refused


def query(lines: int, *, container: str, previous: bool, follow: bool) -> Mapping[str, str]:
    """The query of a request for a log."""
    flags = {"previous": previous, "follow": follow and not previous}
    parameters = {"tailLines": str(lines), **{name: "true" for name, on in flags.items() if on}}
    return {**parameters, "container": container} if container else parameters


async def tail(
    api: Api, path: str, pod: Manifest, uid: str, query: Mapping[str, str]
) -> AsyncIterator[bytes]:
    """The last lines of a container of the pod at `path`: the one in `query`, else the first.

    Raises Missing: the pod is gone, has another uid, or has no such container or earlier run.
    """
    meta = pod["metadata"]
    if uid and meta["uid"] != uid:
        raise Missing(f'pod "{meta["name"]}" was made anew since, and the log went with the old one')
    parameters = {"container": pod["spec"]["containers"][0]["name"], **query}
    try:
        async with api.stream(f"{path}/log", parameters, accept="*/*") as pieces:
            async for piece in pieces:
                yield piece
    except Refused as error:
        if error.status != 400:
            raise
        raise Missing(error.message) from error  # no such container, or it has not begun, or never ran before
