"""The consumer for browsers, in Chromium, in a page of a real `jobledger serve` that is killed in between."""

import os
import signal
from pathlib import Path

import pytest

from tests.integration.browser import browser
from tests.integration.cli_words import SECONDS, Place, script, wait_until
from tests.integration.consumers.published import CONSUMERS
from tests.integration.ports import free_port

pytestmark = pytest.mark.integration

FOLLOW = """
window.received = [];
const types = ["job.created", "job.succeeded"];
followEvents(types, (event) => received.push(`${event.name} ${event.type}`), {after: "beginning"});
"""


def expected(*names: str) -> list[str]:
    return [f"{name} dev.jobledger.job.{type_}.v1" for name in names for type_ in ("created", "succeeded")]


def test_a_page_follows_events_and_goes_on_when_its_server_was_killed(tmp_path: Path) -> None:
    place, address = Place(tmp_path), f"127.0.0.1:{free_port()}"
    with browser() as opened:
        server = place.start("serve", "--listen", address)
        wait_until(place.is_served)
        page = opened.new_page()
        page.goto(f"http://{address}/jobs")
        page.evaluate(f"() => {{ {(CONSUMERS / 'eventsource.js').read_text()} {FOLLOW} }}")
        done(place, "first")
        wait_until(lambda: len(page.evaluate("received")) >= 2)
        os.killpg(server.pid, signal.SIGKILL)
        server.communicate(timeout=SECONDS)
        with place.server("--listen", address):
            done(place, "second")
            wait_until(lambda: len(page.evaluate("received")) >= 4)
            assert page.evaluate("received") == expected("first", "second")
            page.close()


def done(place: Place, name: str) -> None:
    """A job of this name has been run to its end."""
    place.ok("submit", place.write(f"{name}.yaml", script(name, "print('done')")))
    place.ok("wait", name, "--for", "phase=Succeeded", "--timeout", "50s")
