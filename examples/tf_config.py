"""What TensorFlow reads of TF_CONFIG is held to TensorFlow's rules; then the replicas of a job find each other by it.

It runs without TensorFlow. Those of the cluster listen where TF_CONFIG says that they are, and ask each other who
they are. The chief (without one, worker 0) ends when everybody has heard from everybody; the others go on answering
until they are stopped, as parameter servers do. An evaluator is not in the cluster, and has nothing to wait for.
"""

import json
import os
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

TYPES = ("chief", "worker", "ps", "evaluator")
LONGEST_WAIT = 60.0
"""Seconds in which the others have to answer: pods start one after the other."""


def problems(config: object) -> Iterator[str]:
    """What `TFConfigClusterResolver`, `ClusterSpec` and the strategies would not accept of a TF_CONFIG."""
    if not isinstance(config, dict):
        yield "TF_CONFIG is not an object"
        return
    cluster, task = config.get("cluster"), config.get("task")
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        yield "cluster and task have to be objects"
        return
    for type_, addresses in cluster.items():
        if type_ not in TYPES:
            yield f"cluster.{type_}: TensorFlow knows no such type"
        if not isinstance(addresses, list) or not addresses:
            yield f"cluster.{type_}: not a list of addresses"
        else:
            yield from (f"cluster.{type_}: {text}" for text in map(wrong_address, addresses) if text)
    yield from (
        f"cluster.{type_}: more than one"
        for type_ in ("chief", "evaluator")
        if len(cluster.get(type_, ())) > 1
    )
    if not {"chief", "worker"} & {*cluster}:
        yield "cluster: nobody leads, as there is neither a chief nor a worker"
    yield from problems_of_task(cluster, task)


def problems_of_task(cluster: dict[str, Any], task: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the part about this replica."""
    type_, index = task.get("type"), task.get("index")
    if type_ not in TYPES:
        yield f"task.type: {type_!r} is no type of TensorFlow's"
    elif type_ not in cluster and type_ != "evaluator":
        yield f"task.type: {type_} is not in the cluster"
    if type(index) is not int or index < 0:
        yield f"task.index: {index!r} is no index"
    elif type_ in cluster and index >= len(cluster[type_]):
        yield f"task.index: {index} exceeds the cluster's {len(cluster[type_])} of type {type_}"


def wrong_address(address: object) -> str:
    """Why an address is none of the form `host:port`; empty: it is one."""
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    fits = host and port.isdigit() and 0 < int(port) < 65536
    return "" if fits else f"{address!r} is not host:port"


class Member:
    """This replica among those of the cluster."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.cluster: dict[str, list[str]] = config["cluster"]
        self.name = f"{config['task']['type']}-{config['task']['index']}"
        self.all_heard = False

    @property
    def addresses(self) -> dict[str, str]:
        """Where everybody in the cluster is, by name."""
        return {
            f"{type_}-{index}": address
            for type_, addresses in self.cluster.items()
            for index, address in enumerate(addresses)
        }

    @property
    def leads(self) -> bool:
        """TensorFlow's rule: the chief does, or worker 0 where there is none."""
        return self.name == ("chief-0" if "chief" in self.cluster else "worker-0")

    def listen(self) -> None:
        """Answer from now on with the own name, and with whether everybody was heard."""
        member = self

        class Answer(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(f"{member.name} {member.all_heard}".encode())

        socketserver.ThreadingTCPServer.allow_reuse_address = True
        port = int(self.addresses[self.name].rpartition(":")[2])
        server = socketserver.ThreadingTCPServer(("", port), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def hear(self, *, ready: bool = False) -> None:
        """Ask everybody until all have answered; if `ready`, until all say that they have heard everybody, too."""
        end = time.monotonic() + LONGEST_WAIT
        missing = self.addresses
        while missing:
            for name, address in list(missing.items()):
                answer = asked(address)
                if answer and answer.split()[0] != name:
                    sys.exit(f"{self.name}: at {address} is {answer.split()[0]}, not {name}")
                if answer and (not ready or answer.split()[1] == "True"):
                    del missing[name]
            if missing and time.monotonic() > end:
                sys.exit(f"{self.name}: no answer from {', '.join(missing)}")
            time.sleep(0.1 if missing else 0)
        self.all_heard = True


def asked(address: str) -> str:
    """What the replica at an address says of itself; empty: nothing yet."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            return connection.makefile().read()
    except OSError:
        return ""


def main() -> None:
    """Check TF_CONFIG, then take part."""
    config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    wrong = list(problems(config))
    if wrong:
        sys.exit("TF_CONFIG: " + "; ".join(wrong))
    member = Member(config)
    numbers = ", ".join(f"{len(addresses)} {type_}" for type_, addresses in member.cluster.items())
    print(f"{member.name}: TF_CONFIG is good; in the cluster: {numbers}", flush=True)
    if config["task"]["type"] not in member.cluster:
        return
    member.listen()
    member.hear()
    print(f"{member.name}: heard from all {len(member.addresses)}", flush=True)
    if member.leads:
        member.hear(ready=True)
        print(f"{member.name}: everybody has heard from everybody", flush=True)
        return
    threading.Event().wait()


if __name__ == "__main__":
    main()
