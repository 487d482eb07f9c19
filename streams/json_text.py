"""What is wrong with bytes that should be JSON, in words that a person understands?

orjson reads them; what it says is made readable here, and what it loses without a word is found.
"""

import json
from collections.abc import Iterator
from typing import Any

import orjson

#: Levels that orjson reads; it refuses what lies deeper.
MOST_LEVELS = 1_024
#: Whole numbers that orjson keeps; it makes a float of what lies beyond.
LEAST_WHOLE, MOST_WHOLE = -(2**63), 2**64 - 1

#: A float of this size may have been a whole number that orjson could not keep.
_SUSPECT = 2.0**63
#: Steps from a row to what lies deepest in it: values, one of them, an item of its list.
_KEPT_DEPTH = 3
_SHOWN = 60
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_NOT_NUMBERS = ("NaN", "Infinity")


class _Beyond:
    """Stands for a whole number that does not fit 64 bits."""


class _Members(list[tuple[str, Any]]):
    """The members of an object in the order written, doubles kept."""


def why_unreadable(value: bytes, error: orjson.JSONDecodeError) -> str:
    """Say why orjson could not read a value, with the place where that helps."""
    if not value.strip():
        return "the value is empty: a JSON object is expected"
    if value.startswith(_BOM):
        return "the value begins with a byte order mark: send the JSON without it"
    try:
        text = value.decode()
    except UnicodeDecodeError as wrong:
        byte = f"byte 0x{value[wrong.start]:02x} at position {wrong.start}"
        also = ", and it begins as UTF-16 does" if value.startswith(_UTF16) else ""
        return f"the value is not UTF-8: {byte}{also}"
    if value[0] == 0:
        return (
            "the value begins with byte 0, as a schema registry's serializers do: send plain JSON"
        )
    place = f"line {error.lineno}, column {error.colno}"
    return f"the value is not JSON ({place}): {_cause(text, error)}"


def lost(value: bytes, given: dict[str, Any]) -> tuple[str, str] | None:
    """Look for what orjson loses without a word; return the reason and the detail of a refusal.

    `given` is what orjson made of `value`: whole numbers beyond 64 bits have become floats, and of
    two members of one name the first is gone. Both are looked for where a row can keep them, in its
    own fields, in `values` and in `relations`: what lies deeper is never taken.
    """
    if value.count(b'":') == _members(given) and not _suspect(given):
        return None
    # Few records come here: a space before a colon, a text with `":` in it or a large float leads
    # here too. Only a row that writes some colons with a space before and others without can hide a
    # double name; the last is taken then, as any reader of JSON does.
    return _first_loss(json.loads(value.decode(), parse_int=_whole, object_pairs_hook=_Members))


def _cause(text: str, error: orjson.JSONDecodeError) -> str:
    said = error.msg
    if text.startswith(_NOT_NUMBERS, error.pos):
        return "NaN and Infinity are no JSON numbers: leave the value out, or send null"
    if "surrogate" in said:
        return f"half of a surrogate pair in a text ({said})"
    if "infinity" in said:
        return "a number too large for any number type"
    if "depth" in said or "ecursion" in said:
        return f"more than {MOST_LEVELS} levels"
    return said


def _members(given: dict[str, Any]) -> int:
    """Count the members of a row, and of its values and relations."""
    count = len(given)
    for name in ("values", "relations"):
        inner = given.get(name)
        if type(inner) is dict:
            count += len(inner)
    return count


def _suspect(given: dict[str, Any]) -> bool:
    """Say whether a value or the key may have been a whole number beyond 64 bits."""
    if type(given.get("key")) is float:
        return True
    values = given.get("values")
    if type(values) is not dict:
        return False
    for value in values.values():
        if type(value) is float:
            if not -_SUSPECT < value < _SUSPECT:
                return True
        elif type(value) is list and any(map(_is_large, value)):
            return True
    return False


def _is_large(value: object) -> bool:
    return type(value) is float and not -_SUSPECT < value < _SUSPECT


def _whole(digits: str) -> int | _Beyond:
    # At most 309 digits: orjson has refused what no double can hold.
    whole = int(digits)
    return whole if LEAST_WHOLE <= whole <= MOST_WHOLE else _Beyond()


def _first_loss(whole: object) -> tuple[str, str] | None:
    for path, node in _nodes(whole):
        if isinstance(node, _Beyond):
            return "invalid", f'"{path}" is a whole number beyond 64 bits: write it as text'
        if isinstance(node, _Members) and (twice := _named_twice(node)) is not None:
            place = f'"{path}"' if path else "the row"
            return "schema", f'{place} names "{twice[:_SHOWN]}" twice: only one could be kept'
    return None


def _nodes(whole: object) -> Iterator[tuple[str, object]]:
    """Yield the nodes that a row can keep, each with its path."""
    waiting = [("", whole, 0)]
    while waiting:
        path, node, depth = waiting.pop()
        yield path, node
        if depth == _KEPT_DEPTH:
            continue
        if isinstance(node, _Members):
            inner = [(f"{path}.{name[:_SHOWN]}".lstrip("."), value) for name, value in node]
        elif isinstance(node, list):
            inner = [(f"{path}[{place}]", value) for place, value in enumerate(node)]
        else:
            continue
        waiting += [(step, value, depth + 1) for step, value in reversed(inner)]


def _named_twice(members: _Members) -> str | None:
    met: set[str] = set()
    for name, _ in members:
        if name in met:
            return name
        met.add(name)
    return None
