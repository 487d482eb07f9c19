"""How queries reach the database: parameters as text, answers as lists, errors told apart."""

import json
import re
from typing import Any

from redis.exceptions import ResponseError

from lighthouse.errors import SchemaMissing, Unavailable

#: Milliseconds after which a read that may be heavy is stopped.
READ_TIMEOUT = 5_000
#: Rows of one page of a long read; well below a server's usual cap of 10,000.
PAGE = 5_000
#: How a query begins that must find a graph with a schema; without one it has no rows.
READY = "MATCH (m:Stamp) WHERE m.times = 'us' WITH 1 AS ready LIMIT 1"
#: Stands for an absent time in comparisons: before every time.
NEVER = -(2**62)

# Answers that speak of the server's state, not of what was asked (several come as plain errors).
_OUTAGE = re.compile(
    r"max pending queries|\boom\b|out of memory|mem consumption exceeded|read.?only replica|\breadonly\b"
    r"|noreplicas|not enough good replicas|\bloading\b|\bbusy\b|clusterdown|masterdown|\bmoved \d|\bask \d"
    r"|tryagain|misconf|query timed out|another write is in progress|write queue unavailable"
    r"|deleted or replaced while|write query aborted|noauth|wrongpass|noperm|max number of clients"
    r"|background save|failed opening the .* for saving|no space left",
    re.IGNORECASE,
)
# Answers that speak of what was sent: a constraint, a type, a value.
_CONTENT = re.compile(
    r"constraint violation|mandatory constraint|property values can only|type mismatch",
    re.IGNORECASE,
)
_EMPTY_KEY = "empty key"
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# The engine reads \n \t \r \b \f \" \\ but no \u escape: such characters go in as they are.
_ESCAPE = re.compile(r"\\(?:(\\)|u([0-9a-f]{4})|.)")


def ask(
    graph: Any, text: str, params: dict[str, Any] | None = None, timeout: int | None = None
) -> list:
    """Run a query that only reads; give its rows.

    `timeout`: milliseconds. Raises Unavailable, SchemaMissing (no such graph), ResponseError.
    """
    return _run(graph.ro_query, text, params, timeout)


def tell(graph: Any, text: str, params: dict[str, Any] | None = None) -> list:
    """Run a query that writes; give its rows. Raises Unavailable and ResponseError."""
    return _run(graph.query, text, params, None)


def speaks_of_server(message: str) -> bool:
    """Say whether an error of the database is about its state: the same query may work later."""
    return _OUTAGE.search(message) is not None


def speaks_of_content(message: str) -> bool:
    """Say whether an error of the database is about what was sent."""
    return not speaks_of_server(message) and _CONTENT.search(message) is not None


def quoted(name: str) -> str:
    """Write a checked name for use in a query."""
    return f"`{name}`"


def literal(value: Any) -> str:
    """Write a value of scalars and lists as the engine's parameter parser reads it."""
    text = _encode(value)
    return _ESCAPE.sub(_unescape, text) if "\\u" in text else text


def _run(send: Any, text: str, params: dict[str, Any] | None, timeout: int | None) -> list:
    if params:
        text = f"CYPHER {' '.join(f'{name}={literal(value)}' for name, value in params.items())} {text}"
    try:
        return send(text, timeout=timeout).result_set
    except ResponseError as error:
        message = str(error)
        if _EMPTY_KEY in message:
            raise SchemaMissing from error
        if speaks_of_server(message):
            raise Unavailable(f"the database cannot take queries now: {message}") from error
        raise


def _unescape(found: re.Match) -> str:
    return chr(int(found[2], 16)) if found[2] else found[0]
