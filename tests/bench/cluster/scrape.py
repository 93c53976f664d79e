"""Counters out of Prometheus' text format."""

from collections import Counter
from collections.abc import Iterator, Mapping

import httpx


def series(text: str, name: str) -> Iterator[tuple[Mapping[str, str], int]]:
    """Labels and value of each series of the counter. For label values without commas."""
    for line in text.splitlines():
        if line.startswith(f"{name}{{"):
            pairs = (part.partition("=") for part in line[len(name) + 1 : line.rindex("}")].split(","))
            yield {key: value.strip('"') for key, _, value in pairs}, int(float(line.split()[-1]))


async def requests_sent(url: str, name: str) -> Counter[str]:
    """How many requests a controller has sent by its own count, by method and answer."""
    async with httpx.AsyncClient() as http:
        text = (await http.get(url)).raise_for_status().text
    counts: Counter[str] = Counter()
    for labels, value in series(text, name):
        counts[f"{labels['method']} {labels['code']}"] += value
    return counts
