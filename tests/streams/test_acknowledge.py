"""The leading acknowledged run decides, whatever order the acknowledgements come in."""

from hypothesis import given
from hypothesis import strategies as st

from streams.acknowledge import Progress

PLACE = ("rows", 0)


def test_nothing_may_be_committed_before_an_acknowledgement() -> None:
    """A partition whose deliveries are all open has no offset to commit."""
    progress = Progress()
    progress.deliver(PLACE, 9)

    assert progress.committable(PLACE) is None
    assert progress.places() == []
    assert progress.open_deliveries() == 1


def test_a_hole_of_one_delivery_holds_the_offset() -> None:
    """An open delivery at the head keeps everything behind it uncommitted."""
    progress = Progress()
    first, second = progress.deliver(PLACE, 0), progress.deliver(PLACE, 1)

    progress.acknowledge(second)
    assert progress.committable(PLACE) is None

    progress.acknowledge(first)
    assert progress.committable(PLACE) == 2


def test_a_late_acknowledgement_of_a_forgotten_partition_moves_nothing() -> None:
    """After a partition was taken away its old deliveries cannot move the new ones' offset."""
    progress = Progress()
    progress.acknowledge(progress.deliver(PLACE, 9))
    old = progress.deliver(PLACE, 99)
    progress.forget([PLACE])
    assert (progress.committable(PLACE), progress.places()) == (None, [])
    new = progress.deliver(PLACE, 49)

    progress.acknowledge(old)
    assert progress.committable(PLACE) is None

    progress.acknowledge(new)
    assert progress.committable(PLACE) == 50


@given(
    sizes=st.lists(st.integers(1, 500), min_size=1, max_size=40),
    partitions=st.integers(1, 4),
    data=st.data(),
)
def test_the_commit_is_the_end_of_the_leading_acknowledged_run(
    sizes: list[int], partitions: int, data: st.DataObject
) -> None:
    """After every acknowledgement, in any order, the offset ends the leading run."""
    progress = Progress()
    delivered: dict[tuple[str, int], list] = {("t", n): [] for n in range(partitions)}
    for number, size in enumerate(sizes):
        place = ("t", number % partitions)
        before = delivered[place][-1].last if delivered[place] else -1
        delivered[place].append(progress.deliver(place, before + size))
    order = data.draw(st.permutations([d for run in delivered.values() for d in run]))

    acknowledged: set[int] = set()
    for delivery in order:
        progress.acknowledge(delivery)
        acknowledged.add(id(delivery))
        for place, run in delivered.items():
            leading = None
            for each in run:
                if id(each) not in acknowledged:
                    break
                leading = each.last + 1
            assert progress.committable(place) == leading
    assert progress.open_deliveries() == 0
