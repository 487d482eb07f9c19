"""Are the servers and the topics set so that the delivery rule can hold?

Each finding names what was found and, where it is not right, the setting to change.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from redis.exceptions import ResponseError

from streams import embedded, offsets, topics
from streams.publish import key_of
from streams.settings import EMBEDDED, Settings

OK, WARN, REFUSE = "ok", "warn", "refuse"

#: Versions of the graph module that the tests run on.
TESTED = ("4.22.1",)
#: A query time limit below this stops a large write halfway through a busy minute, in ms.
LEAST_TIMEOUT_MS = 60_000
#: A result cap below this cuts the pages in which long reads are taken, silently.
LEAST_RESULTS = 10_000
#: Fewer queued queries turn a burst of readers into refusals.
LEAST_QUEUE = 100
#: What the engine says for a queue without a limit.
NO_LIMIT = 2**32 - 1
#: Records of each partition whose Kafka keys are looked at.
KEYS_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: `level` is ok, warn or refuse; `advice` says what to change."""

    about: str
    level: str
    found: str
    advice: str | None = None


def graph_findings(db: Any, allow_loss: bool = False) -> list[Finding]:
    """Look at a FalkorDB server: what it keeps, what it would cut, and its version.

    `db` is a falkordb.FalkorDB. A setting that the server does not let us read is a warning.
    """
    looks = (_version, _append_only, _eviction, _timeouts, _results, _queue)
    return [found for look in looks for found in look(db.connection, allow_loss)]


def broker_findings(settings: Settings) -> list[Finding]:
    """Look at the broker: whether it keeps its topics, and whether they are as planned.

    Raises ServerMissing when it does not answer.
    """
    servers = embedded.broker_servers(settings)
    kept = Finding("broker", OK, servers)
    if settings.broker.servers == EMBEDDED:
        advice = 'for work that must last, name a Kafka: [broker] servers = "host:9092"'
        found = f"embedded at {servers}: keeps topics in memory only"
        kept = Finding("broker", WARN, found, advice)
    states = topics.describe(settings)
    return [kept, *(_topic(state) for state in states), *_keys(settings, states)]


def settings_findings(settings: Settings) -> list[Finding]:
    """Say which settings count, and whether anything would be read with them."""
    found = [Finding("settings", OK, str(settings.file))]
    kinds = ", ".join(settings.kinds) or "none"
    if settings.kinds and settings.sources:
        return [*found, Finding("kinds", OK, kinds)]
    advice = "declare [kinds.X] and [[sources]]: `lighthouse-streams init` writes an example"
    return [*found, Finding("kinds", WARN, f"{kinds}; {len(settings.sources)} sources", advice)]


def refused(findings: list[Finding]) -> list[Finding]:
    """Give the findings with which the worker does not start."""
    return [finding for finding in findings if finding.level == REFUSE]


def _topic(state: topics.State) -> Finding:
    about = f"topic {state.name}"
    if state.state == "missing":
        advice = "make it with `lighthouse-streams topics create`"
        return Finding(about, WARN, "is not there", advice)
    if state.state == "differs":
        advice = "change the topic with your broker's tools, or [topics] of the settings"
        return Finding(about, WARN, state.detail, advice)
    return Finding(about, OK, f"{state.partitions} partitions")


def _keys(settings: Settings, states: Iterable[topics.State]) -> Iterator[Finding]:
    names = [state.name for state in states]
    sources = topics.resolve(settings, names)
    rows = [name for name, (source, _) in sources.items() if source.contract == "rows"]
    with offsets.reader(topics.client_config(settings), settings.worker.group) as consumer:
        places = offsets.partitions(consumer, rows)
        for topic in rows:
            looked = [p for p in places if p[0] == topic]
            last = list(offsets.last(consumer, looked, KEYS_LOOKED_AT)) if looked else []
            yield _keyed(topic, len(last), sum(_strays(message) for message in last))


def _keyed(topic: str, looked: int, strays: int) -> Finding:
    about = f"keys of {topic}"
    if strays:
        advice = "give each row the Kafka key <Kind>/<key>, which keeps the order of its entity"
        return Finding(about, WARN, f"{strays} of the last {looked} are not <Kind>/<key>", advice)
    return Finding(about, OK, f"the last {looked} are <Kind>/<key>" if looked else "no records yet")


def _strays(message: Any) -> bool:
    try:
        row = json.loads(message.value())
    except (ValueError, TypeError, RecursionError):
        return False
    key = key_of(row) if isinstance(row, dict) else None
    return key is not None and key != message.key()


