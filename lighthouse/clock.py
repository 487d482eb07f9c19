"""Which moment a time names: texts and datetimes to microseconds since 1970 in UTC, and back."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

#: Characters of a time given as text.
LONGEST_TIME = 64
#: Microseconds that a time may lie ahead of the clock (5 minutes).
AHEAD = 5 * 60 * 1_000_000

# The engine (4.22.1) cannot read 1969-12-31T23:59:59, whose count of seconds is -1, its sign of an
# error. The readable form is a second off there; the microseconds beside it are right.
_LAST_BEFORE_1970 = "1969-12-31T23:59:58"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Later Pythons read hour 24 as the next day; here it is no time on every version.
_HOUR_24 = re.compile(r"(\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d-?\d?).24")


def stamp(value: str | datetime | None) -> str | None:
    """Write a time as `YYYY-MM-DDTHH:MM:SS` in UTC, with a fraction only when there is one.

    Text is read by `datetime.fromisoformat`; without an offset it is UTC; digits past microseconds
    are cut off. None for None and for blank text.
    Raises ValueError (not a time, or over 64 characters) and TypeError (another type).
    """
    moment = read(value)
    return None if moment is None else text(micros(moment))


def now() -> str:
    """Give the present moment as `stamp` writes it."""
    return text(present())


def present() -> int:
    """Give the present moment in microseconds since 1970."""
    return micros(datetime.now(UTC))


def read(value: object) -> datetime | None:
    """Read a time as an aware datetime in UTC; None for None and blank text. Raises as `stamp`."""
    if value is None:
        return None
    if isinstance(value, str):
        return _read_text(value)
    if isinstance(value, datetime):
        return _to_utc(value)
    raise TypeError(f"a time is ISO 8601 text or a datetime, not {type(value).__name__}")


def required(value: object, name: str) -> int:
    """Read a time that must be there, in microseconds. Raises ValueError and TypeError."""
    moment = read(value)
    if moment is None:
        raise ValueError(f"{name} is missing: a time such as 2026-01-31T12:00:00Z is needed")
    return micros(moment)


def micros(moment: datetime) -> int:
    """Count the microseconds from 1970 to an aware datetime in UTC."""
    span = moment - _EPOCH
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


def moment(us: int) -> datetime:
    """Give the aware datetime in UTC of a count of microseconds."""
    return _EPOCH + timedelta(microseconds=us)


def text(us: int) -> str:
    """Write a count of microseconds as `stamp` does."""
    return moment(us).isoformat()[:-6]


@lru_cache(maxsize=8192)  # the rows of a batch share their times, and each is written several times
def seconds(us: int) -> str:
    """Write a count of microseconds for the engine's `localdatetime`: whole seconds, UTC."""
    if -1_000_000 <= us < 0:
        return _LAST_BEFORE_1970
    return moment(us).isoformat()[:19]


def _read_text(value: str) -> datetime | None:
    value = value.strip()
    if not value:
        return None
    if len(value) > LONGEST_TIME:
        raise ValueError(f"a time has at most {LONGEST_TIME} characters")
    try:
        if _HOUR_24.match(value):
            raise ValueError
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a time in ISO 8601") from None
    return _to_utc(parsed)


def _to_utc(value: datetime) -> datetime:
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time leaves the years 1 to 9999 when it is moved to UTC") from None
