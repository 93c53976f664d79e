"""`python -m tests.support.project_records FILE`: SHA-256 of the public events of records, by any Python.

FILE has a record a line, as a JSON list of job and entry; the records are in log order. It needs what the projection
needs and nothing else.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from projectors.contract.envelope import structured
from projectors.contract.publication import Publication
from projectors.contract.stream import Publisher
from statemachine.ids import JobUid
from statemachine.log.codec import decode
from statemachine.log.port import Record


def _records(path: Path) -> Iterator[Record]:
    positions = count(1)
    for line in path.read_bytes().splitlines():
        job, text = json.loads(line)
        body = text.encode()
        yield Record(next(positions), JobUid(job), decode(body).seq, body)


def digest(path: Path) -> str:
    """Of the lines that a file sink would write."""
    whole = hashlib.sha256()
    for event in Publisher(Publication("prod-1")).all(_records(path)):
        whole.update(structured(event) + b"\n")
    return whole.hexdigest()


if __name__ == "__main__":
    print(digest(Path(sys.argv[1])))  # noqa: T201 - who starts it reads this
