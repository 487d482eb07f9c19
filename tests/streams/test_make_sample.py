"""Whether the sample is what it says: real clocks, real gaps, in order of report, small."""

import csv
import gzip
from collections import Counter
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from streams import mapping
from streams.demo import COLUMNS, SAMPLE
from streams.demo_data import make_sample

LARGEST_BYTES = 1_000_000


@pytest.fixture(scope="module", name="reports")
def _reports() -> list[dict[str, str]]:
    with gzip.open(SAMPLE, "rt", newline="") as lines:
        return list(csv.DictReader(lines))


def flight(**given: str) -> dict[str, str]:
    """Make a flight of the data set that leaves in the last hour before summer time."""
    plain = {"year": "2013", "month": "3", "day": "9", "sched_dep_time": "2330", "dep_delay": "0"}
    return plain | {"dep_time": "2330", "arr_time": "130"} | given


def test_the_sample_is_small_and_holds_what_its_note_says(reports: list[dict[str, str]]) -> None:
    """The numbers of ORIGIN.md, and its size below 1 MB."""
    events = Counter(report["event"] for report in reports)
    note = SAMPLE.with_name("ORIGIN.md").read_text()

    assert SAMPLE.stat().st_size < LARGEST_BYTES
    assert events == {"departed": 6045, "landed": 6045, "cancelled": 504}
    assert sum(report["tail"] == "NA" for report in reports) == 139
    assert sum(r["event"] == "landed" and r["at"] == "NA" for r in reports) == 6
    assert sum("T24:00" in report["at"] for report in reports) == 3
    for words in ("12,594 reports", "139 flights without", "6 landings without", "(3 landings)"):
        assert words in note
    assert "CC0" in note


def test_the_clocks_agree_with_the_time_in_the_air(reports: list[dict[str, str]]) -> None:
    """With the right offsets no plane is down before it can be: flown minutes fit between the two.

    One hour of a wrong offset would show: taxiing takes less than four hours and no less than none.
    """
    left: dict[tuple[str, ...], list[datetime]] = {}
    checked = 0
    for report in sorted(reports, key=lambda r: r["event"]):
        if report["at"] == "NA" or "T24" in report["at"]:
            continue
        same = tuple(report[name] for name in ("carrier", "flight", "origin", "dest", "tail"))
        at = datetime.fromisoformat(report["at"])
        if report["event"] == "departed":
            left.setdefault(same, []).append(at)
        elif report["air_time"] != "NA":
            gone = max(before for before in left[same] if before < at)
            taxi = at - gone - timedelta(minutes=int(report["air_time"]))
            assert timedelta(0) <= taxi < timedelta(hours=4), report
            checked += 1
    assert checked > 5900


def test_reports_stand_in_the_order_they_were_made(reports: list[dict[str, str]]) -> None:
    """So about a thousand landings come after the next departure of their plane."""
    times = [report["reported"] for report in reports]
    latest: dict[str, datetime] = {}
    late = 0
    for report in reports:
        if report["tail"] == "NA" or report["at"] == "NA" or "T24" in report["at"]:
            continue
        at = datetime.fromisoformat(report["at"])
        late += at < latest.get(report["tail"], at)
        latest[report["tail"]] = max(at, latest.get(report["tail"], at))

    assert times == sorted(times)
    assert 900 < late < 1200


def test_a_landing_is_on_the_clock_of_its_airport() -> None:
    """The day is the first on which that clock comes after the departure, over midnight too."""
    left = make_sample.departure(flight())

    there = make_sample.arrival(flight(), left, ZoneInfo("America/Chicago"))

    assert left.isoformat() == "2013-03-09T23:30:00-05:00"
    assert there.isoformat() == "2013-03-10T01:30:00-06:00"


def test_the_night_to_summer_time_has_an_hour_less() -> None:
    """A departure after it has the other offset, and so has the landing."""
    given = flight(day="10", sched_dep_time="0800", dep_time="810", dep_delay="10", arr_time="1115")

    left = make_sample.departure(given)
    there = make_sample.arrival(given, left, ZoneInfo("America/Los_Angeles"))

    assert left.isoformat() == "2013-03-10T08:10:00-04:00"
    assert there.isoformat() == "2013-03-10T11:15:00-07:00"


def test_a_delay_may_reach_into_the_next_day() -> None:
    """The day is that of the plan plus the delay, not that of the plan."""
    left = make_sample.departure(flight(dep_delay="45", dep_time="15"))

    assert left.isoformat() == "2013-03-10T00:15:00-05:00"


def test_what_is_not_known_is_not_made_up() -> None:
    """A cancelled flight gives one report without a time, an unknown landing one without."""
    cancelled = {"dep_time": "NA", "dep_delay": "NA", "arr_time": "NA"}
    about = dict.fromkeys((*make_sample.FLIGHT, "tailnum"), "x") | {"arr_delay": "NA"}
    zones = {"x": "America/New_York"}

    (one,) = make_sample.reports([flight(**cancelled, **about)], {}, zones)
    gone, lost = make_sample.reports([flight(arr_time="NA", **about)], {}, zones)

    assert (one["event"], "at" in one) == ("cancelled", False)
    assert (gone["event"], lost["event"], "at" in lost) == ("departed", "landed", False)


def test_the_mapping_fits_the_sample(reports: list[dict[str, str]]) -> None:
    """Each column that the mapping names is in the sample."""
    held = mapping.checked(mapping.build(mapping.load(COLUMNS)), reports[0])

    assert held.kind == "Plane"
