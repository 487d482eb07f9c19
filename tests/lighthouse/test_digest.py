"""Whether two graphs tell the same history: one number for what is covered, blind to all else."""

import secrets
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from falkordb import Graph

import lighthouse
from lighthouse import SELF, Kind, SchemaMissing, digest, ensure_schema, remember

ROOM = Kind("Room")
THING = Kind("Thing", times=("built",), relations={"IN": ROOM, "NEAR": SELF}, text=("note",))
MICRO = timedelta(microseconds=1)
START = datetime(2026, 1, 1, tzinfo=UTC)


def row(t: int, value: object = 1, **more: object) -> dict:
    """A row of the entity `k` at a day of January."""
    values = {"v": value, "note": "Hello", "built": START, **more.pop("values", {})}
    return {
        "key": "k", "t": START + timedelta(days=t), "values": values,
        "relations": {"IN": ["a", 1], "NEAR": "k"}, **more,
    }  # fmt: skip


#: Two States, of which the first was seen again.
BASE = [row(1), row(3), row(5, 2)]
NUMBER_AS_TEXT = {"IN": ["a", "1"], "NEAR": "k"}


@pytest.fixture(name="fresh")
def _fresh(db):
    """Give graphs with the schema of a thing, as many as are asked for."""
    made: list[Graph] = []

    def make() -> Graph:
        graph = db.select_graph(f"test-{secrets.token_hex(6)}")
        ensure_schema(graph, [THING])
        made.append(graph)
        return graph

    yield make
    for graph in made:
        graph.delete()


@pytest.fixture(name="told", scope="module")
def _told(db):
    """A graph that tells the base, and its digest; a test must put back what it changes."""
    graph = db.select_graph(f"test-{secrets.token_hex(6)}")
    ensure_schema(graph, [THING])
    remember(graph, THING, BASE, by="feed")
    yield graph, digest(graph, [THING])
    graph.delete()


def test_it_is_64_hex_digits(told) -> None:
    """The same on every call."""
    graph, number = told

    assert len(number) == 64
    assert int(number, 16) > 0
    assert digest(graph, [THING]) == number


def test_nothing_is_nought(fresh) -> None:
    """Of a graph without entities, of no kinds, and of entities that are only pointed at."""
    graph = fresh()
    assert digest(graph, [THING]) == "0" * 64

    remember(graph, THING, BASE, by="feed")

    assert digest(graph, []) == "0" * 64
    assert digest(graph, [ROOM]) == "0" * 64


def test_without_a_schema_there_is_none(graph) -> None:
    """SchemaMissing, of a graph that does not exist and of an empty one."""
    with pytest.raises(SchemaMissing):
        digest(graph, [THING])

    graph.query("RETURN 1")
    with pytest.raises(SchemaMissing):
        digest(graph, [THING])