def _version(server: Any, _: bool) -> Iterator[Finding]:
    try:
        module = next(m for m in map(_pairs, server.execute_command("MODULE LIST")) if _is_graph(m))
    except (ResponseError, StopIteration):
        advice = "name the version you run in a report of trouble"
        yield Finding("engine version", WARN, "the server does not tell it", advice)
        return
    number = int(module["ver"])
    version = f"{number // 10_000}.{number // 100 % 100}.{number % 100}"
    if version in TESTED:
        yield Finding("engine version", OK, f"FalkorDB {version}, tested")
    else:
        advice = f"not tested; tested are {', '.join(TESTED)}"
        yield Finding("engine version", WARN, f"FalkorDB {version}", advice)


def _append_only(server: Any, allow_loss: bool) -> Iterator[Finding]:
    kept = _setting(server, "appendonly")
    if kept is None:
        yield _unreadable("append-only file", "CONFIG GET appendonly")
    elif kept == "yes":
        sync = _setting(server, "appendfsync")
        yield Finding("append-only file", OK, f"on, appendfsync {sync}")
    else:
        level = WARN if allow_loss else REFUSE
        advice = "set `appendonly yes` on the server, or allow the loss: [graph] allow_loss = true"
        yield Finding("append-only file", level, "off: a killed server forgets rows", advice)


def _eviction(server: Any, _: bool) -> Iterator[Finding]:
    policy = _setting(server, "maxmemory-policy")
    if policy is None:
        yield _unreadable("eviction", "CONFIG GET maxmemory-policy")
    elif policy == "noeviction":
        yield Finding("eviction", OK, policy)
    else:
        advice = "set `maxmemory-policy noeviction` on the server"
        yield Finding("eviction", REFUSE, f"{policy}: a full server drops whole graphs", advice)


def _timeouts(server: Any, _: bool) -> Iterator[Finding]:
    for name in ("TIMEOUT_MAX", "TIMEOUT_DEFAULT", "TIMEOUT"):
        limit = _graph_setting(server, name)
        about = f"query time limit, {name}"
        if limit is None:
            yield _unreadable(about, f"GRAPH.CONFIG GET {name}")
        elif 0 < limit < LEAST_TIMEOUT_MS:
            advice = f"set GRAPH.CONFIG {name} to 0, or to {LEAST_TIMEOUT_MS} or more"
            yield Finding(about, REFUSE, f"{limit} ms: stops writes", advice)
        else:
            yield Finding(about, OK, f"{limit} ms" if limit else "none")


def _results(server: Any, _: bool) -> Iterator[Finding]:
    cap = _graph_setting(server, "RESULTSET_SIZE")
    if cap is None:
        yield _unreadable("result cap", "GRAPH.CONFIG GET RESULTSET_SIZE")
    elif 0 <= cap < LEAST_RESULTS:
        advice = f"set GRAPH.CONFIG RESULTSET_SIZE to -1, or to {LEAST_RESULTS} or more"
        yield Finding("result cap", REFUSE, f"{cap} rows: answers are cut silently", advice)
    else:
        yield Finding("result cap", OK, f"{cap} rows" if cap >= 0 else "none")


def _queue(server: Any, _: bool) -> Iterator[Finding]:
    length = _graph_setting(server, "MAX_QUEUED_QUERIES")
    if length is None:
        yield _unreadable("queued queries", "GRAPH.CONFIG GET MAX_QUEUED_QUERIES")
    elif length < LEAST_QUEUE:
        advice = f"set GRAPH.CONFIG MAX_QUEUED_QUERIES to {LEAST_QUEUE} or more"
        yield Finding("queued queries", WARN, f"{length}", advice)
    else:
        yield Finding("queued queries", OK, "no limit" if length >= NO_LIMIT else f"{length}")


def _unreadable(about: str, command: str) -> Finding:
    advice = f"allow `{command}` to this user, or look at the setting yourself"
    return Finding(about, WARN, "the server does not tell it", advice)


def _setting(server: Any, name: str) -> str | None:
    try:
        return _pairs(server.execute_command("CONFIG GET", name)).get(name)
    except ResponseError:
        return None


def _graph_setting(server: Any, name: str) -> int | None:
    try:
        return int(_flat(server.execute_command("GRAPH.CONFIG", "GET", name))[1])
    except (ResponseError, IndexError):
        return None


def _is_graph(module: dict[str, Any]) -> bool:
    return module.get("name") in ("graph", "falkordb")


def _pairs(answer: Any) -> dict[str, Any]:
    # A client may have made a map of it already (CONFIG GET always, MODULE LIST with RESP3).
    if isinstance(answer, dict):
        return {_text(name): _text(value) for name, value in answer.items()}
    flat = _flat(answer)
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _flat(answer: Any) -> list[Any]:
    return [_text(item) for item in answer]


def _text(item: Any) -> Any:
    return item.decode() if isinstance(item, bytes) else item
