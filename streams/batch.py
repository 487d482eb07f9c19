"""Which calls of the library write a batch, so that the rows of one entity keep their order?"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from lighthouse import Kind
from streams.events import Routed


@dataclass(frozen=True, slots=True)
class Call:
    """Rows that one call of the library takes together: one graph, kind, writer and provenance.

    `partial` says that the rows change only what they name.
    """

    graph: str
    kind: Kind
    by: str
    provenance: str | None
    partial: bool
    rows: list[Routed] = field(default_factory=list)


def calls(rows: Iterable[Routed]) -> list[Call]:
    """Lay rows, given in offset order, into calls to be made one after the other.

    Every row is in one call. Rows of one entity take effect in the order given: a later one is in
    the same call behind the earlier, or in a later call. A row joins the earliest call that allows
    this, so rows of one writer that are all full, or all partial, make one call for each graph and
    kind.
    """
    lanes: dict[tuple[str, str], _Lane] = {}
    for routed in rows:
        place = (routed.graph, routed.kind.label)
        lane = lanes.get(place)
        if lane is None:
            lane = lanes[place] = _Lane()
        lane.add(routed)
    return [call for lane in lanes.values() for call in lane.calls]


class _Lane:
    """The calls for one kind in one graph."""

    __slots__ = ("_at", "_last", "calls")

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._at: dict[tuple[str, str | None, bool], list[int]] = {}
        self._last: dict[str | int, int] = {}

    def add(self, routed: Routed) -> None:
        row = routed.row
        signature = (routed.by, routed.provenance, row.partial)
        places = self._at.get(signature)
        if places is None:
            places = self._at[signature] = []
        nth = bisect_left(places, self._last.get(row.key, 0))
        if nth == len(places):
            places.append(len(self.calls))
            self.calls.append(Call(routed.graph, routed.kind, *signature))
        index = places[nth]
        self.calls[index].rows.append(routed)
        self._last[row.key] = index
