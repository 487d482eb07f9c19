"""Whatever happens to fetches, every record of a partition is taken once and in order."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from streams.positions import Positions

PLACE = ("rows", 0)


@dataclass(frozen=True)
class Raw:
    """A record as far as its place goes."""

    offset: int


def raws(*offsets: int) -> tuple[Raw, ...]:
    """Make records of these offsets."""
    return tuple(Raw(offset) for offset in offsets)


def started(offset: int = 0) -> Positions:
    """Begin to read a partition at an offset."""
    positions = Positions()
    positions.start({PLACE: offset})
    return positions


def test_what_follows_is_taken() -> None:
    """A slice that begins where the last one ended is given whole."""
    positions = started(5)

    assert positions.take(PLACE, raws(5, 6)) == raws(5, 6)
    assert positions.take(PLACE, raws(7)) == raws(7)
    assert (positions.next(PLACE), positions.again(), positions.places()) == (8, {}, [PLACE])


def test_what_was_taken_is_not_taken_again() -> None:
    """Of a fetch from further back only the new part is given."""
    positions = started(5)

    assert positions.take(PLACE, raws(3, 4, 5, 6)) == raws(5, 6)
    assert positions.take(PLACE, raws(3, 4)) == ()
    assert positions.next(PLACE) == 7


def test_a_lost_fetch_is_fetched_again() -> None:
    """A slice that leaves something out is refused, with all behind it, until it was looked at."""
    positions = started(5)

    assert positions.take(PLACE, raws(8, 9)) == ()
    assert positions.take(PLACE, raws(10)) == ()
    assert positions.again() == {PLACE: 5}
    assert positions.take(PLACE, raws(5, 6, 7, 8)) == raws(5, 6, 7, 8)


def test_a_gap_that_is_there_twice_is_believed() -> None:
    """A topic may have offsets that no record has."""
    positions = started(5)
    positions.take(PLACE, raws(8, 9))

    assert positions.again() == {PLACE: 5}
    assert positions.take(PLACE, raws(8, 9)) == raws(8, 9)
    assert (positions.next(PLACE), positions.again()) == (10, {})


def test_a_partition_that_is_not_read_gives_nothing() -> None:
    """Neither before it was started nor after it was taken away."""
    positions = started(5)
    positions.missed([PLACE, ("rows", 1)])
    positions.forget([PLACE])

    assert positions.take(PLACE, raws(5)) == ()
    assert (positions.next(PLACE), positions.again(), positions.places()) == (None, {}, [])


@given(
    jumps=st.lists(st.sampled_from([1, 1, 1, 1, 2, 7]), min_size=1, max_size=60),
    data=st.data(),
)
def test_every_record_is_taken_once_in_order(jumps: list[int], data: st.DataObject) -> None:
    """With gaps, lost fetches, repeated ones, and slices that were fetched and not taken."""
    log = [sum(jumps[: n + 1]) for n in range(len(jumps))]
    positions, taken, at = started(), [], 0
    while at <= log[-1] or positions.next(PLACE) <= log[-1]:
        again = positions.again()
        at = again.get(PLACE, at)
        fetched = [offset for offset in log if offset >= at][: data.draw(st.integers(1, 5))]
        # A second loss in a row would need a rebalance between, and that starts the partition anew.
        fates = ["taken", "taken", "missed", "from before"] + ["lost"] * (not again)
        fate = data.draw(st.sampled_from(fates))
        if fate == "from before":
            fetched = [o for o in log if o >= data.draw(st.integers(0, at))][:5]
        elif not fetched:
            # Nothing behind a lost fetch would show it: a rebalance starts the partition anew.
            positions.missed([PLACE])
            continue
        if fetched:
            at = fetched[-1] + 1
        if fate == "missed":
            positions.missed([PLACE])
        elif fate != "lost" and fetched:
            taken += [record.offset for record in positions.take(PLACE, raws(*fetched))]

    assert taken == log
