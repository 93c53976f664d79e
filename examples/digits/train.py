"""Learn to read handwritten digits, together: data-parallel training with the standard library alone.

Every process holds the same weights of a softmax regression. A step takes the next 60 images; each process
works out the gradient for its share of them, rank 0 (the master) adds the shares up and sends the sums back,
and all take the same step downhill. So the weights stay equal, however many processes there are.

A worker that is killed and started again asks the master for the current weights and takes its place again;
the others wait, because no step is complete without its share. A master that is started again reads its
checkpoint, written after every epoch; the workers have kept looking for it, and all go on from there.

RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say which process this is; without them it trains alone.
"""

import argparse
import gzip
import json
import math
import os
import socket
import struct
import sys
import time
from contextlib import suppress
from functools import partial
from operator import mul
from pathlib import Path
from select import select
from typing import NoReturn

Image = tuple[list[float], int]  # 64 pixels from 0 to 1 and a constant 1.0 for the bias; the digit they show

INPUTS, CLASSES = 65, 10
WEIGHTS = INPUTS * CLASSES
SUMS = WEIGHTS + 1  # numbers that travel in every step: a gradient, and the loss behind it
BATCH = 60  # images in a step, over all processes
EPOCH = 23  # steps in an epoch: so many full batches are in the 1437 images to train on
LEARNING_RATE = 0.4

say = partial(print, flush=True)  # shows a line at once, also where the output goes to a file


def load_images(rank: int, world: int) -> tuple[list[list[Image]], list[Image]]:
    """A rank's share of every batch to train on; and every fifth image, held out to test on unknown ones."""
    with gzip.open(Path(__file__).with_name("digits.csv.gz"), "rt") as lines:
        rows = [[int(number) for number in line.split(",")] for line in lines]
    images = [([pixel / 16 for pixel in row[:-1]] + [1.0], row[-1]) for row in rows]
    train = [image for i, image in enumerate(images) if i % 5]
    batches = [train[first : first + BATCH] for first in range(0, EPOCH * BATCH, BATCH)]
    return [batch[rank::world] for batch in batches], images[::5]


def scores(weights: list[float], pixels: list[float]) -> list[float]:
    """How much an image looks like each of the ten digits."""
    return [sum(map(mul, weights[i : i + INPUTS], pixels)) for i in range(0, WEIGHTS, INPUTS)]


def accuracy(weights: list[float], images: list[Image]) -> float:
    """Per cent of the images that are read correctly."""
    guesses = [(scores(weights, pixels), digit) for pixels, digit in images]
    return 100 * sum(guess[digit] == max(guess) for guess, digit in guesses) / len(images)


def gradient(weights: list[float], images: list[Image]) -> list[float]:
    """The gradient of the cross-entropy loss, summed over the images; the last number is the summed loss."""
    rows, loss = [[0.0] * INPUTS for _ in range(CLASSES)], 0.0
    for pixels, digit in images:
        odds = [math.exp(score) for score in scores(weights, pixels)]
        for i, row in enumerate(rows):
            error = odds[i] / sum(odds) - (i == digit)
            rows[i] = [old + error * pixel for old, pixel in zip(row, pixels, strict=True)]
        loss -= math.log(odds[digit] / sum(odds))
    return [*(number for row in rows for number in row), loss]


def downhill(weights: list[float], sums: list[float]) -> list[float]:
    """The weights after a step against the gradient, averaged over the batch."""
    return [w - LEARNING_RATE * g / BATCH for w, g in zip(weights, sums[:WEIGHTS], strict=True)]


def send(sock: socket.socket, numbers: list[float]) -> None:
    """Send a list of numbers: how many they are, then each as eight bytes."""
    sock.sendall(struct.pack(f"!I{len(numbers)}d", len(numbers), *numbers))


