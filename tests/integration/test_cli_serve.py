"""`jobledger serve` and the verbs against it, with real processes.

They are forked, but for a `serve` that is asked to end, and a `submit` from elsewhere: these have real starts.
"""

import json
import re
import signal
import stat
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml

from tests.integration.cli_words import SECONDS, Place, is_alive, script, wait_until
from tests.integration.test_cli_run import SLEEPER, _pid

pytestmark = pytest.mark.integration

COUNTER = "import itertools, time\nfor n in itertools.count():\n    print('line', n)\n    time.sleep(0.1)"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_life_of_a_job_from_submit_to_delete(place: Place) -> None:
    name = place.write("job.yaml", script("train", SLEEPER))
    with place.server():
        assert "train created" in place.ok("submit", name)
        assert place.ok("wait", "train", "--for", "condition=Running", "--timeout", "50s") == (
            "train: condition=Running is true\n"
        )
        pid = _pid(place)
        assert re.search(r"train +PyTorchTrainingJob +Running +1/1 +0", place.ok("get"))
        assert "Conditions:" in place.ok("describe", "train")
        assert "train" in place.ok("get", "-l", "!team")
        assert place.run("get", "--selector", "team=a").stderr == (
            "no jobs with labels team=a in namespace default\n"
        )
        place.ok("pause", "train")
        place.ok("wait", "train", "--for", "phase=Paused", "--timeout", "50s")
        wait_until(lambda: not is_alive(pid), "the end of the paused process")
        (place.folder / "pid-0").unlink()
        place.ok("resume", "train")
        assert _pid(place) != pid
        place.ok("wait", "train", "--for", "jsonpath={.status.phase}=Running", "--timeout", "50s")
        place.ok("delete", "train")
        place.ok("wait", "train", "--for", "delete")
        assert place.run("get").stderr == "no jobs in namespace default\n"
        assert "Deleted" in place.ok("get", "--all")
    assert "deleted by" in place.ok("why", "train")


def test_sigterm_ends_the_server_and_the_next_one_adopts_the_processes(place: Place) -> None:
    name = place.write("job.yaml", script("train", SLEEPER))
    with place.server(real=True) as server:
        place.ok("submit", name)
        place.ok("wait", "train", "--for", "phase=Running", "--timeout", "50s")
        pid = _pid(place)
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=SECONDS)
    assert server.returncode == 0, output
    assert re.search(
        r"train goes on, and the next `jobledger serve( --store \S+)?` or `run` on this store adopts", output
    )
    assert not Path(f"{place.store}.sock").exists()
    assert is_alive(pid)
    with place.server() as server:
        job = json.loads(place.ok("get", "train", "-o", "json"))
        assert job["status"]["phase"] == "Running"
        assert job["status"]["backoffCount"] == 0
        assert is_alive(pid)
        place.ok("delete", "train", "--grace-period", "0")
        assert not is_alive(pid)
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=SECONDS)
    assert "adopted from before: train" in output


def test_the_socket_is_for_its_owner_only_and_tcp_is_for_this_machine(place: Place) -> None:
    with place.server("--listen", "127.0.0.1:0") as server:
        assert stat.S_IMODE(Path(f"{place.store}.sock").stat().st_mode) == 0o600
        assert server.stdout is not None
        address = ""
        while not address:
            match = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
            address = match[0] if match else ""
        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}
        assert httpx.get(f"{address}/v1/jobs", headers={"Host": "evil.example"}).status_code == 403
        assert place.run("get", "--server", address).returncode == 0


def test_a_store_with_a_very_long_path_still_has_a_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("a-long-name" * 12)
    folder.mkdir()
    place = Place(folder)
    with place.server():
        assert place.run("get").returncode == 0


def test_logs_are_followed_until_the_replica_ends(place: Place) -> None:
    name = place.write("job.yaml", script("count", COUNTER))
    with place.server():
        place.ok("submit", name)
        process = place.start("logs", "count", "--follow")  # may come before the replica: it waits
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["line 0\n", "line 1\n", "line 2\n"]
        place.ok("delete", "count", "--grace-period", "0")
        process.communicate(timeout=SECONDS)
        assert process.returncode == 0


