"""Count the primes below a number in shares: `primes.py share RANK SHARES FOLDER` is one of them.

`primes.py sum 0 SHARES FOLDER` waits for what they write into the folder, and adds it up.
"""

import sys
import time
from pathlib import Path

BELOW = 200_000


def is_prime(number: int) -> bool:
    """Whether nothing but 1 and itself divides the number."""
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def count(rank: int, shares: int, folder: Path) -> None:
    """Count the primes among the numbers of one share."""
    first, end = (BELOW * index // shares for index in (rank, rank + 1))
    primes = sum(map(is_prime, range(first, end)))
    draft = folder / f"share-{rank}.draft"
    draft.write_text(str(primes))
    draft.rename(draft.with_suffix(""))  # in one step: the sum never reads half a number
    print(f"share {rank} of {shares}: {primes} primes", flush=True)


def add_up(shares: int, folder: Path) -> None:
    """Wait for the results of all shares, and print their sum."""
    files = [folder / f"share-{rank}" for rank in range(shares)]
    while missing := [file.name for file in files if not file.exists()]:
        print(f"waiting for {', '.join(missing)}", flush=True)
        time.sleep(1)
    print(f"{sum(int(file.read_text()) for file in files)} primes below {BELOW}", flush=True)
    for file in files:
        file.unlink()  # another run counts anew


if __name__ == "__main__":
    role, rank, shares, folder = sys.argv[1:]
    if role == "share":
        count(int(rank), int(shares), Path(folder))
    else:
        add_up(int(shares), Path(folder))
