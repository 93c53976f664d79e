"""Learn to read handwritten digits with PyTorch's DistributedDataParallel, started by torchrun.

torchrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for every process; gloo, the backend for processors,
averages the gradients. The images are those of the digits example, read by hand, so PyTorch (1.13 or newer) is
all that is needed.
"""

import argparse
import gzip
import sys
from pathlib import Path

import torch  # type: ignore[import-not-found, unused-ignore]
import torch.distributed as dist  # type: ignore[import-not-found, unused-ignore]
from torch import nn  # type: ignore[import-not-found, unused-ignore]
from torch.nn.parallel import DistributedDataParallel  # type: ignore[import-not-found, unused-ignore]

DATA = Path(__file__).resolve().parent.parent / "digits" / "digits.csv.gz"
BATCH = 60  # images in a step, over all processes


def load_images() -> tuple[torch.Tensor, torch.Tensor]:
    """All images, each a row of 64 pixels from 0 to 1, and the digits they show."""
    with gzip.open(DATA, "rt") as lines:
        rows = torch.tensor([[int(number) for number in line.split(",")] for line in lines])
    return rows[:, :-1] / 16, rows[:, -1]


def main() -> None:
    """Train as one process of several; all end up with the same weights, rank 0 tells about them."""
    parser = argparse.ArgumentParser(description="Learn to read handwritten digits with PyTorch DDP.")
    parser.add_argument("--epochs", type=int, default=12, help="how often to see all images")
    parser.add_argument("--min-accuracy", type=float, default=90, help="fail below this per cent")
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)  # several processes share this machine
    torch.manual_seed(0)

    pixels, digits = load_images()
    held_out = torch.arange(len(digits)) % 5 == 0  # every fifth image only tests what was learnt
    train = torch.nonzero(~held_out).flatten()

    network = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    model = DistributedDataParallel(network)  # averages the gradients of all processes in every backward()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    accuracy = 0.0
    for epoch in range(1, args.epochs + 1):
        shuffled = train[torch.randperm(len(train))]  # the same order everywhere: all have the same seed
        for batch in shuffled.split(BATCH):
            mine = batch[rank::world]
            loss = nn.functional.cross_entropy(model(pixels[mine]), digits[mine])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            guesses = network(pixels[held_out]).argmax(dim=1)
        accuracy = 100 * (guesses == digits[held_out]).float().mean().item()
        if rank == 0:
            line = f"epoch {epoch}/{args.epochs}  loss {loss.item():.2f}"
            print(f"{line}  held-out accuracy {accuracy:.1f} %  world size {world}", flush=True)

    dist.barrier()
    dist.destroy_process_group()
    if accuracy < args.min_accuracy:
        sys.exit(f"failed: held-out accuracy {accuracy:.1f} % is below {args.min_accuracy:g} %")
    if rank == 0:
        print(f"done: held-out accuracy {accuracy:.1f} %", flush=True)


if __name__ == "__main__":
    main()
