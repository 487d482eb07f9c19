"""When may an offset move? Only over the leading acknowledged deliveries of its partition."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

#: A topic and one of its partitions.
Place = tuple[str, int]


@dataclass(slots=True, eq=False)
class Delivery:
    """One slice of a partition on its way through the worker; known by identity."""

    place: Place
    #: Offset of its last record.
    last: int
    acknowledged: bool = False


class Progress:
    """What was delivered of each partition, and how far all of it is done.

    Used from one thread. Whatever order the acknowledgements come in, a commit never passes a
    delivery that is still open.
    """

    def __init__(self) -> None:
        self._open: dict[Place, deque[Delivery]] = {}
        self._done: dict[Place, int] = {}

    def deliver(self, place: Place, last: int) -> Delivery:
        """Note a slice that ends at the offset `last`; return the delivery to acknowledge later."""
        delivery = Delivery(place, last)
        self._open.setdefault(place, deque()).append(delivery)
        return delivery

    def acknowledge(self, delivery: Delivery) -> None:
        """Mark a delivery as done: its effects are stored and its receipts are with the broker.

        One of a partition that was forgotten since changes nothing: it will be delivered again.
        """
        delivery.acknowledged = True
        waiting = self._open.get(delivery.place)
        while waiting and waiting[0].acknowledged:
            self._done[delivery.place] = waiting.popleft().last + 1

    def committable(self, place: Place) -> int | None:
        """Return the offset that may be committed, None while nothing was acknowledged."""
        return self._done.get(place)

    def places(self) -> list[Place]:
        """List the partitions that have something to commit."""
        return list(self._done)

    def open_deliveries(self) -> int:
        """Count the deliveries that were not acknowledged yet."""
        return sum(len(waiting) for waiting in self._open.values())

    def forget(self, places: Iterable[Place]) -> None:
        """Drop partitions that were taken away or are read again from their committed offset."""
        for place in places:
            self._open.pop(place, None)
            self._done.pop(place, None)