def test_it_is_the_sum_over_kinds_and_entities(fresh) -> None:
    """Kinds add up modulo 2^256, in any order, a kind named twice once; so do entities."""
    graph, one, other = fresh(), fresh(), fresh()
    rooms = [{"key": key, "t": START, "values": {"v": key}} for key in ("a", "b")]
    remember(graph, THING, BASE, by="feed")
    remember(graph, ROOM, rooms, by="feed")
    remember(one, ROOM, rooms[:1], by="feed")
    remember(other, ROOM, rooms[1:], by="feed")

    things, both, first, second = (
        int(digest(*of), 16)
        for of in ((graph, [THING]), (graph, [ROOM]), (one, [ROOM]), (other, [ROOM]))
    )

    assert both == (first + second) % 2**256
    assert int(digest(graph, [ROOM, THING]), 16) == (things + both) % 2**256
    assert digest(graph, [ROOM, THING]) == digest(graph, [THING, ROOM, THING])


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([row(1, 9), row(3, 9), row(5, 2)], id="a value"),
        pytest.param([row(1, 1.0), row(3, 1.0), row(5, 2)], id="the type of a value"),
        pytest.param([row(1, True), row(3, True), row(5, 2)], id="a truth value for a number"),
        pytest.param([row(1, "1"), row(3, "1"), row(5, 2)], id="a text for a number"),
        pytest.param([{**it, "relations": NUMBER_AS_TEXT} for it in BASE], id="of a target"),
        pytest.param([row(1), row(3), row(5, 2, values={"w": 0})], id="one more value"),
        pytest.param([row(1), row(3), row(5, 2, values={"note": None})], id="one less value"),
        pytest.param([row(1), row(3), row(5, 2, values={"note": "hello"})], id="a capital"),
        pytest.param(
            [row(1), row(3), row(5, 2, values={"built": START + MICRO})], id="a time's microsecond"
        ),
        pytest.param([row(1), row(3), row(5, 2, values={"built": None})], id="no time"),
        pytest.param([row(1), row(3), row(5, 2, relations={"IN": ["a", 1]})], id="a relation less"),
        pytest.param(
            [row(1), row(3), row(5, 2, relations={"IN": ["a", "1"], "NEAR": "k"})],
            id="a target's type",
        ),
        pytest.param(
            [row(1), row(3), row(5, 2, relations={"IN": "k", "NEAR": ["a", 1]})],
            id="which relation",
        ),
        pytest.param([row(0), row(3), row(5, 2)], id="the first beginning"),
        pytest.param([row(1), row(3), row(6, 2)], id="the change"),
        pytest.param([row(1), row(2), row(5, 2)], id="the last sighting"),
        pytest.param([row(1), row(5, 2)], id="no sighting"),
        pytest.param([row(1), row(3), row(5, 2), row(6, 2)], id="one more sighting"),
        pytest.param([row(1), row(3), row(4), row(5, 2), row(7, 3)], id="one more State"),
        pytest.param([row(3), row(5, 2)], id="one row less"),
        pytest.param([{**it, "key": "K"} for it in BASE], id="the key"),
        pytest.param([row(1), row(3), row(5, 2), {**row(1), "key": "l"}], id="one more entity"),
    ],
)
def test_it_tells_histories_apart(told, fresh, rows) -> None:
    """Values, times, keys, windows, sightings and relations: each change gives another number."""
    graph = fresh()

    receipts = remember(graph, THING, rows, by="feed")

    assert {receipt["status"] for receipt in receipts} <= {"created", "changed", "unchanged"}
    assert digest(graph, [THING]) != told[1]


def test_it_tells_kinds_apart(fresh) -> None:
    """The same history under another label is another."""
    graph = fresh()
    other = Kind("Other", times=("built",), relations={"IN": ROOM, "NEAR": SELF}, text=("note",))
    ensure_schema(graph, [other])
    remember(graph, THING, BASE, by="feed")
    remember(graph, other, BASE, by="feed")

    assert digest(graph, [THING]) != digest(graph, [other])


def test_it_tells_every_digit_of_a_float_apart(fresh) -> None:
    """Two neighbours that fifteen digits do not tell, alone and in a list."""
    numbers = [0.3, 0.1 + 0.2, [0.3], [0.1 + 0.2]]
    graphs = [fresh() for _ in numbers]
    for graph, number in zip(graphs, numbers, strict=True):
        remember(graph, THING, [row(1, number)], by="feed")

    assert len({digest(graph, [THING]) for graph in graphs}) == 4


