"""What a graph needs before it is used: all of it is there and works, or the call says why."""

import threading
import uuid

import pytest
from falkordb import FalkorDB, Graph
from redis.exceptions import ResponseError

import lighthouse
from lighthouse import SELF, Kind, SchemaMissing, ensure_schema

CITY = Kind("City", key="code")
ROOM = Kind("Room", relations={"IN": CITY}, text=["name"])
THING = Kind(
    "Thing",
    key="serial",
    times=["built"],
    relations={"IN": ROOM, "NEAR": SELF},
    text=["note"],
    dimensions=3,
)
PLAIN = Kind("Plain")
T = "2026-01-01"

#: What every graph has, whatever its kinds.
UNIQUE = {
    *[("Task", "id"), ("Agent", "id"), ("Episode", "id"), ("Entry", "id"), ("Handoff", "id")],
    *[
        ("Lesson", "id"),
        ("Playbook", "id"),
        ("Session", "key"),
        ("Message", "key"),
        ("Reference", "key"),
    ],
}
RANGE = {
    *[("Task", "status"), ("Playbook", "name"), ("Session", "user"), ("WriteFailure", "owner")],
    *[("WriteFailure", "same"), ("Entry", "serial"), ("State", "valid_from:us"), ("State", "by")],
    *[("Episode", "opened_at:us"), ("Episode", "closed_at:us")],
}
FULLTEXT = {("Message", "words"), ("Entry", "words")}


def constraints(graph: Graph) -> dict[tuple[str, str], str]:
    """The status of each unique constraint, by label and property."""
    rows = graph.ro_query(
        "CALL db.constraints() YIELD type, label, properties, entitytype, status"
        " RETURN type, label, properties, entitytype, status"
    ).result_set
    assert {(row[0], row[3], len(row[2])) for row in rows} <= {("UNIQUE", "NODE", 1)}
    return {(row[1], row[2][0]): row[4] for row in rows}


def indexes(graph: Graph, sort: str) -> set[tuple[str, str]]:
    """Label and property of each index of a sort; all of them must be operational."""
    rows = graph.ro_query(
        "CALL db.indexes() YIELD label, types, status, entitytype"
        " RETURN label, types, status, entitytype"
    ).result_set
    assert {(row[2], row[3]) for row in rows} == {("OPERATIONAL", "NODE")}
    return {(row[0], name) for row in rows for name, sorts in row[1].items() if sort in sorts}


def vector_options(graph: Graph) -> dict[str, dict]:
    """The options of each vector index, by label."""
    rows = graph.ro_query(
        "CALL db.indexes() YIELD label, types, options WHERE 'VECTOR' IN types.vector"
        " RETURN label, options"
    ).result_set
    return {label: options["vector"] for label, options in rows}


def stamps(graph: Graph) -> list[dict]:
    """The properties of every Stamp."""
    return [row[0] for row in graph.ro_query("MATCH (m:Stamp) RETURN properties(m)").result_set]


def calls(graph: Graph) -> dict:
    """Every read and write of the library."""
    row = {"key": "k", "t": T}
    return {
        "remember": lambda: lighthouse.remember(graph, PLAIN, [row], by="feed"),
        "several rows of one entity": lambda: lighthouse.remember(
            graph, PLAIN, [row, row], by="feed"
        ),
        "remember with evidence": lambda: lighthouse.remember(
            graph, PLAIN, [{**row, "entry": "e/1"}], by="feed"
        ),
        "update": lambda: lighthouse.update(graph, PLAIN, "k", T, by="feed", values={"v": 1}),
        "update_many": lambda: lighthouse.update_many(graph, PLAIN, [row], by="feed"),
        "history": lambda: lighthouse.history(graph, PLAIN, "k"),
        "as_of": lambda: lighthouse.as_of(graph, PLAIN, "k", T),
        "related": lambda: lighthouse.related(graph, ROOM, "k", "IN"),
        "related at a time": lambda: lighthouse.related(graph, ROOM, "k", "IN", T),
        "digest": lambda: lighthouse.digest(graph, [PLAIN]),
    }


def _raised_by(call) -> type[Exception] | None:
    try:
        call()
    except Exception as error:
        return type(error)
    return None


def test_a_graph_has_what_the_contract_lists_and_no_more(graph) -> None:
    """Without kinds: the constraints and indexes of the library's own records."""
    ensure_schema(graph)

    assert constraints(graph) == dict.fromkeys(UNIQUE, "OPERATIONAL")
    assert indexes(graph, "RANGE") == UNIQUE | RANGE
    assert indexes(graph, "FULLTEXT") == FULLTEXT
    assert vector_options(graph) == {}


