"""What is said of bytes that are not JSON, and what orjson loses without saying so."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import json_text


def why(value: bytes) -> str:
    """Say why a value cannot be read."""
    with pytest.raises(orjson.JSONDecodeError) as caught:
        orjson.loads(value)
    return json_text.why_unreadable(value, caught.value)


def lost(text: str) -> tuple[str, str] | None:
    """Look for what orjson loses of a text."""
    return json_text.lost(text.encode(), orjson.loads(text))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        # nothing there
        (b"", "the value is empty"),
        (b" \n ", "the value is empty"),
        # not text: the position counts bytes from 0
        (b'{"a":"\xe9"}', "not UTF-8: byte 0xe9 at position 6"),
        ('{"ä":"'.encode() + b'\xff"}', "not UTF-8: byte 0xff at position 7"),
        # a surrogate written as UTF-8 bytes is no UTF-8
        (b'{"a":"\xed\xa0\x80"}', "not UTF-8: byte 0xed at position 6"),
        ('{"a":1}'.encode("utf-16"), "begins as UTF-16 does"),
        # marks of tools at the beginning
        (b'\xef\xbb\xbf{"a":1}', "byte order mark"),
        (b'\x00\x00\x00\x00\x07{"a":1}', "schema registry"),
        # the place is told in lines and columns of characters
        (b'{"a":1', "(line 1, column 7): unexpected end of data"),
        ('{"ä":1,\n "ö":x}'.encode(), "(line 2, column 6): unexpected character"),
        (b"hello", "(line 1, column 1): unexpected character"),
        # words of other languages for numbers
        (b'{"a":NaN}', "NaN and Infinity are no JSON numbers"),
        (b'{"a":[-Infinity]}', "NaN and Infinity are no JSON numbers"),
        (b'{"a":Infinity}', "NaN and Infinity are no JSON numbers"),
        (b'{"a":1e400}', "a number too large for any number type"),
        # halves of characters
        (b'{"a":"\\ud800"}', "half of a surrogate pair in a text"),
        (b'{"a":"\\udc00"}', "half of a surrogate pair in a text"),
        # a raw NUL, and more levels than are read
        (b'{"a":"\x00"}', "unexpected control character in string"),
        (b"[" * 1_025 + b"]" * 1_025, "more than 1024 levels"),
    ],
)
def test_what_cannot_be_read_is_explained(value: bytes, told: str) -> None:
    """Each kind of bytes that are not JSON has words that a person understands."""
    assert told in why(value)


def test_a_surrogate_pair_and_1024_levels_are_read() -> None:
    """The twins of what is refused can be read."""
    assert orjson.loads(b'{"a":"\\ud83d\\ude00"}') == {"a": "\N{GRINNING FACE}"}
    assert orjson.loads(b"[" * 1_024 + b"]" * 1_024)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        # the first whole numbers that orjson makes floats of, wherever a row can hold them
        ('{"key": 18446744073709551616}', '"key" is a whole number beyond 64 bits'),
        ('{"values": {"a": -9223372036854775809}}', '"values.a" is a whole number beyond'),
        (
            '{"values": {"a": 1, "b": [2, 100000000000000000000]}}',
            '"values.b[1]" is a whole number',
        ),
        # as many digits as orjson reads
        ('{"key": ' + "9" * 308 + "}", '"key" is a whole number beyond'),
        ('{"values": {"a": ' + "9" * 308 + "}}", '"values.a" is a whole number beyond'),
    ],
)
def test_a_whole_number_beyond_64_bits_is_found(text: str, told: str) -> None:
    """A number that orjson turned into a float is named by its field."""
    reason, detail = lost(text) or ("", "")

    assert reason == "invalid"
    assert told in detail


@pytest.mark.parametrize(
    "text",
    [
        # the last numbers that are kept
        '{"key": 18446744073709551615, "values": {"a": -9223372036854775808}}',
        '{"key": 18446744073709551615, "values": {"a": 1e300, "b": -9223372036854775808}}',
        # large numbers that were written as floats
        '{"values": {"a": 1e19, "b": [-1.5e300, 18446744073709551616.0]}}',
        # a float as a key: the schema's matter
        '{"key": 1.0}',
        # digits in a text, behind a large float that makes the text be read twice
        '{"values": {"a": "18446744073709551616", "b": 1e300}}',
        # spaces before a colon, colons in texts and names
        '{"key" : 1, "values": {"a": ": x", "b": "\\":", ":": ":", "\\":": 1}}',
        # as many levels as orjson reads, read twice for a large float
        '{"values": {"b": 1e300, "a": ' + "[" * 1_022 + "]" * 1_022 + "}}",
        # what no row may hold is left to others
        '{"values": {"a": [[18446744073709551616]]}}',
    ],
)
def test_what_is_not_lost_is_not_refused(text: str) -> None:
    """Where every number and member is kept nothing is found."""
    assert lost(text) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"key": 1, "key": 1}', 'the row names "key" twice'),
        ('{"values": {"a": 1, "b": 2, "a": 1}}', '"values" names "a" twice'),
        ('{"relations": {"A": "x", "A": "y"}}', '"relations" names "A" twice'),
        # the same name written in two ways
        ('{"values": {"a": 1, "\\u0061": 2}}', '"values" names "a" twice'),
        # the whole of `values` twice
        ('{"values": {"a": 1}, "values": {}}', 'the row names "values" twice'),
    ],
)
def test_a_name_that_is_given_twice_is_found(text: str, told: str) -> None:
    """Of two members of one name none is dropped in silence."""
    reason, detail = lost(text) or ("", "")

    assert reason == "schema"
    assert told in detail


names = st.text(max_size=5) | st.sampled_from(["a", '":', ":", 'b\\":'])
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
rows = st.fixed_dictionaries(
    {"key": st.integers() | names},
    optional={
        "values": st.dictionaries(names, scalars | names | st.lists(scalars | names)),
        "relations": st.dictionaries(names, names),
    },
)


def _whole_numbers(row: dict[str, Any]) -> list[int]:
    items = [row["key"]]
    for value in row.get("values", {}).values():
        items += value if isinstance(value, list) else [value]
    return [item for item in items if type(item) is int]


@given(rows, st.sampled_from([(", ", ": "), (",", ":"), (",", " : ")]), st.booleans())
def test_what_orjson_reads_otherwise_than_written_is_always_found(
    row: dict[str, Any], separators: tuple[str, str], ascii_only: bool
) -> None:
    """A row loses something exactly when it has a whole number that orjson cannot keep."""
    text = json.dumps(row, separators=separators, ensure_ascii=ascii_only)

    kept = range(-(2**63), 2**64)

    assert (lost(text) is None) == all(number in kept for number in _whole_numbers(row))
