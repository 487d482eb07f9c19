"""What the library raises. Refused input is a receipt; an exception means the caller or the world is broken.

LighthouseError
├── Unavailable     the server cannot take queries now: wait, and send the same call again
└── SchemaMissing   the graph has no schema of this version: run ensure_schema
"""


class LighthouseError(Exception):
    """The memory could not do what was asked."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__)


class Unavailable(LighthouseError):
    """The database cannot take queries now; the same call may be sent again later."""


class SchemaMissing(LighthouseError):
    """The graph is not ready: call ensure_schema(graph, kinds) first."""
