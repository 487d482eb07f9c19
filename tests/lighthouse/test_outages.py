"""A server that cannot take queries costs time and no row: each outage is made for real."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import redis
from falkordb import FalkorDB, Graph
from redis.backoff import NoBackoff
from redis.retry import Retry

import lighthouse
from lighthouse import SELF, Kind, Unavailable
from streams import embedded
from tests import servers

THING = Kind("Thing", relations={"NEAR": SELF})
OTHER = Kind("Other")
#: Keeps a thread of the server busy until its limit, without much memory.
_HEAVY = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN max(a + b)"
_HEAVY_MS = 2_000


def _rows(value: int, day: int, keys: range = range(400)) -> list[dict]:
    return [
        {"key": key, "t": f"2026-01-{day:02d}", "values": {"v": value}, "relations": {"NEAR": key}}
        for key in keys
    ]


_LATE = _rows(3, 2, range(2))
WRITES: dict[str, Callable[[Graph], object]] = {
    "created": lambda graph: lighthouse.remember(
        graph, THING, _rows(1, 1, range(1000, 1400)), by="feed"
    ),
    "changed": lambda graph: lighthouse.remember(graph, THING, _rows(2, 5), by="feed"),
    "seen": lambda graph: lighthouse.remember(graph, THING, _rows(2, 6, range(1)), by="feed"),
    "inserted": lambda graph: lighthouse.remember(graph, THING, _LATE, by="feed"),
    "two rows of one": lambda graph: lighthouse.remember(
        graph, THING, _rows(4, 7, range(1)) * 2, by="feed"
    ),
    "update": lambda graph: lighthouse.update(
        graph, THING, 1, "2026-01-08", by="feed", values={"w": 1}
    ),
}
KEEPING: dict[str, Callable[[Graph], object]] = {
    "record_failure": lambda graph: lighthouse.record_failure(graph, "of the application"),
    "a bad row": lambda graph: lighthouse.remember(graph, THING, [{"key": "k"}], by="feed"),
    "ensure_schema": lambda graph: lighthouse.ensure_schema(graph, [OTHER], wait_seconds=5),
}
READS: dict[str, Callable[[Graph], object]] = {
    "history": lambda graph: lighthouse.history(graph, THING, 1),
    "as_of": lambda graph: lighthouse.as_of(graph, THING, 1, "2026-01-01"),
    "related": lambda graph: lighthouse.related(graph, THING, 1, "NEAR"),
    "digest": lambda graph: lighthouse.digest(graph, [THING]),
}


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("own")


@pytest.fixture(name="own", scope="module")
def _own(folder: Path) -> Iterator[FalkorDB]:
    """A server that nothing else runs on; the client sends nothing twice by itself."""
    with servers.ended(embedded.start_graph(folder)) as server:
        client = _client(server)
        yield client
        client.connection.connection_pool.disconnect()


@pytest.fixture(name="things")
def _things(own: FalkorDB) -> Iterator[Graph]:
    """A graph of that server in which 400 things are known."""
    graph = own.select_graph("things")
    lighthouse.ensure_schema(graph, [THING])
    lighthouse.remember(graph, THING, _rows(1, 1), by="feed")
    yield graph
    graph.delete()


def _client(server: embedded.Server) -> FalkorDB:
    return FalkorDB.from_url(server.address, retry=Retry(NoBackoff(), 0))


# The outages: each a context in which the server is in that state.


@contextmanager
def _set(own: FalkorDB, name: str, value: str, back: str) -> Iterator[None]:
    own.connection.config_set(name, value)
    try:
        yield
    finally:
        own.connection.config_set(name, back)


@contextmanager
def _graph_set(own: FalkorDB, name: str, value: int, back: int) -> Iterator[None]:
    own.config_set(name, value)
    try:
        yield
    finally:
        own.config_set(name, back)


@contextmanager
def _replica(own: FalkorDB, folder: Path) -> Iterator[None]:
    """A read-only replica of a master that is not there."""
    own.connection.execute_command("REPLICAOF", "127.0.0.1", servers.free_port())
    try:
        yield
    finally:
        own.connection.execute_command("REPLICAOF", "NO", "ONE")


@contextmanager
def _stale_replica(own: FalkorDB, folder: Path) -> Iterator[None]:
    """One that answers no reads either while its master is away."""
    with _replica(own, folder), _set(own, "replica-serve-stale-data", "no", "yes"):
        yield


@contextmanager
def _unsaved(own: FalkorDB, folder: Path) -> Iterator[None]:
    """A server that cannot write its snapshot: a folder stands where the file goes."""
    obstacle = folder / "graph" / "dump.rdb"
    obstacle.mkdir()
    with _set(own, "save", "3600 1000000", ""):
        own.connection.bgsave()
        servers.wait_until(
            lambda: own.connection.info("persistence")["rdb_last_bgsave_status"] == "err"
        )
        yield
        obstacle.rmdir()
        own.connection.bgsave()
        servers.wait_until(
            lambda: own.connection.info("persistence")["rdb_last_bgsave_status"] == "ok"
        )


@contextmanager
def _scripting(own: FalkorDB, folder: Path) -> Iterator[None]:
    """A server that is busy with a script without end."""

    def run() -> None:
        with pytest.raises(redis.ResponseError, match="SCRIPT KILL"):
            own.connection.eval("while true do end", 0)

    with _set(own, "busy-reply-threshold", "5", "5000"):
        thread = threading.Thread(target=run)
        thread.start()
        servers.wait_until(lambda: _refusal(own.connection.ping))
        yield
        own.connection.script_kill()
        thread.join()


@contextmanager
def _full_queue(own: FalkorDB, folder: Path) -> Iterator[None]:
    """A server whose threads are taken and whose queue of one is full, for two seconds."""
    graph, running = own.select_graph("things"), own.config_get("THREAD_COUNT")
    threads = [threading.Thread(target=_take_a_place, args=(graph,)) for _ in range(running + 1)]
    with _graph_set(own, "MAX_QUEUED_QUERIES", 1, 2**32 - 1):
        for thread in threads:
            thread.start()
        servers.wait_until(lambda: _places(own) == (running, 1))
        yield
        for thread in threads:
            thread.join()


def _places(own: FalkorDB) -> tuple[int, int]:
    """Count the queries that run and those that wait."""
    _, running, _, waiting, *_ = own.connection.execute_command("GRAPH.INFO")
    return len(running), len(waiting)


def _take_a_place(graph: Graph) -> None:
    """Be one of the queries that the server runs or has in its queue, until time is up."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            graph.ro_query(_HEAVY, timeout=_HEAVY_MS)
        except redis.ResponseError as error:
            if "Max pending" not in str(error):
                return
        time.sleep(0.002)


