"""Which column of a file becomes which part of a row?"""

import difflib
import json
import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import lighthouse
from streams.errors import UsageError

#: Whole numbers and decimals as people write them. "007" and "1E5" stay text: they are codes.
WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+([eE][+-]?[0-9]+)?")
#: Values have 64 bits; a whole number beyond stays text, which keeps all its digits.
INT64, INT64_DIGITS = range(-(2**63), 2**63), 20
SHIFT = re.compile(r"([+-]?)(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
#: `time_format` for numbers since 1970: the unit in seconds.
EPOCHS = {"epoch": 1, "epoch_ms": 1_000}
#: What stands under a name of a mapping that is not one text.
TABLE, LIST, SWITCH = "a table of name = column", "a list of texts", "true or false"
FORMS = {"values": TABLE, "relations": TABLE, "text": LIST, "null": LIST}
FORMS |= {"partial": SWITCH, "number_key": SWITCH}


@dataclass(frozen=True, slots=True)
class Mapping:
    """The columns of a row: each attribute names a column, except where its comment says more.

    Without `values`, each column that nothing else uses becomes a value of its own name.
    """

    kind: str  # the Kind itself
    key: str
    time: str
    values: dict[str, str] | None = None  # name of the value -> column
    relations: dict[str, str] = field(default_factory=dict)  # type of the relation -> column
    entry: str | None = None
    partial: bool = False  # change only what the row names
    text: tuple[str, ...] = ()  # columns never read as numbers
    number_key: bool = False  # read the key as a number
    null: tuple[str, ...] = ("", "NA")  # texts that mean absent
    time_format: str | None = None  # as strptime takes it, or epoch, epoch_ms
    timezone: str | None = None  # of times that have no offset

    def columns(self) -> set[str]:
        """Name the columns that this mapping reads."""
        named = [self.key, self.time, *(self.values or {}).values(), *self.relations.values()]
        return {*named, *self.text, *([self.entry] if self.entry else [])}


def load(path: Path) -> dict[str, Any]:
    """Read a mapping file (TOML, or JSON by its name) for `build`; UsageError when it is none."""
    try:
        text = path.read_text("utf-8")
        given = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    if not isinstance(given, dict):
        raise UsageError(f"{path}: a mapping is a table of names")
    return given


def build(given: dict[str, Any]) -> Mapping:
    """Make a mapping from a file's content and the flags laid over it.

    Raises UsageError for an unknown name, a missing one, or one of another type.
    """
    known = [f.name for f in fields(Mapping)]
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"a mapping has no {name!r}{_near(name, known)}")
        if not _fits(name, value):
            raise UsageError(f"{name} of a mapping is {FORMS.get(name, 'text')}")
    for name in ("kind", "key", "time"):
        if not given.get(name):
            raise UsageError(f"the mapping names no {name}: give --{name}, or --mapping FILE")
    _zone(given.get("timezone"))
    lists: dict[str, Any] = {n: tuple(given[n]) for n in ("text", "null") if n in given}
    return Mapping(**(given | lists))


def checked(mapping: Mapping, columns: Iterable[str] | None) -> Mapping:
    """Hold a mapping against a file's columns and fill in the values that were left open.

    Raises UsageError naming the column that the file does not have. Without columns (JSON lines)
    nothing can be checked.
    """
    if columns is None:
        return mapping
    there = list(columns)
    for name in sorted(mapping.columns() - set(there)):
        raise UsageError(f"no column {name!r}{_near(name, there)}; there are: {', '.join(there)}")
    if mapping.values is not None:
        return mapping
    return replace(mapping, values=_open_values(mapping, there))


def row(mapping: Mapping, given: dict[str, Any]) -> dict[str, Any]:
    """Make the row of one line. What is absent in the line is left out, whatever it is.

    A line without a key or a time gives a row without it: the worker refuses that one by name.
    """
    present = {name: v for name, v in given.items() if v is not None and not _null(mapping, v)}
    names = mapping.values if mapping.values is not None else _open_values(mapping, given)
    made: dict[str, Any] = {"kind": mapping.kind}
    if mapping.key in present:
        key = present[mapping.key]
        made["key"] = _number(key) if mapping.number_key else key
    if mapping.time in present:
        made["t"] = time_text(mapping, present[mapping.time])
    made["values"] = {
        name: present[column] if column in mapping.text else _number(present[column])
        for name, column in names.items()
        if column in present
    }
    made["relations"] = {
        name: present[column] for name, column in mapping.relations.items() if column in present
    }
    if mapping.entry in present:
        made["entry"] = present[mapping.entry]
    return made | ({"partial": True} if mapping.partial else {})


def time_text(mapping: Mapping, value: Any) -> Any:
    """Give a time as text with its offset; a value that is no such time comes back as it is."""
    if not (mapping.time_format or mapping.timezone):
        return value
    try:
        moment = _moment(mapping.time_format, value)
    except (ValueError, TypeError, OverflowError):
        return value
    if mapping.timezone and moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(mapping.timezone))
    return moment.isoformat()


def shift_of(text: str) -> timedelta:
    """Read a duration as +3d12h, -90m or 2w; UsageError when it is none."""
    match = SHIFT.fullmatch(text.strip())
    if not match or not any(match.groups()[1:]):
        raise UsageError(f"--shift takes a duration such as +3d12h or -90m, or now; not {text!r}")
    sign, *counts = match.groups()
    names = ("weeks", "days", "hours", "minutes", "seconds")
    duration = timedelta(**{n: int(c) for n, c in zip(names, counts, strict=True) if c})
    return -duration if sign == "-" else duration


def shifted(made: dict[str, Any], shift: timedelta) -> dict[str, Any]:
    """Move the time of a row; a row whose time cannot be read stays as it is."""
    moment = moment_of(made)
    if moment is None:
        return made
    try:
        return made | {"t": (moment + shift).isoformat()}
    except OverflowError:
        return made


def moment_of(made: dict[str, Any]) -> datetime | None:
    """Tell when a row holds from, in UTC; None when its time cannot be read."""
    try:
        text = lighthouse.stamp(made.get("t"))
    except (ValueError, TypeError, OverflowError):
        return None
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def _fits(name: str, value: Any) -> bool:
    form = FORMS.get(name)
    if form == TABLE:
        return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    if form == LIST:
        return isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
    return isinstance(value, bool if form == SWITCH else str)


def _open_values(mapping: Mapping, columns: Iterable[str]) -> dict[str, str]:
    taken = {mapping.key, mapping.time, mapping.entry, *mapping.relations.values()}
    return {name: name for name in columns if name not in taken}


def _null(mapping: Mapping, value: Any) -> bool:
    return isinstance(value, str) and value in mapping.null


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if WHOLE.fullmatch(value):
        return int(value) if len(value) <= INT64_DIGITS and int(value) in INT64 else value
    decimal = float(value) if DECIMAL.fullmatch(value) else math.inf
    return decimal if math.isfinite(decimal) else value


def _moment(time_format: str | None, value: Any) -> datetime:
    if time_format in EPOCHS:
        seconds = float(value) / EPOCHS[time_format]
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    if time_format:
        # Without an offset on purpose: `timezone` says which one, else it is UTC.
        return datetime.strptime(value, time_format)  # noqa: DTZ007
    return datetime.fromisoformat(value)


def _zone(name: str | None) -> None:
    try:
        if name:
            ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(f"no time zone {name!r}: take a name such as America/New_York") from error


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""
