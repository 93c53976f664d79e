"""Counters out of Prometheus' text format."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import httpx


def series(text: str, name: str) -> Iterator[tuple[Mapping[str, str], int]]:
    """Labels and value of each series of the counter. For label values without commas."""
    for line in text.splitlines():
        if line.startswith(f"{name}{{"):
            pairs = (part.partition("=") for part in line[len(name) + 1 : line.rindex("}")].split(","))
            yield {key: value.strip('"') for key, _, value in pairs}, int(float(line.split()[-1]))


def total(text: str, name: str) -> float:
    """The sum of all series of that name, of which some, or the only one, may have no labels."""
    lines = (line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{")))
    return sum(float(line.split()[-1]) for line in lines)


async def requests_sent(urls: Iterable[str], name: str) -> Counter[str]:
    """How many requests the processes of a controller have sent by their own count, by method and answer."""
    counts: Counter[str] = Counter()
    async with httpx.AsyncClient() as http:
        for url in urls:
            text = (await http.get(url)).raise_for_status().text
            for labels, value in series(text, name):
                counts[f"{labels['method']} {labels['code']}"] += value
    return counts
