"""How queries reach the database: texts travel unharmed, errors of its state are told apart."""

import secrets
import socketserver
import threading

import pytest
from falkordb import FalkorDB, Graph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError
from redis.retry import Retry

import lighthouse
from lighthouse import SELF, Kind, SchemaMissing, Unavailable
from lighthouse.queries import ask, literal, tell

THING = Kind("Thing", relations={"NEAR": SELF})
T = "2026-01-01T00:00:00"

NASTY = [
    pytest.param("it's", id="a single quote"),
    pytest.param('say "so"', id="double quotes"),
    pytest.param("`back`", id="back quotes"),
    pytest.param("\\", id="a backslash"),
    pytest.param("\\\\'\\\"", id="backslashes before quotes"),
    pytest.param("ends with \\", id="a backslash at the end"),
    pytest.param("\\u0041 \\n \\x41 \\U0001F6E9", id="escapes that are text"),
    pytest.param("\\\\u0041", id="an escaped escape"),
    pytest.param("\n\r\t\b\f\v", id="control characters with names"),
    pytest.param("".join(map(chr, range(1, 32))), id="every control character"),
    pytest.param("\x7f\x80\x85\x9f", id="control characters beyond ASCII"),
    pytest.param("a\u2028b\u2029c", id="separators of lines and paragraphs"),
    pytest.param("a\u200bb\ufeffc\u202ed", id="zero width, byte order, direction"),
    pytest.param("\u00a0\u3000", id="spaces of other scripts"),
    pytest.param("🛩👩‍🚀𝄞", id="emoji and other planes"),
    pytest.param("\ufffd\ufffe\uffff\U0010ffff", id="characters that are none"),
    pytest.param("e\u0301 é", id="two ways to write one"),
    pytest.param("$x $rows {a: 1} [1] //", id="parameters and comments"),
    pytest.param("'}) DETACH DELETE (n) //", id="a query"),
    pytest.param("CYPHER x=1 RETURN 1", id="a header of parameters"),
    pytest.param("null", id="null"),
    pytest.param("", id="nothing"),
]
#: What servers answer while they cannot take queries, as it stands on the wire.
OUTAGES = [
    "OOM command not allowed when used memory > 'maxmemory'.",
    "READONLY You can't write against a read only replica.",
    "NOREPLICAS Not enough good replicas to write.",
    "LOADING Redis is loading the dataset in memory",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "MISCONF Errors writing to the AOF file: No space left on device",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist.",
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
    "CLUSTERDOWN The cluster is down",
    "CLUSTERDOWN Hash slot not served",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "MOVED 3999 127.0.0.1:6381",
    "ASK 3999 127.0.0.1:6381",
    "Max pending queries exceeded",
    "Query timed out",
    "Query's mem consumption exceeded capacity",
]
#: What servers answer to a query that will be refused again tomorrow.
LASTING = [
    "unique constraint violation on node of type Thing",
    "unique constraint violation on node of type Loading",
    "unique constraint violation, on edge of relationship-type BUSY",
    "mandatory constraint violation: node with label Oom missing property loading",
    "Property values can only be of primitive types or arrays of primitive types",
    "Type mismatch: expected Integer, Float, or Null but was String",
    "errMsg: Invalid input 'b': expected a clause line: 1, column: 1, offset: 0 errCtx: busy",
]
CALLS = {
    "ensure_schema": lambda graph: lighthouse.ensure_schema(graph, [THING], wait_seconds=0),
    "remember": lambda graph: lighthouse.remember(graph, THING, [{"key": "k", "t": T}], by="feed"),
    "remember a bad row": lambda graph: lighthouse.remember(
        graph, THING, [{"key": "k"}], by="feed"
    ),
    "update": lambda graph: lighthouse.update(graph, THING, "k", T, by="feed"),
    "record_failure": lambda graph: lighthouse.record_failure(graph, "x"),
    "history": lambda graph: lighthouse.history(graph, THING, "k"),
    "as_of": lambda graph: lighthouse.as_of(graph, THING, "k", T),
    "related": lambda graph: lighthouse.related(graph, THING, "k", "NEAR"),
    "digest": lambda graph: lighthouse.digest(graph, [THING]),
}


def _raised_by(call, graph) -> type[Exception] | None:
    try:
        call(graph)
    except Exception as error:
        return type(error)
    return None


class Refusing(socketserver.StreamRequestHandler):
    """Answers every query with the server's `refusal`, as a Redis server in that state does."""

    def handle(self) -> None:
        """Answer the commands of one connection."""
        while line := self.rfile.readline():
            parts = [self._part() for _ in range(int(line[1:]))]
            self.wfile.write(self._answer(parts[0].upper()))

    def _part(self) -> bytes:
        size = int(self.rfile.readline()[1:])
        return self.rfile.read(size + 2)[:-2]

    def _answer(self, command: bytes) -> bytes:
        if command.startswith(b"GRAPH."):
            return f"-{self.server.refusal}\r\n".encode()
        return b"$22\r\nredis_mode:standalone\n\r\n" if command == b"INFO" else b"+OK\r\n"


