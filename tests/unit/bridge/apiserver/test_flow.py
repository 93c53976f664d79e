"""The gate: how many requests at a time, and that no place is ever lost."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from k8s_bridge.apiserver.flow import Gate
from tests.support.seeds import seeds
from tests.support.simulated import run_simulated


def simulated(coro: Coroutine[Any, Any, None], seed: int = 1) -> None:
    run_simulated(coro, seed)


class Load:
    """Requests through a gate, each as long as it likes; knows how many were inside at once."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.inside = 0
        self.most = 0
        self.done: list[object] = []

    async def request(self, name: object = None, seconds: float = 1.0, *, behind: bool = False) -> None:
        async with self.gate.place(behind=behind):
            self.inside += 1
            self.most = max(self.most, self.inside)
            try:
                await asyncio.sleep(seconds)
            finally:
                self.inside -= 1
        self.done.append(name)


async def all_places_are_there(gate: Gate) -> None:
    """As many as there are places get in together, and not one more."""
    load = Load(gate)
    await asyncio.gather(*(load.request() for _ in range(gate.places * 3)))
    assert load.most == gate.places


def test_no_more_are_inside_than_there_are_places() -> None:
    simulated(all_places_are_there(Gate(5)))


def test_places_are_given_in_order_of_arrival() -> None:
    async def main() -> None:
        load = Load(Gate(2))
        await asyncio.gather(*(load.request(name) for name in range(20)))
        assert load.done == list(range(20))

    simulated(main())


def test_a_newcomer_does_not_overtake_those_who_wait() -> None:
    async def main() -> None:
        load = Load(Gate(1))
        waiting = [asyncio.create_task(load.request(name)) for name in range(2)]
        await asyncio.sleep(0)
        waiting[0].add_done_callback(lambda _: waiting.append(asyncio.create_task(load.request("new"))))
        await asyncio.sleep(10)
        assert load.done == [0, 1, "new"]

    simulated(main())


def test_what_is_behind_lets_the_others_pass_while_there_are_many_but_goes_on() -> None:
    async def main() -> None:
        load = Load(Gate(10))
        behind = [load.request(f"behind {number}", behind=True) for number in range(20)]
        first = [load.request(f"first {number}") for number in range(90)]
        await asyncio.gather(*first, *behind)
        assert load.most == 10
        after_the_first = [str(value) for value in load.done[: load.done.index("first 89")]]
        assert 8 <= sum(word.startswith("behind") for word in after_the_first) <= 10

    simulated(main())


def test_what_is_behind_has_all_places_but_a_few_while_there_is_little_else() -> None:
    async def main() -> None:
        load = Load(Gate(10))
        first = asyncio.create_task(load.request("first", 10))
        await asyncio.gather(*(load.request(behind=True) for _ in range(18)))
        assert load.most == 10
        assert asyncio.get_running_loop().time() == 2
        await first

    simulated(main())


def test_what_is_behind_keeps_to_its_share_while_others_are_many_though_places_are_free() -> None:
    async def main() -> None:
        gate = Gate(20)
        first, behind = Load(gate), Load(gate)
        requests = [asyncio.create_task(first.request(seconds=10)) for _ in range(8)]
        await asyncio.sleep(0)
        requests += [asyncio.create_task(behind.request(seconds=20, behind=True)) for _ in range(12)]
        await asyncio.sleep(5)
        assert (first.inside, behind.inside) == (8, 2), "a tenth of the places"
        await asyncio.sleep(6)
        assert (first.inside, behind.inside) == (0, 12)
        await asyncio.gather(*requests)

    simulated(main())


def test_a_request_behind_that_is_cancelled_leaves_its_place() -> None:
    async def main() -> None:
        gate = Gate(2)
        load = Load(gate)
        waiting = [asyncio.create_task(load.request(behind=True)) for _ in range(6)]
        await asyncio.sleep(0.5)
        for task in waiting[::2]:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await all_places_are_there(gate)

    simulated(main())


