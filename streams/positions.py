"""Which record of each partition comes next, and does what was fetched follow on it?"""

from collections.abc import Iterable, Mapping
from typing import Any

from streams.acknowledge import Place


class Positions:
    """The next offset of each partition that is read, kept apart from the Kafka client's.

    The client moves on with what it has fetched, also where a rebalance keeps it from being
    delivered: what is taken here is what follows on what was taken before, nothing else.
    """

    def __init__(self) -> None:
        self._next: dict[Place, int] = {}
        self._again: set[Place] = set()
        self._gaps: dict[Place, tuple[int, int]] = {}

    def start(self, starts: Mapping[Place, int]) -> None:
        """Begin to read partitions, or begin anew, at these offsets."""
        self.forget(starts)
        self._next.update(starts)

    def forget(self, places: Iterable[Place]) -> None:
        """Read partitions no longer."""
        for place in places:
            self._next.pop(place, None)
            self._gaps.pop(place, None)
            self._again.discard(place)

    def next(self, place: Place) -> int | None:
        """Tell which offset comes next; None for a partition that is not read."""
        return self._next.get(place)

    def places(self) -> list[Place]:
        """List the partitions that are read."""
        return list(self._next)

    def take(self, place: Place, raw: tuple[Any, ...]) -> tuple[Any, ...]:
        """Give what is new of a fetched slice, and move on behind it.

        Nothing is given where the slice does not follow on what was taken; the partition is then to
        be fetched `again`. A gap is believed when a second fetch from the expected offset shows it
        once more (a compacted topic, a transaction's marker).
        """
        expected = self._next.get(place)
        if expected is None or place in self._again:
            return ()
        first = raw[0].offset
        if first < expected:
            raw = tuple(record for record in raw if record.offset >= expected)
        elif first > expected and self._gaps.get(place) != (expected, first):
            self._gaps[place] = (expected, first)
            self._again.add(place)
            return ()
        if raw:
            self._next[place] = raw[-1].offset + 1
        return raw

    def missed(self, places: Iterable[Place]) -> None:
        """Note partitions of which something was fetched and not taken."""
        self._again.update(places)

    def again(self) -> dict[Place, int]:
        """Give where partitions are to be fetched again, and take that for done."""
        places = {place: self._next[place] for place in self._again if place in self._next}
        self._again.clear()
        return places