@pytest.fixture(name="refusing", scope="module")
def _refusing():
    """A graph of a server that refuses every query; its words are set by `refuse`."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusing) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        client = FalkorDB(port=server.server_address[1], retry=Retry(NoBackoff(), 0))
        graph = client.select_graph("refused")
        graph.refuse = lambda words: setattr(server, "refusal", words)
        yield graph
        client.connection.connection_pool.disconnect()
        server.shutdown()


@pytest.fixture(name="things", scope="module")
def _things(db) -> Graph:
    """One graph with the schema of a thing."""
    graph = db.select_graph(f"test-{secrets.token_hex(6)}")
    lighthouse.ensure_schema(graph, [THING])
    yield graph
    graph.delete()


# What travels.


@pytest.mark.parametrize("text", NASTY)
def test_a_text_travels_unharmed(things, text) -> None:
    """As a parameter, inside lists, and stored and read again: the server answers what was sent."""
    sent = [text, [text, [text]], 1.5, None, True, -(2**63)]

    assert ask(things, "RETURN $x", {"x": sent}) == [[sent]]
    assert tell(things, "CREATE (n:Kept {v: $x}) RETURN n.v", {"x": text}) == [[text]]


@pytest.mark.parametrize("text", NASTY)
def test_a_row_travels_unharmed(things, text) -> None:
    """Values are kept as they are; so are keys, targets and writers where they are names."""
    name = text if lighthouse.values.is_name(text) else "k"
    key = f"{name} {lighthouse.values.fingerprint(text)}"
    row = {
        "key": key,
        "t": T,
        "values": {"v": text, "w": [text, 1, text]},
        "relations": {"NEAR": [name, 5]},
    }

    [receipt] = lighthouse.remember(things, THING, [row], by=name, provenance=name[:40].strip())

    assert receipt == {"key": key, "status": "created"}
    [state] = lighthouse.history(things, THING, key)
    assert (state["v"], state["w"], state["by"]) == (text, [text, 1, text], name)
    assert state["provenance"] == name[:40].strip()
    assert lighthouse.related(things, THING, key, "NEAR") == [name, 5]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_travels_unharmed(things, text) -> None:
    """No text but those with NUL or half a surrogate pair is beyond the parameters."""
    assert ask(things, "RETURN $x, size($x)", {"x": text})[0][0] == text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        (True, "true"),
        (-1, "-1"),
        (1.0, "1.0"),
        ("é", '"é"'),
        ("\x01", '"\x01"'),
        ("\n\\", '"\\n\\\\"'),
        ("\\u0041", '"\\\\u0041"'),
        (["a", [1, None]], '["a",[1,null]]'),
        ((), "[]"),
    ],
)
def test_a_value_is_written_as_the_engine_reads_it(value, written) -> None:
    """JSON, yet without the escapes by number that JSON has and the engine does not read."""
    assert literal(value) == written


def test_a_number_that_is_none_is_not_sent() -> None:
    """NaN and infinity have no written form."""
    for value in (float("nan"), float("inf"), [-float("inf")]):
        with pytest.raises(ValueError, match="JSON"):
            literal(value)


# What is answered.


def test_a_read_cannot_write(things) -> None:
    """`ask` goes by the server's read-only command, `tell` writes."""
    with pytest.raises(ResponseError, match="read-only"):
        ask(things, "CREATE (:Kept)")

    assert tell(things, "CREATE (n:Kept {v: 1}) RETURN n.v") == [[1]]


def test_a_graph_that_does_not_exist_has_no_schema(graph) -> None:
    """Asking makes no graph; it raises SchemaMissing with the server's words as its cause."""
    with pytest.raises(SchemaMissing) as missing:
        ask(graph, "RETURN 1")

    assert isinstance(missing.value.__cause__, ResponseError)


def test_a_read_that_takes_too_long_is_stopped(things) -> None:
    """A timeout in milliseconds is given on to the server; without one the same read ends."""
    long = "UNWIND range(1, 400000) AS i RETURN max(i)"

    with pytest.raises(Unavailable, match="timed out"):
        ask(things, long, timeout=1)

    assert ask(things, long) == [[400_000]]


@pytest.mark.parametrize("words", OUTAGES)
def test_an_answer_about_the_server_is_unavailable(refusing, words) -> None:
    """The same call may succeed later: no function lets such an answer through as another error."""
    refusing.refuse(words)

    raised = {name: _raised_by(call, refusing) for name, call in CALLS.items()}

    assert raised == dict.fromkeys(CALLS, Unavailable)


@pytest.mark.parametrize("words", LASTING)
def test_an_answer_about_the_query_is_not(refusing, words) -> None:
    """Words of outages in names that the caller chose do not make an outage: it would never end."""
    refusing.refuse(words)

    with pytest.raises(ResponseError) as refused:
        ask(refusing, "RETURN 1")

    assert str(refused.value) == words


@pytest.mark.parametrize("label", ["Thing", "Loading", "Busy", "OOM", "MISCONF", "ReadOnlyReplica"])
def test_a_row_that_breaks_a_constraint_is_failed_whatever_its_label(graph, label) -> None:
    """The label stands in the database's answer; the row is refused, and the others are taken."""
    kind = Kind(label)
    lighthouse.ensure_schema(graph, [kind])
    graph.create_node_unique_constraint(label, "badge")
    rows = [{"key": key, "t": T, "values": {"badge": min(key, 2)}} for key in (1, 2, 3)]

    receipts = lighthouse.remember(graph, kind, rows[:2], by="feed")
    [refused] = lighthouse.remember(graph, kind, rows[2:], by="feed")

    assert [receipt["status"] for receipt in receipts] == ["created", "created"]
    assert refused["status"] == "failed"
    assert "unique constraint" in refused["reason"]


def test_a_row_that_lacks_what_is_mandatory_is_failed_whatever_its_name(graph) -> None:
    """The name of a value stands in the database's answer too."""
    lighthouse.ensure_schema(graph, [THING])
    graph.create_node_mandatory_constraint("Thing", "loading")

    [taken] = lighthouse.remember(
        graph, THING, [{"key": 1, "t": T, "values": {"loading": 1}}], by="feed"
    )
    [refused] = lighthouse.remember(graph, THING, [{"key": 2, "t": T}], by="feed")

    assert (taken["status"], refused["status"]) == ("created", "failed")
    assert "mandatory constraint" in refused["reason"]
