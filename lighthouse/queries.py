"""How queries reach the database: parameters as text, answers as lists, errors told apart."""

import json
import re
from collections.abc import Callable
from typing import Any

from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)

from lighthouse.errors import SchemaMissing, Unavailable

#: Milliseconds after which a read that may be heavy is stopped.
READ_TIMEOUT = 5_000
#: Rows of one page of a long read; well below a server's usual cap of 10,000.
PAGE = 5_000
#: How a query begins that must find a graph with a schema; without one it has no rows.
READY = "MATCH (m:Stamp) WHERE m.times = 'us' WITH 1 AS ready LIMIT 1"
#: Stands for an absent time in comparisons: before every time.
NEVER = -(2**62)

# Answers that speak of the server's state, not of what was asked: those that the client has a class
# for, whose texts it shortens, and those that come as plain errors.
_OUTAGES = (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    TryAgainError,
)
_OUTAGE = re.compile(
    r"(OOM|READONLY|NOREPLICAS|LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|MISCONF|NOAUTH"
    r"|WRONGPASS|NOPERM) "
    r"|max pending queries|query's mem consumption exceeded|query timed out|another write is in progress"
    r"|graph write queue unavailable|graph was deleted or replaced|write query aborted"
    r"|max number of clients",
    re.IGNORECASE,
)
# Answers that speak of what was sent: a constraint, a type, a value.
_CONTENT = re.compile(
    r"unique constraint violation|mandatory constraint violation|property values can only|type mismatch",
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


def command(graph: Any, *words: Any) -> Any:
    """Send a command about a graph; errors as of `tell`."""
    return _sent(lambda: graph.execute_command(*words))


def require_ready(graph: Any) -> None:
    """Raise SchemaMissing unless the graph has the schema of this version."""
    if not ask(graph, f"{READY} RETURN 1"):
        raise SchemaMissing


def speaks_of_content(error: ResponseError) -> bool:
    """Say whether an error of the database is about what was sent."""
    return _CONTENT.match(str(error)) is not None


def literal(value: Any) -> str:
    """Write a value of scalars and lists as the engine's parameter parser reads it."""
    text = _encode(value)
    return _ESCAPE.sub(_unescape, text) if "\\u" in text else text


def _run(send: Any, text: str, params: dict[str, Any] | None, timeout: int | None) -> list:
    if params:
        text = f"CYPHER {' '.join(f'{name}={literal(value)}' for name, value in params.items())} {text}"
    return _sent(lambda: send(text, timeout=timeout).result_set)


def _sent(send: Callable[[], Any]) -> Any:
    try:
        return send()
    except _OUTAGES as error:
        raise Unavailable(f"the database cannot take queries now: {error}") from error
    except ResponseError as error:
        message = str(error)
        if _EMPTY_KEY in message:
            raise SchemaMissing from error
        if _OUTAGE.match(message):
            raise Unavailable(f"the database cannot take queries now: {message}") from error
        raise


def _unescape(found: re.Match) -> str:
    return chr(int(found[2], 16)) if found[2] else found[0]