def _refusal(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except redis.ResponseError:
        return True
    return False


OUTAGES = {
    "out of memory": (lambda own, _: _set(own, "maxmemory", "1", "0"), WRITES | KEEPING),
    "read-only replica": (_replica, WRITES | KEEPING),
    "too few replicas": (
        lambda own, _: _set(own, "min-replicas-to-write", "1", "0"),
        WRITES | KEEPING,
    ),
    "no snapshot": (_unsaved, WRITES | KEEPING),
    "master away": (_stale_replica, WRITES | KEEPING | READS),
    "busy": (_scripting, WRITES | KEEPING | READS),
    "queue full": (_full_queue, WRITES | KEEPING | READS),
    "query memory": (
        lambda own, _: _graph_set(own, "QUERY_MEM_CAPACITY", 1, 0),
        WRITES | KEEPING | READS,
    ),
    # Longer writes alone: a short one may be done in a millisecond.
    "query time": (
        lambda own, _: _graph_set(own, "TIMEOUT_MAX", 1, 0),
        {name: WRITES[name] for name in ("created", "changed")},
    ),
}


@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_costs_time_and_no_row(own, folder, things, outage) -> None:
    """Every call raises Unavailable and changes nothing; afterwards the same one is taken."""
    begin, calls = OUTAGES[outage]
    before = _told(things)

    with begin(own, folder):
        raised = {name: _raised_by(call, things) for name, call in calls.items()}

    assert {name: error for name, error in raised.items() if error is not Unavailable} == {}
    assert _told(things) == before
    for name in WRITES.keys() & calls.keys():
        statuses = {receipt["status"] for receipt in _receipts(calls[name](things))}
        assert statuses <= {"created", "changed", "inserted", "unchanged"}, name
    for name in calls.keys() - WRITES.keys():
        calls[name](things)


def test_a_bad_row_is_counted_once_however_often_an_outage_sends_it_again(own, things) -> None:
    """A call that raised leaves no WriteFailure: bad rows are kept when good ones are written."""
    rows = [{"key": "k"}, *_rows(2, 5)]

    for _ in range(3):
        with _graph_set(own, "TIMEOUT_MAX", 1, 0), pytest.raises(Unavailable):
            lighthouse.remember(things, THING, rows, by="feed")
    assert _failures(things) == []
    receipts = lighthouse.remember(things, THING, rows, by="feed")

    assert [receipt["status"] for receipt in receipts[:2]] == ["invalid", "changed"]
    assert _failures(things) == [["invalid", 1]]


def test_a_server_that_is_loading_is_unavailable(own, tmp_path_factory) -> None:
    """While it reads its data in, reads and writes may come again; afterwards it answers."""
    with ExitStack() as stack:
        folders = [tmp_path_factory.mktemp(name) for name in ("a", "b")]
        master, replica = (
            _client(stack.enter_context(servers.ended(embedded.start_graph(folder))))
            for folder in folders
        )
        graph = replica.select_graph("things")
        _prepare_master(master)
        port = _listen(master)
        _load_slowly(replica, port)

        raised = [
            _raised_by(call, graph)
            for call in (READS["history"], WRITES["changed"], KEEPING["a bad row"])
        ]

        assert _loads(replica)
        assert raised == [Unavailable] * 3
        servers.wait_until(lambda: not _loads(replica))
        # It stays a replica: 4.22.1 ends with a fault when one that was just filled is made a
        # master and written to.
        assert len(lighthouse.history(graph, THING, 1)) == 1
        assert _raised_by(WRITES["changed"], graph) is Unavailable
        assert _failures(graph) == []
        for client in (master, replica):
            client.connection.connection_pool.disconnect()


def _prepare_master(master: FalkorDB) -> None:
    graph = master.select_graph("things")
    lighthouse.ensure_schema(graph, [THING])
    lighthouse.remember(graph, THING, _rows(1, 1), by="feed")
    master.connection.mset({f"filling {n}": secrets.token_bytes(2_000) for n in range(100)})


def _load_slowly(replica: FalkorDB, port: int) -> None:
    """Begin to take over the master's data, 10 ms for each key; commands are answered meanwhile."""
    # A server that rewrites its append-only file after loading would not end when it is told to.
    wanted = {
        "appendonly": "no",
        "key-load-delay": "10000",
        "loading-process-events-interval-bytes": "1024",
    }
    for name, value in wanted.items():
        replica.connection.config_set(name, value)
    replica.connection.execute_command("REPLICAOF", "127.0.0.1", port)
    servers.wait_until(lambda: _loads(replica))


def _listen(master: FalkorDB) -> int:
    port = servers.free_port()
    for name, value in {"bind": "127.0.0.1", "requirepass": "", "port": port}.items():
        master.connection.config_set(name, value)
    master.connection.config_set("repl-diskless-sync-delay", "0")
    return port


def _loads(client: FalkorDB) -> bool:
    try:
        client.connection.ping()
    except redis.BusyLoadingError:
        return True
    time.sleep(0.01)
    return False


def _raised_by(call: Callable[[Graph], object], graph: Graph) -> type[Exception] | None:
    try:
        call(graph)
    except Exception as error:
        return type(error)
    return None


def _receipts(answer: list[dict] | dict) -> list[dict]:
    return answer if isinstance(answer, list) else [answer]


def _failures(graph: Graph) -> list[list]:
    return graph.ro_query("MATCH (f:WriteFailure) RETURN f.reason, f.times").result_set


def _told(graph: Graph) -> tuple:
    """All that the graph holds, as far as a call could have left something."""
    counted = graph.ro_query("MATCH (n) RETURN labels(n), count(n) ORDER BY labels(n)").result_set
    return counted, _failures(graph), lighthouse.digest(graph, [THING])