def receive(sock: socket.socket, count: int) -> list[float]:
    """Wait for a list of `count` numbers; a closed connection or anything else is a ConnectionError."""
    data, size = b"", 4 + 8 * count
    while len(data) < size:
        chunk = sock.recv(size - len(data))
        data += chunk
        if not chunk or (len(data) >= 4 and data[:4] != struct.pack("!I", count)):
            raise ConnectionError("the other side is gone, or speaks something else")
    return list(struct.unpack(f"!{count}d", data[4:]))


class Workers:
    """The master's connections: collects what the workers send, and lets those back in that were lost."""

    def __init__(self, world: int, address: tuple[str, int], timeout: float) -> None:
        self.world, self.timeout = world, timeout
        self.ranks: dict[socket.socket, int] = {}  # 0 until a newcomer has said which rank it is
        self.shares: dict[int, list[float]] = {}  # what has come in for this step, by rank
        socket.setdefaulttimeout(timeout)
        self.listener = socket.create_server(address, backlog=world)

    def collect(self, step: int, weights: list[float], own: list[float]) -> list[float]:
        """The sums of all shares of a step, the master's own included; waits until all have come in."""
        self.shares = {0: own}
        deadline = time.monotonic() + self.timeout
        while len(self.shares) < self.world:
            ready, _, _ = select([self.listener, *self.ranks], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                missing = ", ".join(str(rank) for rank in range(self.world) if rank not in self.shares)
                sys.exit(f"gave up: heard nothing from rank {missing} for {self.timeout:g} s")
            for sock in ready:
                if sock is self.listener:
                    self.ranks[sock.accept()[0]] = 0
                    continue
                try:
                    if self.ranks.get(sock) == 0:
                        self.welcome(sock, step, weights)
                    elif sock in self.ranks:
                        self.shares[self.ranks[sock]] = receive(sock, SUMS)
                except OSError:
                    self.drop(sock)
        return [sum(column) for column in zip(*(self.shares[i] for i in range(self.world)), strict=True)]

    def welcome(self, sock: socket.socket, step: int, weights: list[float]) -> None:
        """Ask a newcomer for its rank and tell it where we are; it replaces the worker that had that rank before."""
        rank, world = map(int, receive(sock, 2))
        send(sock, [self.world, step, *weights])
        if world != self.world or not 0 < rank < world:
            raise ConnectionError("not one of ours, as it sees from our answer")
        for old in [other for other, its_rank in self.ranks.items() if its_rank == rank]:
            self.drop(old)
        self.ranks[sock] = rank
        say(f"rank {rank} has joined")

    def drop(self, sock: socket.socket) -> None:
        """Forget a connection; what came over it for this step is sent again by the worker that replaces it."""
        rank = self.ranks.pop(sock, 0)
        sock.close()
        if rank:
            self.shares.pop(rank, None)
            say(f"rank {rank} is gone; waiting up to {self.timeout:g} s for it to come back")

    def tell(self, sums: list[float]) -> None:
        """Send the sums of a step to all workers; the next step notices who is gone."""
        for sock in [sock for sock, rank in self.ranks.items() if rank]:
            with suppress(OSError):
                send(sock, sums)


def lead(rank: int, world: int, address: tuple[str, int], args: argparse.Namespace) -> None:
    """Train as rank 0: keep the checkpoint, print the progress, judge the result."""
    batches, held_out = load_images(rank, world)
    step, weights, percent, file = 0, [0.0] * WEIGHTS, 0.0, args.checkpoint
    if file and file.exists():
        step, weights, percent = json.loads(file.read_text())
        say(f"epoch {step // EPOCH}/{args.epochs}  going on from {file}")
    workers = Workers(world, address, args.timeout)
    while step < args.epochs * EPOCH:
        sums = workers.collect(step, weights, gradient(weights, batches[step % EPOCH]))
        weights = downhill(weights, sums)
        step += 1
        if step % EPOCH == 0:
            percent = accuracy(weights, held_out)
            line = f"epoch {step // EPOCH}/{args.epochs}  loss {sums[-1] / BATCH:.2f}"
            say(f"{line}  held-out accuracy {percent:.1f} %  world size {world}")
            if file:  # written beside the old one, then put in its place: there never is half a checkpoint
                file.parent.mkdir(parents=True, exist_ok=True)
                new = file.with_name(file.name + ".new")
                new.write_text(json.dumps([step, weights, percent]))
                new.replace(file)
        workers.tell(sums)
        time.sleep(args.pace)
    if percent < args.min_accuracy:
        sys.exit(f"failed: held-out accuracy {percent:.1f} % is below {args.min_accuracy:g} %")
    if file:
        file.unlink()  # the next run starts from the beginning
    say(f"done: held-out accuracy {percent:.1f} %")


def follow(rank: int, world: int, address: tuple[str, int], args: argparse.Namespace) -> None:
    """Train as any other rank; when the master is lost, look for it until nothing has moved for too long."""
    batches, _ = load_images(rank, world)
    patience = args.timeout + 5  # the master gives up first, because it can say who is missing
    moved, looking = time.monotonic(), False
    while True:
        try:
            with socket.create_connection(address, timeout=patience) as sock:
                send(sock, [rank, world])
                masters_world, start, *weights = receive(sock, 2 + WEIGHTS)
                if masters_world != world:
                    refuse(f"WORLD_SIZE is {world} here, but {masters_world:g} at the master")
                say(f"joined in epoch {int(start) // EPOCH + 1}/{args.epochs}")
                looking = False
                for step in range(int(start), args.epochs * EPOCH):
                    send(sock, gradient(weights, batches[step % EPOCH]))
                    sums = receive(sock, SUMS)
                    weights, moved = downhill(weights, sums), time.monotonic()
                    if step % EPOCH == EPOCH - 1:
                        say(f"epoch {step // EPOCH + 1}/{args.epochs}  loss {sums[-1] / BATCH:.2f}")
                return
        except OSError as problem:
            if time.monotonic() - moved > patience:
                sys.exit(f"gave up: no answer from {address[0]}:{address[1]} for {patience:g} s: {problem}")
            if not looking:
                say(f"looking for the master at {address[0]}:{address[1]}")
                looking = True
            time.sleep(0.2)


def refuse(sentence: str) -> NoReturn:
    """End because of a setting that makes no sense."""
    print(sentence, file=sys.stderr)
    sys.exit(2)


def whole_number(name: str, default: str) -> int:
    """The value of an environment variable that has to be a whole number."""
    text = os.environ.get(name, default)
    return int(text) if text.isdecimal() else refuse(f"{name} has to be a whole number, not {text!r}")


def main() -> None:
    """Find out which of the processes this is, and do its part."""
    parser = argparse.ArgumentParser(description="Learn to read handwritten digits; one process of several.")
    parser.add_argument("--epochs", type=int, default=12, help="how often to see all images")
    parser.add_argument("--checkpoint", type=Path, help="file that a restarted master goes on from")
    parser.add_argument("--min-accuracy", type=float, default=90, help="fail below this per cent")
    parser.add_argument("--pace", type=float, default=0, help="seconds to pause after each step")
    parser.add_argument("--timeout", type=float, default=60, help="seconds to wait for a lost process")
    args = parser.parse_args()
    rank, world = whole_number("RANK", "0"), whole_number("WORLD_SIZE", "1")
    address = os.environ.get("MASTER_ADDR", "127.0.0.1"), whole_number("MASTER_PORT", "0")
    if not rank < world <= BATCH:
        refuse(f"RANK {rank} of WORLD_SIZE {world} does not work: RANK < WORLD_SIZE <= {BATCH} is needed")
    if world > 1 and not 0 < address[1] < 65536:
        refuse("MASTER_PORT has to be the port of rank 0, from 1 to 65535")
    part = lead if rank == 0 else follow
    try:
        part(rank, world, address, args)
    except OSError as problem:
        sys.exit(f"rank {rank} cannot work: {problem}")


if __name__ == "__main__":
    main()
