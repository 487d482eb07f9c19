"""Rows are laid into calls so that each is written once, and those of one entity in their order."""

from hypothesis import given
from hypothesis import strategies as st

from lighthouse import Kind
from streams.batch import calls
from streams.events import Record, Routed, Row

KINDS = {label: Kind(label) for label in ("Plane", "Airport")}


def routed(
    offset: int,
    key: str | int = "a",
    kind: str = "Plane",
    graph: str = "world",
    by: str = "feed",
    provenance: str | None = None,
    partial: bool = False,
) -> Routed:
    """Make a row; its offset says where it stood."""
    record = Record("rows", "id", 0, offset, 0, None, b"{}")
    row = Row(record, kind, key, "2026-01-01", None, None, None, partial)
    return Routed(row, KINDS[kind], graph, by, provenance)


def offsets(rows: list[Routed]) -> list[int]:
    """List the offsets of rows."""
    return [each.row.record.offset for each in rows]


rows_of_few_entities = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", 5, "5"]),
        st.sampled_from(sorted(KINDS)),
        st.sampled_from(["world", "tenant:x"]),
        st.sampled_from(["feed", "desk"]),
        st.sampled_from([None, "sensor"]),
        st.booleans(),
    ),
    max_size=40,
).map(lambda shapes: [routed(at, *shape) for at, shape in enumerate(shapes)])


@given(rows_of_few_entities)
def test_every_row_is_in_one_call_with_its_own_writer(rows: list[Routed]) -> None:
    """Nothing is lost, doubled, or said in another's name."""
    made = calls(rows)

    assert sorted(offset for call in made for offset in offsets(call.rows)) == offsets(rows)
    for call in made:
        for each in call.rows:
            assert (call.graph, call.kind, call.by) == (each.graph, each.kind, each.by)
            assert (call.provenance, call.partial) == (each.provenance, each.row.partial)


@given(rows_of_few_entities)
def test_rows_of_one_entity_stay_in_order(rows: list[Routed]) -> None:
    """Read call by call, the offsets of every entity rise."""
    seen: dict[tuple[str, str, str | int], int] = {}

    for call in calls(rows):
        for each in call.rows:
            entity = (each.graph, each.row.kind, each.row.key)
            assert seen.get(entity, -1) < each.row.record.offset
            seen[entity] = each.row.record.offset


@given(rows_of_few_entities)
def test_a_row_is_in_the_earliest_call_that_keeps_the_order(rows: list[Routed]) -> None:
    """No call of its own writer that stands behind the entity's last row was passed over."""
    last: dict[tuple[str, str, str | int], int] = {}
    lanes: dict[tuple[str, str], list] = {}
    for call in calls(rows):
        lanes.setdefault((call.graph, call.kind.label), []).append(call)
    place = {
        offset: index
        for lane in lanes.values()
        for index, call in enumerate(lane)
        for offset in offsets(call.rows)
    }
    first_row = {id(call): min(offsets(call.rows)) for lane in lanes.values() for call in lane}

    for each in rows:
        entity = (each.graph, each.row.kind, each.row.key)
        offset = each.row.record.offset
        lane = lanes[each.graph, each.row.kind]
        fitting = [
            index
            for index, call in enumerate(lane)
            if (call.by, call.provenance, call.partial)
            == (each.by, each.provenance, each.row.partial)
            and index >= last.get(entity, 0)
            and first_row[id(call)] <= offset
        ]
        assert place[offset] == fitting[0]
        last[entity] = place[offset]


@given(rows_of_few_entities)
def test_rows_of_one_writer_make_one_call_for_each_graph_and_kind(rows: list[Routed]) -> None:
    """Where nothing forces a cut there is none."""
    alike = [routed(at, each.row.key, each.row.kind, each.graph) for at, each in enumerate(rows)]

    assert len(calls(alike)) == len({(each.graph, each.row.kind) for each in alike})


def test_a_partial_row_between_full_ones_cuts_only_for_its_own_entity() -> None:
    """The full row behind it goes to a third call; another entity's full row stays in the first."""
    made = calls([routed(0, "a"), routed(1, "a", partial=True), routed(2, "a"), routed(3, "b")])

    assert [offsets(call.rows) for call in made] == [[0, 3], [1], [2]]
    assert [call.partial for call in made] == [False, True, False]
