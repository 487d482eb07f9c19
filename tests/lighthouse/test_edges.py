"""What turns of an entity's relations do to its edges, without a database."""

from lighthouse import Kind
from lighthouse.write.edges import Edge, Edges, Origin, late_from, turn_edges
from lighthouse.write.timeline import Timeline, Turn

ROOM = Kind("Room")
THING = Kind("Thing", relations={"IN": ROOM})


def _turned(turns: list[Turn], edges: Edges | None = None) -> dict[str, list[tuple]]:
    timeline = Timeline(THING, "a", [])
    timeline.turns = turns
    after = turn_edges(timeline, edges or {})
    return {
        str(key): sorted(((edge.start, edge.end) for edge in known), key=str)
        for key, known in after.get("IN", {}).items()
    }


def _to(*keys: str) -> dict[str, tuple]:
    return {"IN": keys}


def _stored(target: str, start: int, end: int | None = None) -> Edge:
    return Edge(target, start, end, stored=True, was=start, origin=Origin("old", 0, None))


def test_targets_no_longer_named_end_and_new_ones_begin() -> None:
    """A target that stays is not touched."""
    turn = Turn(5, None, _to("b", "c"), before=_to("a", "b"), after=None)

    assert _turned([turn]) == {"a": [(None, 5)], "c": [(5, None)]}


def test_a_chain_opens_and_ends_its_own_edges() -> None:
    """An edge opened by one row of a batch is ended by a later one."""
    turns = [
        Turn(5, None, _to("a"), before=_to(), after=None),
        Turn(7, None, _to(), before=_to("a"), after=None),
    ]

    assert _turned(turns) == {"a": [(5, 7)]}


def test_a_late_row_cuts_extends_and_opens() -> None:
    """The worked example of three rows: r1 ends early, r2 is cut in two, r3 begins earlier, r4 is between."""
    edges = {
        "IN": {"r1": [_stored("r1", 1, 10)], "r2": [_stored("r2", 1)], "r3": [_stored("r3", 10)]},
    }
    turn = Turn(5, 10, _to("r3", "r4"), before=_to("r1", "r2"), after=_to("r2", "r3"))

    turned = _turned([turn], edges)

    assert turned == {
        "r1": [(1, 5)],
        "r2": [(1, 5), (10, None)],
        "r3": [(5, None)],
        "r4": [(5, 10)],
    }
    assert [edge.origin.by for edge in edges["IN"]["r2"]] == ["old", "old"]
    assert edges["IN"]["r4"][0].origin is None


def test_edges_are_read_only_where_a_late_row_moves_one() -> None:
    """A late row between two neighbours with its own relations asks for no edge."""
    calm, moving = Timeline(THING, "a", []), Timeline(THING, "a", [])
    calm.turns = [Turn(5, 10, _to("a"), before=_to("a"), after=_to("a"))]
    moving.turns = [*calm.turns, Turn(7, 10, _to("b"), before=_to("a"), after=_to("a"))]

    assert late_from(calm) is None
    assert late_from(moving) == 7