def test_a_kind_brings_its_own_and_those_of_all_it_reaches(graph) -> None:
    """Keys of every kind reached, words where there is text, vectors where there are dimensions."""
    ensure_schema(graph, [THING], entry_dimensions=5)

    keys = {("Thing", "serial"), ("Room", "key"), ("City", "code")}
    assert constraints(graph) == dict.fromkeys(UNIQUE | keys, "OPERATIONAL")
    assert indexes(graph, "RANGE") == UNIQUE | RANGE | keys
    assert indexes(graph, "FULLTEXT") == FULLTEXT | {
        (it, "words") for it in ("Thing", "Room", "State")
    }
    assert indexes(graph, "VECTOR") == {("ThingVector", "vector"), ("EntryVector", "vector")}
    for label, size in (("ThingVector", 3), ("EntryVector", 5)):
        options = {name.lower(): value for name, value in vector_options(graph)[label].items()}
        assert options["dimension"] == size
        assert options["similarityfunction"] == "cosine"
        assert (options["m"], options["efconstruction"], options["efruntime"]) == (16, 200, 100)


def test_the_constraints_hold(graph) -> None:
    """The database itself refuses a second node of one key, and takes the first of another."""
    ensure_schema(graph, [THING])
    graph.query("CREATE (:Thing {serial: 1}), (:Thing {serial: 2}), (:Entry {id: 'e/1'})")

    for second in ("(:Thing {serial: 1})", "(:Entry {id: 'e/1'})"):
        with pytest.raises(ResponseError, match="unique constraint"):
            graph.query(f"CREATE {second}")


def test_it_may_be_called_on_every_start(graph) -> None:
    """A second call changes nothing: the Stamp keeps its id, and indexes are what they were."""
    ensure_schema(graph, [THING], entry_dimensions=5)
    before = (stamps(graph), constraints(graph), indexes(graph, "RANGE"), vector_options(graph))

    ensure_schema(graph, [THING], entry_dimensions=5)
    ensure_schema(graph)

    assert (
        stamps(graph),
        constraints(graph),
        indexes(graph, "RANGE"),
        vector_options(graph),
    ) == before
    [stamp] = before[0]
    assert str(uuid.UUID(stamp["id"])) == stamp["id"]
    assert stamp["times"] == "us"


def test_graphs_have_stamps_of_their_own(db, graph) -> None:
    """The id is random: it tells one graph from another."""
    other = db.select_graph(f"{graph.name}-other")
    for one in (graph, other):
        ensure_schema(one)

    assert stamps(graph)[0]["id"] != stamps(other)[0]["id"]
    other.delete()


@pytest.mark.parametrize("round_", range(4))
def test_four_may_call_it_at_once(graph, graph_url, round_) -> None:
    """Each returns when all is ready; there is one Stamp and no index is missing."""
    together = threading.Barrier(4)
    seen: list[object] = []

    def start() -> None:
        client = FalkorDB.from_url(graph_url)
        own = client.select_graph(graph.name)
        together.wait()
        try:
            ensure_schema(own, [THING], wait_seconds=60, entry_dimensions=5)
            seen.append(set(constraints(own).values()))
        except Exception as error:
            seen.append(error)
        client.connection.connection_pool.disconnect()

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [{"OPERATIONAL"}] * 4
    assert len(stamps(graph)) == 1
    assert constraints(graph).keys() > UNIQUE
    assert indexes(graph, "RANGE") > RANGE
    assert len(vector_options(graph)) == 2


def test_a_kind_may_be_added_later(graph) -> None:
    """What is in the graph is indexed, and is found by its key and its words."""
    ensure_schema(graph)
    graph.query(
        "UNWIND range(1, 1000) AS i CREATE (:Room:Entity {key: 'r' + i, words: 'room r' + i})"
    )

    ensure_schema(graph, [ROOM])

    assert constraints(graph)[("Room", "key")] == "OPERATIONAL"
    found = graph.ro_query(
        "CALL db.idx.fulltext.queryNodes('Room', 'r77') YIELD node RETURN node.key"
    )
    assert found.result_set == [["r77"]]
    plan = str(graph.explain("MATCH (n:Room {key: 'r77'}) RETURN n.key"))
    assert "Node By Index Scan" in plan


def test_the_index_that_is_replaced_goes(graph) -> None:
    """An earlier version's index on the readable times would only cost writes."""
    graph.query("CREATE INDEX FOR (n:State) ON (n.valid_from)")
    graph.query("CREATE INDEX FOR (n:Episode) ON (n.opened_at)")

    ensure_schema(graph)

    assert indexes(graph, "RANGE") == UNIQUE | RANGE


# What it refuses.


def test_one_label_with_two_keys_is_refused_before_anything_is_made(db, graph) -> None:
    """Also where the second one is only reached; no graph comes to be."""
    far = Kind("House", relations={"HOLDS": Kind("Thing", key="other")})

    for kinds in ([THING, Kind("Thing")], [far, THING]):
        with pytest.raises(ValueError, match="Thing have different keys"):
            ensure_schema(graph, kinds)

    assert graph.name not in db.list_graphs()


def test_two_kinds_of_one_label_and_key_are_one(graph) -> None:
    """Equal declarations, or ones with other relations, go together."""
    ensure_schema(graph, [Kind("Thing"), Kind("Thing", relations={"IN": ROOM})])

    assert constraints(graph)[("Thing", "key")] == "OPERATIONAL"


