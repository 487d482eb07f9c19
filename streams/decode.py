"""What does a record say? Bytes become a row of the right shape, or a refusal: nothing raises.

Shape only: which names, times, keys and values are taken is the library's to say.
"""

from typing import Any

import orjson

from streams import contracts, json_text
from streams.events import Record, Refusal, Row

#: Most characters of a kind, key or time that a refusal keeps.
LONGEST_KEPT = 200

_ROWS = contracts.contract("rows")
_SHOWN = 60
_TOMBSTONE = (
    "the record has no value: a tombstone deletes nothing here. To say that nothing is true of the"
    ' entity any more, send a full row with "values": null'
)


def decode(record: Record, max_record_bytes: int | None = None) -> Row | Refusal:
    """Read a record as a row; never raises.

    `max_record_bytes`: the largest value that is taken, None for no limit. Refuses as undecodable,
    tombstone, too-large, schema or key, and as invalid where a whole number is beyond 64 bits.
    """
    value = record.value
    if record.headers and (wrong := _unreadable(record)):
        return Refusal(record, "undecodable", wrong)
    if value is None:
        return Refusal(record, "tombstone", _TOMBSTONE)
    if max_record_bytes is not None and len(value) > max_record_bytes:
        detail = f"the value has {len(value)} bytes, at most {max_record_bytes} are taken"
        return Refusal(record, "too-large", detail)
    try:
        given = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        return Refusal(record, "undecodable", json_text.why_unreadable(value, error))
    if type(given) is not dict:
        return Refusal(record, "schema", _misshapen(given))
    if loss := json_text.lost(value, given):
        return _refused(record, given, *loss)
    if not _ROWS.fits(given) or type(given["key"]) is float:
        return _refused(record, given, "schema", _misshapen(given))
    return _row(record, given)


def off_key(record: Record, row: Row) -> bool:
    """Say whether a record's Kafka key is another than `<kind>/<key>` of its row."""
    return record.key != _kafka_key(row.kind, row.key)


def refuse(row: Row, reason: str, detail: str) -> Refusal:
    """Refuse a row; kind, key and time are kept where they are not too long."""
    return Refusal(row.record, reason, detail, _text(row.kind), _key(row.key), _text(row.t))


def _row(record: Record, given: dict[str, Any]) -> Row | Refusal:
    get = given.get
    row = Row(
        record,
        given["kind"],
        given["key"],
        given["t"],
        get("values"),
        get("relations"),
        get("entry"),
        get("partial", False),
    )
    if row.partial and off_key(record, row):
        return _refused(record, given, "key", _wrong_key(record, row))
    return row


def _kafka_key(kind: str, key: str | int) -> bytes:
    return f"{kind}/{key}".encode()


def _wrong_key(record: Record, row: Row) -> str:
    there = "none" if record.key is None else repr(record.key.decode(errors="replace")[:_SHOWN])
    wanted = f"{row.kind}/{row.key}"[: 2 * LONGEST_KEPT]
    return f"a partial row needs the Kafka key {wanted!r} to keep its order; it has {there}"


def _unreadable(record: Record) -> str | None:
    """Say which header is not text; None when all are."""
    for name, value in record.headers:
        try:
            (name if isinstance(name, bytes) else name.encode()).decode()
        except UnicodeError:
            return f"the header name {ascii(name)[:_SHOWN]} is not UTF-8 text"
        try:
            (value or b"").decode()
        except UnicodeDecodeError as wrong:
            return f"the header {name[:_SHOWN]!r} is not UTF-8 text: byte {wrong.start} of it"
    return None


def _misshapen(given: Any) -> str:
    problems = _ROWS.problems(given)
    if not problems:  # to JSON Schema 5.0 is an integer; to a graph it is another key than 5
        problems = [f'"key" must be text or a whole number, not {given["key"]!r}']
    return "; ".join(problems)


def _refused(record: Record, given: dict[str, Any], reason: str, detail: str) -> Refusal:
    """Refuse a record of which something could be read, and keep that."""
    kind, t = (_text(given.get(name)) for name in ("kind", "t"))
    return Refusal(record, reason, detail, kind, _key(given.get("key")), t)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= LONGEST_KEPT else None


def _key(value: object) -> str | int | None:
    return value if type(value) is int else _text(value)
