"""The web console of a cluster: its front in a process of its own, and people who look at it as browsers do."""

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx

from jobledger.wiring.roles import Role
from tests.harness import ControlPlane, wait_for
from tests.support.accounts import process
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs
from tests.support.deployment import address

KIND = "PyTorchTrainingJob"
FORM = f"/jobs/new/{KIND}"
NAME = "metadata.name"
IMAGE = "spec.replicaSpecs[0].template.spec.containers[0].image"
ARGS = "spec.replicaSpecs[0].template.spec.containers[0].args"


@dataclass(frozen=True)
class Site:
    """A console of one namespace: where it answers, and what it is about."""

    cluster: ControlPlane
    jobs: Jobs
    url: str
    front: ControllerProcess

    @property
    def namespace(self) -> str:
        """The one that it shows."""
        return self.jobs.namespace


@contextmanager
def roles_apart(
    cluster: ControlPlane, folder: Path, namespace: str, *, writes: str, reads: str
) -> Iterator[Site]:
    """A process a role, each in the name of its own account; projectors write the history that the front reads."""
    histories = {Role.PROJECTORS: writes, Role.FRONT: reads}
    with ExitStack() as stack:
        running = {}
        for role in Role:
            options = ["--roles", role, "--namespaces", namespace]
            options += ["--history", histories[role]] if role in histories else []
            variables = {"JOBLEDGER_CONSOLE__NAMESPACE": namespace}
            running[role] = stack.enter_context(
                process(cluster, f"jobledger-{role}", folder, *options, **variables)
            )
        for program in running.values():
            wait_for("it works", lambda program=program: program.is_working, within=240)  # type: ignore[misc]
        url = wait_for("the address of the front", lambda: address(running[Role.FRONT]))
        yield Site(cluster, Jobs(cluster, namespace), url, running[Role.FRONT])
        for role, program in running.items():
            assert program.is_running, f"{role}: {program.latest}"
            assert "Traceback" not in program.said, program.said


class Visitor:
    """Somebody at the console behind a proxy that adds their token; keeps cookies, and the token of forms."""

    def __init__(self, site: Site, token: str) -> None:
        headers = {"Accept": "text/html", **({"Authorization": f"Bearer {token}"} if token else {})}
        self.site = site
        self.http = httpx.Client(base_url=site.url, headers=headers, timeout=60)
        self._form = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def path(self, name: str, below: str = "", kind: str = KIND) -> str:
        """The address of a page of a job."""
        return f"/jobs/{self.site.namespace}/{kind}/{name}{below}"

    def page(self, path: str, status: int = 200) -> str:
        """A whole page."""
        answer = self.http.get(path)
        assert answer.status_code == status, (answer.status_code, answer.text[-2000:])
        match = re.search(r'csrf-token" content="(\w+)"', answer.text)
        self._form = match[1] if match else self._form
        return answer.text

    def sentence(self, path: str, status: int) -> str:
        """What a page that cannot be had says instead."""
        return failure_of(self.page(path, status))

    def post(self, path: str, fields: Mapping[str, str]) -> httpx.Response:
        """A form as browsers send it."""
        return self.http.post(path, data={"_token": self._form, **fields})

    def asked(self, name: str, action: str) -> dict[str, str]:
        """The hidden fields of the question before a change, which say what it is about."""
        page = self.page(self.path(name, f"/{action}"))
        ask = page[page.index('class="ask"') :]
        return dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', ask))

    def does(self, name: str, action: str, **fields: str) -> None:
        """The change is asked for, and taken."""
        typed = {key.replace("__", "."): value for key, value in fields.items()}
        answer = self.post(self.path(name, f"/{action}"), {**self.asked(name, action), **typed})
        assert answer.status_code == 303, (answer.status_code, failure_of(answer.text))
        assert answer.headers["location"] == "/jobs"

    def sees(self, path: str, text: str, within: float = 90) -> str:
        """The page as soon as the text is in it."""

        def look() -> str | None:
            page = self.page(path)
            return page if text in page else None

        return wait_for(f'"{text}" on {path}', look, within)

    def data(self, path: str, status: int = 200, method: str = "GET", **more: Any) -> Any:
        """What `/api` answers."""
        answer = self.http.request(method, f"/api{path}", **more)
        assert answer.status_code == status, answer.text
        return answer.json()


def failure_of(page: str) -> str:
    """The sentence of a page that tells what went wrong."""
    match = re.search(r'class="bad-news"[^>]*>(.*?)</(?:p|div)>', page, re.DOTALL)
    assert match, page[-2000:]
    return html.unescape(re.sub(r"<[^>]+>", "", match[1])).strip()


def row(page: str, name: str) -> str:
    """What the table of replicas says of one, without markup."""
    match = re.search(rf'<tr id="replica-{name}">(.*?)</tr>', page, re.DOTALL)
    assert match, page[-3000:]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", match[1])).split())