def test_a_complaint_closes_the_gate_and_halves_the_places() -> None:
    async def main() -> None:
        gate = Gate(8)
        gate.complained(30)
        began = asyncio.get_running_loop().time()
        async with gate.place():
            assert asyncio.get_running_loop().time() - began >= 30
        assert gate.places == 4
        await all_places_are_there(gate)

    simulated(main())


def test_complaints_of_requests_that_were_under_way_together_are_one() -> None:
    async def main() -> None:
        gate = Gate(16)
        for _ in range(10):
            gate.complained(1)
        assert gate.places == 8
        await asyncio.sleep(1)
        gate.complained(1)
        assert gate.places == 4

    simulated(main())


def test_two_places_are_left_however_much_is_complained() -> None:
    async def main() -> None:
        gate = Gate(8)
        for _ in range(10):
            gate.complained(1)
            await asyncio.sleep(1)
        assert gate.places == 2

    simulated(main())


def test_the_longest_wait_that_was_asked_for_counts() -> None:
    async def main() -> None:
        gate = Gate()
        gate.complained(60)
        gate.complained(1)
        async with gate.place():
            assert asyncio.get_running_loop().time() >= 60

    simulated(main())


def test_good_answers_give_the_places_back_one_by_one() -> None:
    async def main() -> None:
        gate = Gate(8)
        gate.complained(0)
        grew = [gate.places]
        for _ in range(100):
            gate.pleased()
            grew.append(gate.places)
        assert grew[0] == 4
        assert grew[-1] == 8
        assert grew == sorted(grew)
        assert grew.count(4) >= 4

    simulated(main())


def test_a_new_place_is_given_to_who_waits() -> None:
    async def main() -> None:
        gate = Gate(4)
        gate.complained(0)
        load = Load(gate)
        tasks = [asyncio.create_task(load.request(seconds=1000)) for _ in range(4)]
        await asyncio.sleep(1)
        assert load.inside == 2
        for _ in range(20):
            gate.pleased()
        await asyncio.sleep(1)
        assert load.inside == 4
        await asyncio.gather(*tasks)

    simulated(main())


def test_who_gives_up_while_the_gate_is_closed_leaves_the_place_to_the_next() -> None:
    async def main() -> None:
        gate = Gate(4)
        gate.complained(10)
        gate.complained(10)
        load = Load(gate)
        tasks = [asyncio.create_task(load.request(name)) for name in range(3)]
        await asyncio.sleep(1)
        tasks[0].cancel()
        tasks[1].cancel()
        async with asyncio.timeout(60):
            await tasks[2]

    simulated(main())


def test_who_gives_up_in_the_moment_of_getting_a_place_passes_it_on() -> None:
    async def main() -> None:
        gate = Gate(1)
        load = Load(gate)
        tasks = [asyncio.create_task(load.request(name)) for name in range(3)]
        tasks[0].add_done_callback(lambda _: tasks[1].cancel())
        async with asyncio.timeout(60):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert load.done == [0, 2]
        await all_places_are_there(gate)

    simulated(main())


def test_an_error_inside_frees_the_place() -> None:
    async def main() -> None:
        gate = Gate(1)
        for _ in range(3):
            with pytest.raises(ValueError, match="wrong"):
                async with gate.place():
                    raise ValueError("wrong")
        await all_places_are_there(gate)

    simulated(main())


@pytest.mark.parametrize("seed", seeds(50))
def test_no_place_is_lost_whatever_is_cancelled_whenever(seed: int) -> None:
    async def main() -> None:
        chance = random.Random(seed)
        gate = Gate(6)
        load = Load(gate)
        tasks = []
        for _ in range(300):
            tasks.append(asyncio.create_task(load.request(seconds=chance.choice([0, 0, 0.1, 1]))))
            match chance.randrange(8):
                case 0:
                    gate.complained(chance.choice([0, 0.1, 2]))
                case 1 | 2:
                    gate.pleased()
                case 3 | 4:
                    chance.choice(tasks).cancel()
                case _:
                    await asyncio.sleep(chance.choice([0, 0, 0.05, 0.5]))
        async with asyncio.timeout(3600):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert load.most <= 6
        await all_places_are_there(gate)

    simulated(main(), seed)
