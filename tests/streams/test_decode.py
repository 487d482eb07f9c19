"""Every record is a row or a refusal with a reason; content is for the library."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.decode import LONGEST_KEPT, decode, off_key
from streams.events import Headers, Record, Refusal, Row

FULL = {"kind": "Plane", "key": "N1", "t": "2026-01-01", "values": {"model": "737"}}
PARTIAL = {"kind": "Plane", "key": "N1", "t": "2026-01-01", "partial": True}
#: Takes the place of a field that is to be left out.
GONE = ...


def record(value: bytes | None, key: bytes | None = b"Plane/N1", headers: Headers = ()) -> Record:
    """Make a record of the topic of rows."""
    return Record("lighthouse.rows", "id", 0, 7, 0, key, value, headers)


def written(row: dict[str, Any], **fields: Any) -> bytes:
    """Write a row as JSON, with other fields, or without those that are GONE."""
    return json.dumps({name: v for name, v in (row | fields).items() if v is not GONE}).encode()


def raw(values: str) -> bytes:
    """Write a full row with values as they are given, which need not be JSON."""
    return b'{"kind":"Plane","key":"N1","t":"2026-01-01","values":{"a":%s}}' % values.encode()


def nested(levels: int) -> bytes:
    """Write a full row of so many levels, with lists in its values."""
    return raw("[" * (levels - 2) + "]" * (levels - 2))


def taken(record: Record) -> Row:
    """Decode a record that is a row."""
    row = decode(record)
    assert isinstance(row, Row), row
    return row


def refused(record: Record, limit: int | None = None) -> Refusal:
    """Decode a record that is refused."""
    refusal = decode(record, limit)
    assert isinstance(refusal, Refusal), refusal
    assert refusal.record is record
    return refusal


BAD = [
    # why it is refused, the value, the reason, words of the detail, its twin that is taken
    ("not UTF-8", raw('"x"').replace(b"x", b"\xe9"), "undecodable", "byte 0xe9 at", raw('"é"')),
    ("not JSON", raw("'x'"), "undecodable", "line 1, column 59", raw('"x"')),
    ("empty", b"", "undecodable", "the value is empty", written(FULL)),
    ("byte order mark", b"\xef\xbb\xbf" + raw("1"), "undecodable", "byte order mark", raw("1")),
    ("NaN", raw("NaN"), "undecodable", "NaN and Infinity", raw('"NaN"')),
    ("Infinity", raw("[Infinity]"), "undecodable", "NaN and Infinity", raw('["Infinity"]')),
    ("a number beyond a double", raw("1e400"), "undecodable", "too large", raw("1e300")),
    ("a raw NUL", raw('"\0"'), "undecodable", "control character", raw('" "')),
    ("a lone surrogate", raw('"\\ud83d"'), "undecodable", "surrogate", raw('"\\ud83d\\ude00"')),
    ("1,025 levels", nested(1_025), "undecodable", "more than 1024 levels", nested(1_024)),
    ("a list", b"[]", "schema", "must be an object, not a list", written(FULL)),
    ("null", b"null", "schema", "must be an object, not null", written(FULL)),
    ("a text", b'"row"', "schema", "must be an object, not text", written(FULL)),
    ("a number", b"5", "schema", "must be an object, not a whole number", written(FULL)),
    ("no kind", written(FULL, kind=GONE), "schema", '"kind" is missing', written(FULL)),
    ("no key", written(FULL, key=GONE), "schema", '"key" is missing', written(FULL)),
    ("no time", written(FULL, t=GONE), "schema", '"t" is missing', written(FULL)),
    ("no values", written(FULL, values=GONE), "schema", '"values" is missing', written(PARTIAL)),
    ("an unknown field", written(FULL, tail=1), "schema", '"tail": no such field', written(FULL)),
    ("a kind of a type", written(FULL, kind=5), "schema", '"kind" must be text', written(FULL)),
    ("a null key", written(FULL, key=None), "schema", "not null", written(FULL, key="null")),
    ("a true key", written(FULL, key=True), "schema", "not true", written(FULL, key=1)),
    ("a broken key", written(FULL, key=5.5), "schema", "not a number", written(FULL, key=5)),
    ("a float key", written(FULL, key=5.0), "schema", "not 5.0", written(FULL, key="5.0")),
    ("a null time", written(FULL, t=None), "schema", '"t" must be text', written(FULL, t="")),
    ("a numeric time", written(FULL, t=2026), "schema", '"t" must be', written(FULL, t="2026")),
    ("listed values", written(FULL, values=[]), "schema", "not a list", written(FULL, values={})),
    ("relations", written(FULL, relations=5), "schema", "or null", written(FULL, relations=None)),
    ("an entry", written(FULL, entry=1), "schema", '"entry" must', written(FULL, entry="e/1")),
    ("a partial", written(FULL, partial=0), "schema", "true or", written(FULL, partial=False)),
    ("65 bits", raw(f"{2**64}"), "invalid", '"values.a" is', raw(f"{2**64 - 1}")),
    ("a long key", written(FULL, key=2**64), "invalid", '"key" is', written(FULL, key=2**64 - 1)),
    ("a name twice", raw('1,"a":2'), "schema", '"values" names "a" twice', raw('1,"b":2')),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "reason", "told", "twin"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_bad_input_is_refused_with_a_reason(
    value: bytes, reason: str, told: str, twin: bytes
) -> None:
    """A record that is no row is refused in words; its twin, which differs in that, is taken."""
    refusal = refused(record(value))

    assert (refusal.reason, told in refusal.detail) == (reason, True), refusal.detail
    taken(record(twin))


def test_a_tombstone_is_refused_and_told_what_to_send() -> None:
    """A record without a value deletes nothing; the refusal says what to send instead."""
    refusal = refused(record(None))

    assert refusal.reason == "tombstone"
    assert '"values": null' in refusal.detail
    assert taken(record(written(FULL, values=None))).values is None


def test_a_value_larger_than_the_limit_is_refused() -> None:
    """The limit itself is taken; one byte more is not, and both numbers are told."""
    value = written(FULL)

    refusal = refused(record(value), len(value) - 1)

    assert refusal.reason == "too-large"
    assert f"{len(value)} bytes, at most {len(value) - 1}" in refusal.detail
    assert isinstance(decode(record(value), len(value)), Row)


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ((("agent", b"ok"), ("note", b"caf\xe9")), "header 'note' is not UTF-8 text: byte 3"),
        ((("note", b"\xed\xa0\x80"),), "header 'note' is not UTF-8 text"),
        # a client that hands names on as they came
        ((("\udcff", b""),), "header name"),
        (((b"\xff", b""),), "header name"),
    ],
)
def test_a_header_that_is_not_text_is_refused(headers: Headers, told: str) -> None:
    """The header is named, whatever the value holds; text, and no value at all, are taken."""
    refusal = refused(record(b"not json", headers=headers))

    assert refusal.reason == "undecodable"
    assert told in refusal.detail
    taken(record(written(FULL), headers=(("note", "café".encode()), ("none", None), ("", b""))))


@pytest.mark.parametrize(
    "key", [None, b"", b"N1", b"Plane/N2", b"plane/N1", b"Plane/N1 ", b"Plane/N1\xff"]
)
def test_a_partial_row_under_another_key_is_refused(key: bytes | None) -> None:
    """Only under `<kind>/<key>` do partial rows of one entity keep their order."""
    refusal = refused(record(written(PARTIAL), key))

    assert refusal.reason == "key"
    assert "'Plane/N1'" in refusal.detail
    assert taken(record(written(PARTIAL), b"Plane/N1")).partial


@pytest.mark.parametrize(
    ("key", "kafka_key"),
    [(5, b"Plane/5"), ("5", b"Plane/5"), ("ü/x", "Plane/ü/x".encode()), ("", b"Plane/")],
)
def test_a_kafka_key_is_written_and_never_parsed(key: str | int, kafka_key: bytes) -> None:
    """The key of a partial row may be a number, hold a slash, and is compared in UTF-8."""
    assert taken(record(written(PARTIAL, key=key), kafka_key)).key == key


def test_a_full_row_is_taken_under_any_key() -> None:
    """The key of a full row is only looked at, so that a metric can count the odd ones."""
    odd, even, none = (record(written(FULL), key) for key in (b"N1", b"Plane/N1", None))

    assert [off_key(each, taken(each)) for each in (odd, even, none)] == [True, False, True]


def test_a_row_has_what_the_record_says() -> None:
    """Every field is handed on as it was written, absent ones as None."""
    value = {"seats": 149, "length": 39.5, "tags": ["a", 1], "old": None, "new": True}
    given = record(written(FULL, values=value, relations={"BASED_AT": "EWR"}, entry="e/1"))

    assert taken(given) == Row(
        given, "Plane", "N1", "2026-01-01", value, {"BASED_AT": "EWR"}, "e/1", False
    )
    least = record(written(PARTIAL))
    assert taken(least) == Row(least, "Plane", "N1", "2026-01-01", None, None, None, True)


@pytest.mark.parametrize(
    "value",
    [
        # keys: empty, too long, invisible, with space at an end, beyond the index
        *(written(FULL, key=key) for key in ("", "x" * 201, "a\u200bb", "a\x07", " a", 2**53)),
        # values: nested, too many, too long, with NUL, beyond 64 bits with a sign
        *(written(FULL, values=values) for values in ({"a": {"b": 1}}, {"a": [[1]]})),
        written(FULL, values={"a": [0] * 1_001}),
        written(FULL, values={"a": "x" * 200_001}),
        written(FULL, values={"a": "\0", "b": 2**63}),
        # times
        *(written(FULL, t=t) for t in ("", "2026-04-31", "2026-01-01T24:00", "9999-01-01")),
        # a kind that nobody declared
        written(FULL, kind="Nothing"),
    ],
)
def test_content_is_left_to_the_library(value: bytes) -> None:
    """Limits, names, times and values pass the schema: their refusals are the library's."""
    taken(record(value))


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"tail": 1}, ("Plane", "N1", "2026-01-01")),
        ({"t": None}, ("Plane", "N1", None)),
        ({"kind": ["Plane"], "key": 5}, (None, 5, "2026-01-01")),
        ({"key": None}, ("Plane", None, "2026-01-01")),
        ({"key": True}, ("Plane", None, "2026-01-01")),
        ({"key": "x" * 200, "tail": 1}, ("Plane", "x" * 200, "2026-01-01")),
        ({"key": "x" * 201, "tail": 1}, ("Plane", None, "2026-01-01")),
    ],
)
def test_a_refusal_keeps_what_could_be_read(fields: dict[str, Any], kept: tuple[Any, ...]) -> None:
    """Kind, key and time are kept where they are of the right type and not too long."""
    refusal = refused(record(written(FULL, **fields)))

    assert (refusal.kind, refusal.key, refusal.t) == kept


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
fields = st.sampled_from(["kind", "key", "t", "values", "relations", "entry", "partial", "other"])
rows = st.dictionaries(fields, json_values, max_size=2).map(lambda odd: FULL | odd)
values = (
    st.none()
    | st.binary()
    | st.text().map(str.encode)
    | json_values.map(lambda value: json.dumps(value).encode())
    | rows.map(lambda row: json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
    | st.builds(lambda row, cut: json.dumps(row).encode()[:cut], rows, st.integers(0, 200))
)
header_lists = st.lists(st.tuples(st.text(), st.none() | st.binary()), max_size=3).map(tuple)


@given(values, st.none() | st.binary(), header_lists, st.none() | st.integers(0, 300))
def test_decode_never_raises(
    value: bytes | None, key: bytes | None, headers: Headers, limit: int | None
) -> None:
    """Whatever a record holds, the answer is a row or a refusal that says why."""
    given_record = record(value, key, headers)

    answer = decode(given_record, limit)

    assert isinstance(answer, Row | Refusal)
    assert answer.record is given_record
    if isinstance(answer, Refusal):
        assert answer.detail
        assert len(answer.kind or "") <= LONGEST_KEPT
    else:
        assert type(answer.key) in (str, int)
        assert orjson.loads(value or b"")["kind"] == answer.kind
