"""Which rows can be stored: a row as it was given, checked and brought into one form."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from lighthouse import clock
from lighthouse.kinds import RESERVED, Kind
from lighthouse.values import (
    LARGEST_CONTENT,
    MOST_TARGETS,
    MOST_VALUES,
    Key,
    check_key,
    check_map,
    check_name,
    content_text,
    fingerprint,
    in_order,
    is_key,
)

_FIELDS = frozenset({"key", "t", "values", "relations", "entry"})

Times = dict[str, int]
Targets = Mapping[str, tuple[Key, ...]]
#: No relation is known.
NO_TARGETS: Targets = MappingProxyType({})


@dataclass(slots=True, eq=False)
class Content:
    """What is true of an entity: values, times in microseconds, targets of every declared relation."""

    values: dict[str, Any]
    times: Times
    targets: Targets
    text: str
    fp: str


#: Stands for a content that is not known, or not yet.
UNKNOWN = Content({}, {}, {}, "", "")


@dataclass(slots=True)
class Row:
    """A checked row; a partial one only names what changes: of its content there is the text alone.

    `before`: the relations of the current State, once they were read.
    """

    place: int
    key: Key
    t: int
    entry: str | None
    content: Content
    partial: bool
    load: int
    values: dict[str, Any]
    times: dict[str, int | None]
    targets: Targets
    before: Targets = NO_TARGETS

    @property
    def names(self) -> set[str]:
        """What a partial row names: values by their name, relations by `to:` and their type."""
        return {*self.values, *self.times, *(f"to:{edge}" for edge in self.targets)}


def check_row(kind: Kind, place: int, given: object, latest: int, partial: bool) -> Row:
    """Check one row of `remember`, or of `update_many` when `partial`.

    `place`: its place in the call. `latest`: the last time taken, in microseconds.
    Raises ValueError and TypeError, saying what is wrong.
    """
    if not isinstance(given, dict):
        raise TypeError(f"a row must be a map, not {type(given).__name__}")
    if not given.keys() <= _FIELDS:
        unknown = next(name for name in given if name not in _FIELDS)
        raise ValueError(
            f"unknown field {str(unknown)[:40]!r}: a row has key, t, values, relations, entry"
        )
    key = check_key(given.get("key"))
    t = clock.required(given.get("t"), "t")
    if t > latest:
        raise ValueError(f"t lies more than 5 minutes ahead of the clock: {clock.text(t)}")
    entry = given.get("entry")
    if entry is not None:
        check_name(entry, "entry")
    values, times = _split(kind, given.get("values"))
    targets = check_targets(kind, given.get("relations"))
    if partial:
        said = Content({}, {}, {}, _said(values, times, targets), "")
        load = _load(targets, said.text)
        return Row(place, key, t, entry, said, True, load, values, times, targets)
    known: Times = {name: us for name, us in times.items() if us is not None}
    full = make_content(kind, _without_nulls(values), known, targets)
    load = _load(full.targets, full.text)
    return Row(place, key, t, entry, full, False, load, values, times, targets)


def _load(targets: Targets, text: str) -> int:
    return 1 + sum(map(len, targets.values())) + len(text) // 1000


def _said(values: dict[str, Any], times: dict[str, int | None], targets: Targets) -> str:
    told = {name: us if us is None else clock.text(us) for name, us in times.items()}
    return content_text(values, told, targets)


def key_of(given: object) -> Key | None:
    """Give the key of a row that may be wrong in any way; None when it has no valid one."""
    key = given.get("key") if isinstance(given, dict) else None
    return key if is_key(key) else None


def merge(kind: Kind, base: Content | None, row: Row) -> Content:
    """Lay a partial row over what is known. Raises ValueError when the whole cannot be stored."""
    known = base or UNKNOWN
    values = _without_nulls({**known.values, **row.values})
    said = {**known.times, **row.times}
    times: Times = {name: us for name, us in said.items() if us is not None}
    targets = {**known.targets, **row.targets}
    if (size := len(values) + len(times)) > MOST_VALUES:
        raise ValueError(f"values would have {size} entries, at most {MOST_VALUES} are kept")
    return make_content(kind, values, times, targets)


def make_content(
    kind: Kind, values: dict[str, Any], times: Times, targets: Mapping[str, tuple]
) -> Content:
    """Give a content its text and its fingerprint (SHA-256 of that text).

    Raises ValueError when the text is too long.
    """
    whole = {edge: targets.get(edge, ()) for edge in kind.relations}
    text = content_text(values, {name: clock.text(us) for name, us in times.items()}, whole)
    if len(text) > LARGEST_CONTENT:
        raise ValueError(
            f"the row has {len(text)} characters as JSON, at most {LARGEST_CONTENT} are taken"
        )
    return Content(values, times, whole, text, fingerprint(text))


def check_targets(kind: Kind, given: object) -> Targets:
    """Check the relations of a row; give for each type named its targets in order, without doubles."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise TypeError("relations must be a map of relation to key, or to a list of keys")
    targets: dict[str, tuple[Key, ...]] = {}
    for edge, named in given.items():
        if edge not in kind.relations:
            raise ValueError(
                f"{str(edge)[:40]!r} is no relation of {kind.label}: {_listed(kind.relations)}"
            )
        targets[edge] = _keys(edge, named)
    return targets


def _keys(edge: str, named: object) -> tuple[Key, ...]:
    if named is None:
        return ()
    keys = named if isinstance(named, list | tuple) else (named,)
    if len(keys) > MOST_TARGETS:
        raise ValueError(f"{edge} names {len(keys)} targets, at most {MOST_TARGETS} are taken")
    for key in keys:
        if not is_key(key):
            raise ValueError(f"{edge} names something that is no key")
    return tuple(keys) if len(keys) < 2 else tuple(in_order(keys))


def _split(kind: Kind, given: object) -> tuple[dict[str, Any], dict[str, int | None]]:
    if kind.times and isinstance(given, dict):
        times = {name: _time(name, given[name]) for name in kind.times if name in given}
        values = {name: value for name, value in given.items() if name not in times}
        if len(given) > MOST_VALUES:
            raise ValueError(f"values has {len(given)} entries, at most {MOST_VALUES} are taken")
        return check_map(values, _reserved(kind.key)), times
    return check_map(given, _reserved(kind.key)), {}


def _time(name: str, given: object) -> int | None:
    try:
        moment = clock.read(given)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name!r}: {error}") from None
    return None if moment is None else clock.micros(moment)


@lru_cache(maxsize=1024)
def _reserved(key: str) -> frozenset[str]:
    return RESERVED | {key}


def _without_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _listed(names: Mapping[str, object]) -> str:
    return "it has " + ", ".join(names) if names else "it has none"
