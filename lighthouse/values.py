"""What can be stored: names, keys and values, and the one text that stands for a content."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from typing import Any

#: Characters of a name, an id and a text key.
LONGEST_NAME = 200
#: Characters of one text value.
LONGEST_TEXT = 100_000
#: Items of one list value.
MOST_ITEMS = 1_000
#: Entries of one map of values, null ones counted.
MOST_VALUES = 200
#: Targets of one relation in a row.
MOST_TARGETS = 200
#: Characters of a row's content text.
LARGEST_CONTENT = 200_000
#: Integer keys: the engine's index compares whole numbers as doubles, which are exact up to here.
LARGEST_KEY = 2**53 - 1

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_WORD = re.compile(r"[^\W_]+")
_content = json.JSONEncoder(sort_keys=True).encode

Key = str | int


@lru_cache(maxsize=4096)
def is_identifier(text: str) -> bool:
    """Say whether a text may name a label, a property or an edge type (1 to 100, ASCII)."""
    return _IDENTIFIER.fullmatch(text) is not None


def is_name(value: object) -> bool:
    """Say whether a value is text of 1 to 200 visible characters without space at its ends."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_NAME or value != value.strip():
        return False
    return value.isprintable() or not any(map(_invisible, value))


def is_key(value: object) -> bool:
    """Say whether a value can identify an entity: a name, or an integer within 2^53 - 1."""
    if type(value) is int:
        return -LARGEST_KEY <= value <= LARGEST_KEY
    return is_name(value)


def check_name(value: Any, argument: str) -> str:
    """Give back an identifying argument. Raises ValueError when it is not a name."""
    if not is_name(value):
        raise ValueError(f"{argument} must be text of 1 to {LONGEST_NAME} visible characters")
    return value


def check_key(value: Any) -> Key:
    """Give back a key. Raises ValueError, saying what is wrong with it."""
    if is_key(value):
        return value
    if type(value) is int:
        raise ValueError("the key is a number beyond 2^53 - 1: write it as text")
    raise ValueError(
        f"the key must be an integer, or text of 1 to {LONGEST_NAME} visible characters"
        " without white space at its ends"
    )


def check_map(values: object, reserved: frozenset[str], what: str = "values") -> dict:
    """Give back a map of storable values, nulls kept. Raises ValueError and TypeError."""
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise TypeError(f"{what} must be a map")
    if len(values) > MOST_VALUES:
        raise ValueError(f"{what} has {len(values)} entries, at most {MOST_VALUES} are taken")
    for name, value in values.items():
        if not isinstance(name, str) or not is_identifier(name):
            raise ValueError(
                f"{_shown(name)} cannot name a value: a letter or _, then letters, digits, _"
            )
        if name in reserved:
            raise ValueError(f"the name {name!r} is reserved")
        check_value(value, name)
    return values


def check_value(value: object, name: str) -> None:
    """Raise ValueError or TypeError when a value cannot be stored."""
    if isinstance(value, list):
        if len(value) > MOST_ITEMS:
            raise ValueError(f"{name!r} has {len(value)} items, at most {MOST_ITEMS} are taken")
        for item in value:
            if item is None or isinstance(item, list):
                raise ValueError(f"{name!r} holds a null or a list inside its list")
            _check_scalar(item, name)
    elif value is not None:
        _check_scalar(value, name)


def content_text(
    values: dict, times: Mapping[str, str | None], relations: Mapping[str, Iterable[Key]]
) -> str:
    """Write the JSON that stands for what a row says; two rows are the same when theirs are."""
    return _content([values, times, relations])


def fingerprint(text: str) -> str:
    """Give the SHA-256 of a text in lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def in_order(keys: Iterable[Key]) -> list[Key]:
    """Sort keys without doubles: integers in rising order, then texts."""
    return sorted(dict.fromkeys(keys), key=lambda key: (isinstance(key, str), key))


def exact(value: object) -> str | None:
    """Write a float, or a list with floats, that the engine's answers would round.

    The engine stores doubles as they are and prints 15 digits; None where those are enough.
    """
    if type(value) is float:
        return None if float(f"{value:.15g}") == value else repr(value)
    if type(value) is list and any(type(item) is float and exact(item) for item in value):
        return json.dumps(value)
    return None


def own_values(properties: Mapping[str, Any], left_out: Container[str]) -> dict[str, Any]:
    """Give the caller's values among stored properties, every digit of them."""
    values = {
        name: value
        for name, value in properties.items()
        if ":" not in name and name not in left_out
    }
    for name, text in properties.items():
        base, _, mark = name.partition(":")
        if mark == "exact":
            values[base] = json.loads(text)
    return values


def words(values: Iterable[object]) -> str | None:
    """Join the words of some values by single spaces, in order; None when there is none.

    Words are runs of letters and digits of texts and of texts in lists. Folded as Unicode folds
    case, and cut to 50 characters and 120 bytes, so that a question treated alike finds them.
    """
    found: list[str] = []
    for value in values:
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, str):
                found += map(_cut, _WORD.findall(item.casefold()))
    return " ".join(found) or None


def _check_scalar(value: Any, name: str) -> None:
    kind = type(value)
    if kind is str:
        if len(value) > LONGEST_TEXT:
            raise ValueError(
                f"{name!r} has {len(value)} characters, at most {LONGEST_TEXT} are taken"
            )
        if "\0" in value:
            raise ValueError(f"{name!r} holds a NUL character")
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            raise ValueError(f"{name!r} holds half of a surrogate pair")
    elif kind is int:
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{name!r} is a number beyond 64 bits")
    elif kind is float:
        if value - value != 0:
            raise ValueError(f"{name!r} is not a finite number")
    elif kind is not bool:
        raise TypeError(
            f"{name!r} is a {kind.__name__}: text, numbers, true, false and flat lists are taken"
        )


def _cut(word: str) -> str:
    # The index finds no word of more than 128 bytes.
    word = word[:50]
    return word if word.isascii() else word.encode()[:120].decode(errors="ignore")


def _invisible(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "C" or category in ("Zl", "Zp")


def _shown(name: object) -> str:
    return repr(name[:40]) if isinstance(name, str) else f"a {type(name).__name__}"
