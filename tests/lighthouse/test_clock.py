"""Which moment a time names: every form is moved to UTC and printed in one way, or refused."""

import os
import time
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lighthouse import clock, now, stamp

EAST, WEST = timezone(timedelta(hours=1)), timezone(timedelta(hours=-1))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICRO = timedelta(microseconds=1)
#: The moments at which doubles, signs or years of another length have misled an engine.
CORNERS = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1684, 10, 20, 1, 2, 3, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    EPOCH,
    datetime(2255, 6, 5, 23, 47, 34, 740_993, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]


class Silent(tzinfo):
    """A zone that does not know its offset: what Python calls naive too."""

    def utcoffset(self, moment):
        return None

    def dst(self, moment):
        return None

    def tzname(self, moment):
        return None


class Lenient(datetime):
    """What later Pythons read: hour 24 as the next day."""

    @classmethod
    def fromisoformat(cls, text):
        if text[10:13] == "T24":
            return datetime.fromisoformat(text.replace("T24", "T00")) + timedelta(days=1)
        return datetime.fromisoformat(text)


@pytest.fixture(name="far_from_utc")
def _far_from_utc():
    """The machine's own clock stands eleven hours from UTC."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "XXX-11"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        pytest.param("2026-01-01", "2026-01-01T00:00:00", id="a date is its midnight"),
        pytest.param("2026-01-01 10:00", "2026-01-01T10:00:00", id="a space for the T"),
        pytest.param("2026-01-01T10", "2026-01-01T10:00:00", id="hours alone"),
        pytest.param("20260101T101010", "2026-01-01T10:10:10", id="basic form"),
        pytest.param("20260101", "2026-01-01T00:00:00", id="basic date"),
        pytest.param("2026-W01-1", "2025-12-29T00:00:00", id="week and day"),
        pytest.param("2026W011", "2025-12-29T00:00:00", id="week and day, basic"),
        pytest.param("2026-W01", "2025-12-29T00:00:00", id="a week is its Monday"),
        pytest.param("2026-01-01T10:00:00Z", "2026-01-01T10:00:00", id="Z"),
        pytest.param("2026-01-01T10:00:00+02:00", "2026-01-01T08:00:00", id="east of UTC"),
        pytest.param("2026-01-01T10:00:00-0530", "2026-01-01T15:30:00", id="west of UTC, basic"),
        pytest.param("2026-01-01T10:00:00+01:00:30", "2026-01-01T08:59:30", id="seconds of offset"),
        pytest.param("2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00", id="over a year's end"),
        pytest.param("  2026-01-01T10:00:00\n", "2026-01-01T10:00:00", id="space around"),
        pytest.param("2026-01-01T10:00:00.5", "2026-01-01T10:00:00.500000", id="a fraction"),
        pytest.param("2026-01-01T10:00:00,5", "2026-01-01T10:00:00.500000", id="a comma"),
        pytest.param("2026-01-01T10:00:00.000", "2026-01-01T10:00:00", id="a fraction of nothing"),
        pytest.param("2026-01-01T10:00:00.000001Z", "2026-01-01T10:00:00.000001", id="micros"),
        pytest.param("2026-01-01T10:00:00.123456789", "2026-01-01T10:00:00.123456", id="nanos"),
        pytest.param("2026-01-01T10:00:00.9999999+01:00", "2026-01-01T09:00:00.999999", id="cut"),
        pytest.param("2024-02-29", "2024-02-29T00:00:00", id="a leap day"),
        pytest.param("0001-01-01", "0001-01-01T00:00:00", id="the year 1 has four digits"),
        pytest.param("0001-01-01T01:00+01:00", "0001-01-01T00:00:00", id="just in the year 1"),
        pytest.param("9999-12-31T22:59:59-01:00", "9999-12-31T23:59:59", id="just in 9999"),
        pytest.param("2026-01-01T00:00:00." + "1" * 44, "2026-01-01T00:00:00.111111", id="64 long"),
    ],
)
def test_every_form_of_iso_8601_is_read_and_printed_in_utc(given, printed) -> None:
    """What Python reads is a time; it comes out in UTC, cut to microseconds, without an offset."""
    assert stamp(given) == printed


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        (datetime(2026, 1, 1, 10), "2026-01-01T10:00:00"),
        (datetime(2026, 1, 1, 10, tzinfo=EAST), "2026-01-01T09:00:00"),
        (datetime(2026, 1, 1, 10, 0, 0, 7, tzinfo=UTC), "2026-01-01T10:00:00.000007"),
        (
            datetime(2026, 1, 1, tzinfo=timezone(timedelta(microseconds=1))),
            "2025-12-31T23:59:59.999999",
        ),
        (datetime(1, 1, 1, tzinfo=WEST), "0001-01-01T01:00:00"),
        (datetime(9999, 12, 31, 23, 59, tzinfo=EAST), "9999-12-31T22:59:00"),
        (datetime.max, "9999-12-31T23:59:59.999999"),
    ],
)
def test_a_datetime_is_printed_like_text(given, printed) -> None:
    """With an offset it is moved to UTC; without, it is taken as UTC; no fraction is lost."""
    assert stamp(given) == printed


def test_a_time_without_offset_is_utc_wherever_the_machine_stands(far_from_utc) -> None:
    """Neither a naive text, a naive datetime nor a zone without offset asks the local clock."""
    wall = datetime(2026, 1, 1, 10)

    assert wall.astimezone(UTC).hour == 23
    assert stamp("2026-01-01T10:00") == "2026-01-01T10:00:00"
    assert stamp(wall) == "2026-01-01T10:00:00"
    assert stamp(wall.replace(tzinfo=Silent())) == "2026-01-01T10:00:00"


@pytest.mark.parametrize("given", [None, "", " ", "\t\n", "\u00a0"])
def test_nothing_and_blank_text_are_no_time(given) -> None:
    """None stands for None and for text that only has white space."""
    assert stamp(given) is None


@pytest.mark.parametrize(
    "given",
    [
        *["soon", "5", "1767225600", "now", "2026", "2026-1-1", "2026-01", "2026-001", "T10:00"],
        *["2026-04-31", "2026-02-29", "2026-13-01", "2026-00-01", "2026-W54-1", "20260431T000000"],
        *["2026-01-01T25:00", "2026-01-01T10:60", "2026-01-01T23:59:60", "20260101T235960"],
        *["2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+25:00", "2026-01-01T00:00:00 UTC"],
        *["0000-01-01", "10000-01-01", "-0001-01-01", "2026-01-01T10:00:00\0x"],
        *["٢٠٢٦-01-01", "2026-01-01T00:00:00." + "1" * 45],
    ],
)
def test_what_is_no_time_is_refused(given) -> None:
    """An impossible date is an error, never another date; so is text of more than 64 characters."""
    with pytest.raises(ValueError, match=r"time|characters"):
        stamp(given)


@pytest.mark.parametrize(
    "given",
    [
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-01:00",
        datetime(1, 1, 1, tzinfo=EAST),
        datetime(9999, 12, 31, 23, 30, tzinfo=WEST),
        datetime.max.replace(tzinfo=WEST),
        datetime.min.replace(tzinfo=timezone(timedelta(microseconds=1))),
    ],
)
def test_an_offset_that_leaves_the_years_is_a_value_error(given) -> None:
    """Before the year 1 and after 9999 there is no time: ValueError, not OverflowError."""
    with pytest.raises(ValueError, match="years 1 to 9999"):
        stamp(given)


@pytest.mark.parametrize(
    "given", ["2026-01-01T24:00", "2026-01-01T24:00:00", "2026-12-31T24:00:00Z", "2026-01-01T24"]
)
@pytest.mark.parametrize("reader", [datetime, Lenient])
def test_hour_24_is_refused_by_every_python(given, reader, monkeypatch) -> None:
    """Pythons that read it as the next day must not store another date than this one does."""
    monkeypatch.setattr(clock, "datetime", reader)

    with pytest.raises(ValueError, match="not a time"):
        stamp(given)


def test_the_lenient_reader_reads_other_hours(monkeypatch) -> None:
    """The twin: under that reader the hour before is taken, so the refusal is not its own."""
    monkeypatch.setattr(clock, "datetime", Lenient)

    assert Lenient.fromisoformat("2026-12-31T24:00") == datetime(2027, 1, 1)
    assert stamp("2026-12-31T23:00") == "2026-12-31T23:00:00"


@pytest.mark.parametrize(
    ("given", "quoted"),
    [
        (31415926, "31415926"),
        (3.25, "3.25"),
        (True, "True"),
        (date(2026, 3, 14), "14"),
        (timedelta(days=27), "27"),
        (b"2026-01-01", "2026"),
        (["2026-01-01"], "2026"),
        ({"t": "2026-01-01"}, "2026"),
        (object, "object'>"),
    ],
)
def test_another_type_is_a_type_error_that_does_not_quote_it(given, quoted) -> None:
    """A number or a date may mean anything; the text names the type and not what stood there."""
    with pytest.raises(TypeError) as refused:
        stamp(given)

    assert type(given).__name__ in str(refused.value)
    assert quoted not in str(refused.value)


def test_now_is_the_present_moment_as_stamp_writes_it() -> None:
    """It lies between two looks at the clock and is a time of its own."""
    before = datetime.now(UTC)
    moment = now()
    after = datetime.now(UTC)

    assert stamp(moment) == moment
    assert before <= datetime.fromisoformat(moment).replace(tzinfo=UTC) <= after


@given(st.datetimes(timezones=st.none() | st.sampled_from([UTC, EAST, WEST])))
def test_stamps_keep_the_moment_and_sort_as_moments_do(moment) -> None:
    """Every moment survives, a second stamp changes nothing, and text order is order of time."""
    if moment.year in (1, 9999):
        moment = moment.replace(year=2000, day=1)
    exact = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment

    printed = stamp(moment)

    assert datetime.fromisoformat(printed).replace(tzinfo=UTC) == exact
    assert stamp(printed) == printed
    assert printed < stamp(exact + MICRO) < stamp(exact + timedelta(seconds=1))


@pytest.mark.parametrize("moment", CORNERS, ids=str)
def test_microseconds_are_whole_and_lead_back(moment) -> None:
    """The integer beside a time is exact in every year, and so is the way back."""
    us = clock.micros(moment)

    assert type(us) is int
    assert us == (moment - EPOCH) // MICRO
    assert clock.moment(us) == moment
    assert clock.text(us) == stamp(moment)


@pytest.mark.parametrize(
    ("us", "written"),
    [
        (0, "1970-01-01T00:00:00"),
        (999_999, "1970-01-01T00:00:00"),
        (-1, "1969-12-31T23:59:58"),
        (-1_000_000, "1969-12-31T23:59:58"),
        (-1_000_001, "1969-12-31T23:59:58"),
        (-2_000_001, "1969-12-31T23:59:57"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59"),
    ],
)
def test_the_readable_form_is_whole_seconds_that_the_engine_reads(us, written, graph) -> None:
    """Fractions are cut; the second that the engine cannot read is written as the one before."""
    assert clock.seconds(us) == written

    stored = graph.query("RETURN localdatetime($t)", {"t": written}).result_set

    assert stored == [[datetime.fromisoformat(written).replace(tzinfo=UTC)]]


def test_the_engine_cannot_read_the_second_before_1970(graph) -> None:
    """Why that second is written as another: once an engine reads it, the exception can go."""
    with pytest.raises(Exception, match=r"(?i)date|time|parse|invalid"):
        graph.query("RETURN localdatetime('1969-12-31T23:59:59')")