@pytest.mark.parametrize(
    ("change", "back"),
    [
        ("MATCH (s:State) WHERE s.valid_to IS NULL SET s.v = 3", "SET s.v = 2"),
        ("MATCH (s:State) WHERE s.valid_to IS NULL SET s.more = 1", "SET s.more = null"),
        ("MATCH (s:State) WHERE s.v = 1 SET s.`valid_from:us` = s.`valid_from:us` + 1", "- 1"),
        ("MATCH (s:State) WHERE s.v = 1 SET s.`valid_to:us` = s.`valid_to:us` + 1", "- 1"),
        ("MATCH (s:State) WHERE s.v = 1 SET s.`seen_last:us` = s.`seen_last:us` + 1", "- 1"),
        ("MATCH (s:State) WHERE s.v = 1 SET s.`built:us` = s.`built:us` + 1", "- 1"),
        ("MATCH ()-[o:IN]->({key: 'a'}) SET o.`valid_from:us` = o.`valid_from:us` + 1", "- 1"),
        ("MATCH ()-[o:IN]->({key: 'a'}) SET o.`valid_to:us` = 1767225600000000", "= null"),
    ],
)
def test_it_reads_what_is_stored(told, change, back) -> None:
    """A change made by hand, even of a microsecond, is seen; undone, it is not."""
    graph, number = told
    undo = {"-": change.replace("+ 1", back), "=": change.replace("= 1767225600000000", back)}.get(
        back[0], f"{change.partition(' SET ')[0]} {back}"
    )

    changed = graph.query(change).properties_set
    seen = digest(graph, [THING])
    graph.query(undo)

    assert changed == 1
    assert seen != number
    assert digest(graph, [THING]) == number


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            "MATCH (s:State) SET s.by = 'another', s.provenance = 'tool'", id="writers of States"
        ),
        pytest.param(
            "MATCH ()-[o:IN|NEAR]->() SET o.by = 'another', o.provenance = 'x'",
            id="writers of edges",
        ),
        pytest.param(
            "MATCH (s:State) SET s.recorded_at = localdatetime('2020-01-01T00:00:00'),"
            " s.`recorded_at:us` = 5",
            id="when it was recorded",
        ),
        pytest.param("MATCH (s:State) SET s.fp = 'x', s.words = 'y'", id="fingerprints and words"),
        pytest.param("MATCH (s:State) SET s.`partial:names` = ['v']", id="marks of States"),
        pytest.param(
            "MATCH (e:Thing {key: 'k'}) SET e.v = 99, e.`state:rev` = 7",
            id="the copy on the entity",
        ),
        pytest.param(
            "MATCH (s:State) CREATE (s)-[:FROM]->(:Entry {id: 'e/' + s.v})", id="evidence"
        ),
        pytest.param("MATCH (m:Stamp) SET m.id = 'another', m.entries = 5", id="the Stamp"),
        pytest.param("CREATE (:WriteFailure {same: 'x', times: 1})", id="failures"),
        pytest.param(
            "CREATE (:Agent {id: 'a'}), (:Episode {id: 'p'})-[:ABOUT]->(:Room {key: 'z'})",
            id="records",
        ),
        pytest.param(
            "CREATE (:Thing:Entity {key: 'only pointed at'})", id="an entity without State"
        ),
    ],
)
def test_it_does_not_see_what_is_no_history(fresh, told, change) -> None:
    """Who wrote it, when, on what evidence, under which ids: all that equal histories may lack."""
    graph = fresh()
    remember(graph, THING, BASE, by="feed")

    graph.query(change)

    assert digest(graph, [THING]) == told[1]


def test_other_writers_other_batches_and_other_ids_give_the_same(fresh, told) -> None:
    """Rows one by one, by others, beside refused ones, in a graph with other nodes before."""
    graph = fresh()
    graph.query("UNWIND range(1, 500) AS i CREATE (:Padding {i: i})")
    remember(graph, ROOM, [{"key": "a", "t": START}], by="other")
    for one in (*BASE, BASE[0], {"key": "k"}, row(2, 9)):
        remember(graph, THING, [one], by="other", provenance="chat")

    assert digest(graph, [THING]) == told[1]


def test_every_order_of_arrival_gives_the_same(fresh) -> None:
    """Late rows take their place: windows are cut and extended to one and the same history."""
    rows = [
        row(1, 1, relations={"IN": ["a", "b"]}),
        row(3, 2, relations={"IN": ["b", "c"], "NEAR": "k"}),
        row(5, 1, relations={"IN": ["a"]}),
        row(7, 3),
    ]
    numbers = set()
    graph = fresh()

    for place, order in enumerate(permutations(rows)):
        key = {"key": place}
        remember(
            graph,
            THING,
            [{**one, **key, "relations": one["relations"]} for one in order],
            by="feed",
        )
    for _ in range(2):
        alone = fresh()
        remember(alone, THING, rows if not numbers else rows[::-1], by="feed")
        numbers.add(digest(alone, [THING]))

    assert len(numbers) == 1
    shown = {
        str([(s["valid_from"], s["v"]) for s in lighthouse.history(graph, THING, n)])
        for n in range(24)
    }
    assert len(shown) == 1


def test_more_than_a_page_of_states_and_of_windows_counts(fresh) -> None:
    """5,100 States with a window each: the last one changes the number, batching does not."""
    count = 5_100
    rows = [
        {"key": "k", "t": START + n * MICRO, "values": {"v": n}, "relations": {"NEAR": n % 99}}
        for n in range(count)
    ]
    one, other = fresh(), fresh()
    for start in range(0, count, 500):
        remember(one, THING, rows[start : start + 500], by="feed")
    for start in range(0, count, 300):
        remember(other, THING, rows[start : start + 300], by="feed")
    whole = digest(one, [THING])

    assert digest(other, [THING]) == whole
    remember(other, THING, [{**rows[-1], "t": rows[-1]["t"] + MICRO}], by="feed")
    assert digest(other, [THING]) != whole
