"""What flows through the worker: a record, the row it holds, where the row goes, and how it ended.

Record → Row → Routed → Outcome, and a Refusal in place of any of the later ones. Nothing here
changes once it is made.
"""

from dataclasses import dataclass
from typing import Any

from lighthouse import Kind

#: Statuses of a record whose effect is in the database.
STORED = frozenset({"created", "changed", "inserted", "unchanged", "recorded", "said", "exists"})
#: Words of the library for a record that it does not take; they are passed on as they are.
LIBRARY_REFUSALS = frozenset({"invalid", "stale", "conflict", "missing", "failed"})
#: Words of the worker for a record that does not reach the library.
WORKER_REFUSALS = frozenset(
    {"undecodable", "tombstone", "too-large", "schema", "key"}
    | {"unknown-kind", "not-allowed", "forgotten"}
)
#: Statuses of a record that has no effect and gets a dead letter. The worker too says `invalid`: of
#: a whole number beyond 64 bits, which would be a float by the time the library saw it.
REFUSED = LIBRARY_REFUSALS | WORKER_REFUSALS

Key = str | int
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record as the broker gave it.

    `topic_id`: the id that the broker gave the topic; `timestamp`: milliseconds since 1970.
    """

    topic: str
    topic_id: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A record whose value has the shape of a row. `partial`: only what it names changes."""

    record: Record
    kind: str
    key: Key
    t: str
    values: dict[str, Any] | None
    relations: dict[str, Any] | None
    entry: str | None
    partial: bool


@dataclass(frozen=True, slots=True)
class Routed:
    """A row with the Kind it is of, the name of the graph it goes to, and who says it."""

    row: Row
    kind: Kind
    graph: str
    by: str
    provenance: str | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that the worker does not take. `reason` is one word, `detail` what a person reads.

    The rest is what could be read of the record, as far as it came.
    """

    record: Record
    reason: str
    detail: str
    kind: str | None = None
    key: Key | None = None
    t: str | None = None
    by: str | None = None
    graph: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the library answered for a record. `status`: one of STORED or of LIBRARY_REFUSALS.

    `reason`: for a refusal, why. `again`: it was delivered before and had its effect then.
    """

    record: Record
    graph: str
    kind: str
    key: Key | None
    t: str
    status: str
    reason: str | None = None
    by: str | None = None
    again: bool = False
