"""Closed jobs in little memory are what a dict of them would be."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachine.ids import JobUid, Seq
from statemachine.log import closed_jobs
from statemachine.log.closed_jobs import ClosedInAll, ClosedJobs

ALIKE = st.binary(min_size=16, max_size=16) | st.lists(
    st.sampled_from([b"\0", b"\1"]), min_size=16, max_size=16
).map(b"".join)
"""Of a few bytes: so uids occur in the middle of others, too."""

UIDS = ALIKE.map(lambda uid: str(UUID(bytes=uid)))
NAMES = UIDS | UIDS.map(str.upper) | UIDS.map(lambda uid: uid.replace("-", "")) | st.text(max_size=36)
"""A UUID that is written otherwise is another uid."""

SEQS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("number", [1, 1 << 16])
@given(st.lists(st.tuples(NAMES, SEQS)), st.lists(NAMES))
def test_they_are_what_a_dict_would_be(number: int, noted: list[tuple[str, Seq]], others: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closed_jobs, "_SHELVES", number)
        jobs, model = ClosedJobs(), dict[str, Seq]()
        for uid, seq in noted:
            jobs.add(JobUid(uid), seq)
            model[uid] = seq
        assert dict(jobs) == model
        assert len(jobs) == len(model)
        for uid in others:
            assert (JobUid(uid) in jobs, jobs.get(JobUid(uid))) == (uid in model, model.get(uid))


@given(st.lists(NAMES), st.text("01-", max_size=6) | NAMES)
def test_uids_are_searched_by_their_beginnings(uids: list[str], begin: str) -> None:
    jobs = ClosedJobs(dict.fromkeys(map(JobUid, uids), 1))
    assert sorted(jobs.starting_with(begin)) == sorted({uid for uid in uids if uid.startswith(begin)})


@pytest.mark.parametrize(("damaged", "kept"), [(-1, 0), (2**32, 2**32 - 1), (2**80, 2**32 - 1)])
def test_a_number_that_does_not_fit_ends_no_start(damaged: Seq, kept: Seq) -> None:
    uid = JobUid(str(UUID(int=1)))
    assert dict(ClosedJobs({uid: damaged})) == {uid: kept}


def test_none_is_known_after_all_were_dropped() -> None:
    jobs = ClosedJobs({JobUid(str(UUID(int=1))): 1, JobUid("train"): 2})
    jobs.clear()
    assert (len(jobs), list(jobs), bool(jobs)) == (0, [], False)


def test_those_of_several_partitions_are_searched_as_one() -> None:
    first, second = (ClosedJobs({JobUid(str(UUID(int=number))): number}) for number in (1, 2))
    both = ClosedInAll([first, second])
    assert dict(both) == {**first, **second}
    assert (len(both), JobUid("train") in both) == (2, False)
    assert list(both.starting_with(str(UUID(int=2)))) == list(second)