def test_following_ends_with_a_sentence_when_the_server_does(place: Place) -> None:
    name = place.write("job.yaml", script("count", SLEEPER))
    with place.server() as server:
        place.ok("submit", name)
        place.ok("wait", "count", "--for", "phase=Running", "--timeout", "50s")
        watching = place.start("get", "--watch")
        assert watching.stdout is not None
        watching.stdout.readline()
        server.send_signal(signal.SIGTERM)
        output, _ = watching.communicate(timeout=SECONDS)
        assert watching.returncode == 3
        assert "it has just ended" in output
        assert "Traceback" not in output
        server.communicate(timeout=SECONDS)
    with place.server():
        place.ok("delete", "count", "--grace-period", "0")


def test_every_line_is_named_when_all_replicas_are_asked_for(place: Place) -> None:
    text = "import os; print('I am', os.environ['RANK'])"
    name = place.write("job.yaml", script("talk", text, replicas=2))
    with place.server():
        place.ok("submit", name)
        place.ok("wait", "talk", "--for", "condition=Completed", "--timeout", "50s")
        expected = ["[worker-0] I am 0", "[worker-1] I am 1"]
        assert place.ok("logs", "talk", "--all").splitlines() == expected
        assert sorted(place.ok("logs", "talk", "--all", "--follow").splitlines()) == expected
    assert place.ok("logs", "talk", "--all").splitlines() == expected  # from the files, without a server


def test_waiting_for_what_can_never_be_true_ends_at_once(place: Place) -> None:
    name = place.write("job.yaml", script("fine", "pass"))
    with place.server():
        place.ok("submit", name)
        place.ok("wait", "fine", "--for", "phase=Succeeded", "--timeout", "50s")
        done = place.run("wait", "fine", "--for", "condition=Failed", "--timeout", "600s")
        assert done.returncode == 1
        assert "will never be true: the job has ended (Succeeded)" in done.stderr


def test_waiting_in_vain_is_a_failure_after_the_timeout(place: Place) -> None:
    name = place.write("job.yaml", script("train", SLEEPER))
    with place.server():
        place.ok("submit", name)
        done = place.run("wait", "train", "--for", "phase=Paused", "--timeout", "1s")
        assert done.returncode == 1
        assert "phase=Paused was not true within 1s" in done.stderr
        place.ok("delete", "train", "--grace-period", "0")


def test_listings_are_json_and_yaml_for_programs(place: Place) -> None:
    name = place.write("jobs.yaml", script("a", "pass"), script("b", "pass"))
    with place.server():
        place.ok("submit", name)
        as_json = json.loads(place.ok("get", "-o", "json"))
        as_yaml = yaml.safe_load(place.ok("get", "-o", "yaml"))
        assert [manifest["metadata"]["name"] for manifest in as_json["items"]] == ["a", "b"]
        assert [manifest["metadata"]["name"] for manifest in as_yaml["items"]] == ["a", "b"]
        assert json.loads(place.ok("get", "a", "-o", "json"))["kind"] == "PyTorchTrainingJob"
        assert "events" in json.loads(place.ok("describe", "a", "-o", "json"))


@pytest.mark.parametrize("piped", [False, True])
def test_processes_start_where_the_manifest_is_or_submit_was_called_not_where_the_server_was(
    piped: bool, place: Place
) -> None:
    elsewhere, called = place.folder / "elsewhere", place.folder / "called"
    elsewhere.mkdir()
    called.mkdir()
    place.write("elsewhere/job.yaml", script("where", "import os; print(os.getcwd())"))
    with place.server(), (elsewhere / "job.yaml").open() as manifest:
        done = subprocess.run(
            place.command("submit", "-" if piped else "../elsewhere/job.yaml"),
            cwd=called,
            env=place.env,
            stdin=manifest if piped else subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        place.ok("wait", "where", "--for", "phase=Succeeded", "--timeout", "50s")
        assert place.ok("logs", "where") == f"{called if piped else elsewhere}\n"
