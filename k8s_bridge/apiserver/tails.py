"""The end of a log, as an API server hands it out."""

from collections.abc import AsyncIterator, Mapping

from k8s_bridge.apiserver.api import Api
from k8s_bridge.port import Manifest
from statemachine.errors import Missing, Refused


def query(lines: int, *, container: str, previous: bool, follow: bool) -> Mapping[str, str]:
    """What is asked for, in Kubernetes' words."""
    wanted = {"previous": previous, "follow": follow and not previous}
    found = {"tailLines": str(lines), **{name: "true" for name, on in wanted.items() if on}}
    return {**found, "container": container} if container else found


async def tail(
    api: Api, path: str, pod: Manifest, uid: str, asked: Mapping[str, str]
) -> AsyncIterator[bytes]:
    """What the container of the pod at `path` wrote last; without one in `asked`, its first.

    Raises Missing: the pod is gone, is another than `uid`, or has no such container or earlier run.
    """
    meta = pod["metadata"]
    if uid and meta["uid"] != uid:
        raise Missing(f'pod "{meta["name"]}" was made anew since, and the log went with the old one')
    given = {"container": pod["spec"]["containers"][0]["name"], **asked}
    try:
        async with api.stream(f"{path}/log", given, accept="*/*") as pieces:
            async for piece in pieces:
                yield piece
    except Refused as error:
        if error.status != 400:
            raise
        raise Missing(error.message) from error  # no such container, or it has not begun, or never ran before