@pytest.mark.parametrize("size", [True, -1, 4097, 1.5, "3", None])
def test_a_wrong_size_of_entry_vectors_is_refused_before_anything_is_made(db, graph, size) -> None:
    """A whole number from 0 to 4,096."""
    with pytest.raises(ValueError, match="entry_dimensions must be a whole number from 0 to 4096"):
        ensure_schema(graph, entry_dimensions=size)

    assert graph.name not in db.list_graphs()


@pytest.mark.parametrize("kinds", [["Thing"], [None], [THING, 5], "Thing", [Kind]])
def test_what_is_no_kind_raises(db, graph, kinds) -> None:
    """A label in place of a Kind is noticed before anything is made."""
    with pytest.raises((AttributeError, TypeError)):
        ensure_schema(graph, kinds)

    assert graph.name not in db.list_graphs()


def test_doubles_make_it_fail_with_the_name_of_what_failed(graph) -> None:
    """Two nodes of one key: the error names the constraint; without one the next call succeeds."""
    graph.query("CREATE (:Thing:Entity {serial: 7, n: 1}), (:Thing:Entity {serial: 7, n: 2})")

    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"constraint on Thing\.serial failed"):
            ensure_schema(graph, [THING])
    graph.query("MATCH (n:Thing {n: 2}) DELETE n")
    ensure_schema(graph, [THING])

    assert constraints(graph)[("Thing", "serial")] == "OPERATIONAL"


def test_a_graph_whose_schema_failed_is_not_ready(graph) -> None:
    """It is not written into: nothing would prevent further doubles."""
    graph.query("CREATE (:Plain {key: 'k'}), (:Plain {key: 'k'})")

    with pytest.raises(RuntimeError):
        ensure_schema(graph, [PLAIN])

    with pytest.raises(SchemaMissing):
        lighthouse.remember(graph, PLAIN, [{"key": "other", "t": T}], by="feed")


@pytest.mark.parametrize("kind", [THING, None], ids=["of a kind", "of entries"])
def test_vectors_of_another_size_are_refused_with_both_sizes(graph, kind) -> None:
    """The size of an index cannot be changed: the error says what there is and what was asked."""
    ensure_schema(graph, [THING], entry_dimensions=3)
    label = "EntryVector" if kind is None else "ThingVector"
    larger = Kind("Thing", key="serial", text=["note"], dimensions=4)

    with pytest.raises(RuntimeError, match=rf"{label}.*\b3\b.*\b4\b"):
        ensure_schema(graph, [larger if kind else THING], entry_dimensions=3 if kind else 4)

    assert vector_options(graph)[label]["dimension"] == 3


def test_what_is_not_ready_in_time_is_named(graph) -> None:
    """An index of many nodes takes its while: the error names it, and with patience it is there."""
    graph.query("UNWIND range(1, 20000) AS i CREATE (:Plain {key: i})")

    with pytest.raises(RuntimeError, match=r"not ready: .*constraint on Plain\.key"):
        ensure_schema(graph, [PLAIN], wait_seconds=0)
    ensure_schema(graph, [PLAIN], wait_seconds=60)

    assert constraints(graph)[("Plain", "key")] == "OPERATIONAL"


# What is refused without it.


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(None, id="no graph"),
        pytest.param("RETURN 1", id="an empty graph"),
        pytest.param("CREATE (:Plain:Entity {key: 'k'})", id="nodes without a Stamp"),
        pytest.param("CREATE (:Stamp {id: 'x'})", id="a Stamp of an earlier version"),
    ],
)
def test_reads_and_writes_raise_before_it(db, graph, made) -> None:
    """SchemaMissing, and nothing is left behind: neither a node nor a graph."""
    if made:
        graph.query(made)
    before = graph.query("MATCH (n) RETURN count(n)").result_set if made else None

    raised = {name: _raised_by(call) for name, call in calls(graph).items()}

    assert {name: error for name, error in raised.items() if error is not SchemaMissing} == {}
    if made:
        assert graph.ro_query("MATCH (n) RETURN count(n)").result_set == before
    else:
        assert graph.name not in db.list_graphs()


def test_reads_and_writes_answer_after_it(graph) -> None:
    """The twin: the same calls are taken once the schema is there."""
    ensure_schema(graph, [PLAIN, ROOM])

    raised = {name: _raised_by(call) for name, call in calls(graph).items()}

    assert raised == dict.fromkeys(raised)


def test_bad_rows_alone_make_no_graph(db, graph) -> None:
    """A call of invalid rows is a write too: without a schema it raises, and nothing is kept."""
    with pytest.raises(SchemaMissing):
        lighthouse.remember(graph, PLAIN, [{"key": "k"}], by="feed")

    assert graph.name not in db.list_graphs()


def test_no_rows_are_no_write(db, graph) -> None:
    """An empty call gives an empty answer wherever it goes."""
    assert lighthouse.remember(graph, PLAIN, [], by="feed") == []
    assert lighthouse.update_many(graph, PLAIN, [], by="feed") == []
    assert graph.name not in db.list_graphs()
