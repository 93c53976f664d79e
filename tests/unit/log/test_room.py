"""When there is no room for what a store has to write, and for how long."""

from statemachine.log.room import QUIET, Room


def test_there_is_room_until_a_write_finds_none() -> None:
    room = Room()
    assert (room.lack(100.0), room.lasting(100.0)) == ("", 0.0)
    room.failed("no space", 100.0)
    assert (room.lack(100.5), room.lasting(100.5)) == ("no space", 0.0)


def test_failures_again_and_again_are_one_lack_that_lasts_from_the_first_to_the_last() -> None:
    room = Room()
    for now in (100.0, 101.0, 104.0, 108.0):
        room.failed("no space", now)
    assert room.lasting(108.5) == 8.0


def test_a_quiet_time_ends_it_and_the_next_failure_begins_anew() -> None:
    room = Room()
    room.failed("no space", 100.0)
    room.failed("no space", 103.0)
    assert room.lack(103.0 + QUIET) == ""
    room.failed("no space", 200.0)
    assert room.lasting(200.0) == 0.0
