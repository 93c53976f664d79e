"""Asking the controller: which token, which way, and what to say when none leads there."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jobledger.lives.answer import LifeAnswer
from jobledger.plugin import controller as ways
from jobledger.plugin.apiserver import ApiServer
from jobledger.plugin.options import ControllerAddress, Via
from statemachine.errors import ClusterUnavailable, ConfigError

_ADVICE: Final = "--controller-namespace says where it is, --server its address"


class Asking:
    """Questions to the controller in the name of a context's user; `said` is what they said about it."""

    def __init__(
        self, api: ApiServer, said: ControllerAddress, kubeconfig: Path | None, context: str
    ) -> None:
        self._api, self._said = api, said
        self._place = ways.ServicePlace(said.namespace, said.service, kubeconfig, context)

    def answer(self, question: str, namespace: str, job: str, **query: Any) -> LifeAnswer:
        """The answer to `why` or `history` about a job, named as `name`, `namespace/name` or by uid.

        Raises:
            ConfigError: there is no token to show.
            ClusterUnavailable: no way leads to the controller.
            Unauthenticated, ServerRefused: the controller's own no.
        """
        where, slash, name = job.rpartition("/")
        place, token, given = (where if slash else namespace), self._token(), _given(query)

        def ask(way: ways.Way) -> LifeAnswer:
            return ways.life_answer(way, question, place, name, given)

        if self._said.server:
            with ways.at_address(self._said.server, token) as way:
                return ask(way)
        through = ""
        if self._said.via is not Via.PORT_FORWARD:
            try:
                return ask(ways.ThroughProxy(self._api, self._place, token))
            except ways.NoWay as error:
                through = str(error)
                if self._said.via is Via.PROXY:
                    raise nowhere(through) from None
        try:
            with ways.forwarded(self._place, token) as way:
                return ask(way)
        except ways.NoWay as error:
            if error.final:
                raise ClusterUnavailable(f"the controller is not there: {error}; {_ADVICE}") from None
            raise nowhere(through, str(error)) from None

    def _token(self) -> str:
        said = self._said
        if said.token_file is not None:
            return _read(said.token_file)
        token = said.token or self._api.credentials.token
        if token:
            return token
        raise ConfigError(
            f'context "{self._api.context.name}" has no token, only what the API server itself can check, and the '
            'controller has to know who asks; give it one: --token "$(kubectl create token SERVICE-ACCOUNT)"'
        )


def nowhere(through: str, forwarding: str = "") -> ClusterUnavailable:
    """The sentence for the ways that were tried, each with why it leads nowhere."""
    ways = {"through the API server": through, "by a port-forward": forwarding}
    tried = [f"{way} ({reason})" for way, reason in ways.items() if reason]
    said = (
        f"can be reached neither {tried[0]} nor {tried[1]}"
        if len(tried) > 1
        else f"cannot be reached {tried[0]}"
    )
    return ClusterUnavailable(f"the controller {said}; is it running? {_ADVICE}")


def _read(path: Path) -> str:
    try:
        token = (sys.stdin.read() if str(path) == "-" else path.read_text()).strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"--token-file {path} cannot be read: {error}") from None
    if not token:
        raise ConfigError(f"--token-file {path} holds no token")
    return token


def _given(query: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in query.items()
        if value not in (None, "", False)
    }
