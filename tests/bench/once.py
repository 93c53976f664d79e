"""`python -m tests.bench.once PRODUCT NAME`: processor seconds of one benchmark, in a process of its own, as JSON.

`PRODUCT` is the folder that holds the packages to be measured. The answer is `{"seconds": [...]}`, or
`{"differs": why}` where those packages lack something that the benchmark uses.
"""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

PACKAGES: Final = ("jobledger", "projectors", "k8s_bridge", "statemachine")
"""The product, as it is imported."""

_REPEATS: Final = 3

Work = Callable[[], object]


def _fold() -> Work:
    from tests.bench.core import folding
    from tests.bench.histories import history

    return folding([moment.draft for number in range(1_000) for moment in history(number)])


def _decide() -> Work:
    from tests.bench.core import deciding
    from tests.bench.histories import history

    return deciding([moment for number in range(300) for moment in history(number)])


def _decide_repeats() -> Work:
    from tests.bench.core import deciding, repeats
    from tests.bench.histories import history

    return deciding(repeats([moment for number in range(600) for moment in history(number)]))


def _loop() -> Work:
    from tests.bench.loop import run_jobs

    return lambda: asyncio.run(run_jobs(200))


WORK: Final[Mapping[str, Callable[[], Work]]] = {
    "fold": _fold,
    "decide": _decide,
    "decide repeats": _decide_repeats,
    "loop": _loop,
}
"""What is compared. Imported when it is asked for: what one lacks keeps no other from being measured."""


def measure(prepare: Callable[[], Work]) -> list[float]:
    """Processor seconds, user and system, of each run after one to warm up."""
    work, seconds = prepare(), []
    work()
    for _ in range(_REPEATS):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return seconds


def main(product: Path, name: str) -> None:
    """Prints the answer. Raises whatever else goes wrong, also that other packages than asked for are measured."""
    logging.disable(logging.WARNING)
    for package in PACKAGES:
        file = import_module(package).__file__
        assert file, f"{package} is no regular package"
        assert Path(file).resolve().is_relative_to(product.resolve()), f"{package} is {file}"
    try:
        answer: Mapping[str, object] = {"seconds": measure(WORK[name])}
    except (ImportError, AttributeError, TypeError) as error:
        answer = {"differs": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
