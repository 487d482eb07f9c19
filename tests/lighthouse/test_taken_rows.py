"""Rows at the limits are taken: their times, keys and values are stored exactly."""

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest

import lighthouse
from tests.bad_rows import EAST, WEST
from tests.delivering import EPOCH
from tests.sites import SITE, T, fp


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("2026-01-01", "2026-01-01T00:00:00"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00"),
        ("2026-01-01T10:00:00+02:00", "2026-01-01T08:00:00"),
        ("2026-01-01T00:30:00.25+01:00", "2025-12-31T23:30:00.250000"),
        ("2026-01-01T10:00:00-23:59", "2026-01-02T09:59:00"),
        ("2026-01-01T10:00:00.123456789Z", "2026-01-01T10:00:00.123456"),
        ("2026-01-01T10:00:00.999999999", "2026-01-01T10:00:00.999999"),
        ("2026-01-01T10:00:00,5", "2026-01-01T10:00:00.500000"),
        ("  2026-01-01 10:00  ", "2026-01-01T10:00:00"),
        ("20260101T101010", "2026-01-01T10:10:10"),
        ("2026-W01-1", "2025-12-29T00:00:00"),
        ("2024-02-29T23:59:59.999999", "2024-02-29T23:59:59.999999"),
        ("1970-01-01", "1970-01-01T00:00:00"),
        ("1969-12-31T23:59:59", "1969-12-31T23:59:59"),
        ("1969-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999"),
        ("1969-12-31T23:59:58.5", "1969-12-31T23:59:58.500000"),
        ("1684-10-20T01:02:03.000001", "1684-10-20T01:02:03.000001"),
        ("0999-01-01T00:00:00.5", "0999-01-01T00:00:00.500000"),
        ("0001-01-01T00:00:00", "0001-01-01T00:00:00"),
        ("0001-01-01T00:00:00.000001Z", "0001-01-01T00:00:00.000001"),
        ("0001-01-01T01:00:00+01:00", "0001-01-01T00:00:00"),
        (datetime.fromisoformat("2026-01-01T10:00:00.000007"), "2026-01-01T10:00:00.000007"),
        (datetime(2026, 1, 1, 10, tzinfo=EAST), "2026-01-01T09:00:00"),
        (datetime(1, 1, 1, tzinfo=WEST), "0001-01-01T01:00:00"),
    ],
)
def test_a_time_is_kept_to_the_microsecond_in_utc(sites, written, stored) -> None:
    """A row's own time and a declared one are stored exactly, whatever way they are written."""
    key = f"time {written!r}"
    row = {"key": key, "t": written, "values": {"opened": written}, "relations": {"PART_OF": key}}
    exact = datetime.fromisoformat(stored).replace(tzinfo=UTC)

    [receipt] = lighthouse.remember(sites, SITE, [row], by="feed")

    assert receipt == {"key": key, "status": "created"}
    [state] = lighthouse.history(sites, SITE, key)
    assert (state["valid_from"], state["opened"]) == (exact, exact)
    assert lighthouse.as_of(sites, SITE, key, exact) == state
    assert lighthouse.related(sites, SITE, key, "PART_OF", exact) == [key]
    micro = timedelta(microseconds=1)
    if exact > datetime.min.replace(tzinfo=UTC):
        assert lighthouse.as_of(sites, SITE, key, exact - micro) is None
        assert lighthouse.related(sites, SITE, key, "PART_OF", exact - micro) == []
    assert lighthouse.as_of(sites, SITE, key, exact + micro) == state
    beside = sites.ro_query(
        "MATCH (e:Site {key: $key})-[r:PART_OF]->() WITH e, r MATCH (e)-[:HAS_STATE]->(s)"
        " RETURN s.`valid_from:us`, s.`opened:us`, e.`opened:us`, r.`valid_from:us`",
        {"key": key},
    )
    assert beside.result_set == [[(exact - EPOCH) // micro] * 4]


@pytest.mark.parametrize("year", [1, 1684, 2255, 9999])
def test_neighbouring_microseconds_are_told_apart_in_every_century(site, year, monkeypatch) -> None:
    """States one microsecond apart are three, where doubles could not tell them apart."""
    monkeypatch.setattr("lighthouse.clock.present", lambda: 253_402_300_799_999_999)
    begin = datetime(year, 12, 31, 23, 59, 59, 999_990, tzinfo=UTC)
    moments = [begin + timedelta(microseconds=n) for n in range(5)]
    rows = [
        {"key": "k", "t": moments[n], "values": {"v": n}, "relations": {"PART_OF": f"p{n}"}}
        for n in (1, 3, 2)
    ]

    receipts = lighthouse.remember(site, SITE, rows, by="feed")
    again = lighthouse.remember(site, SITE, rows, by="feed")

    assert [it["status"] for it in receipts] == ["created", "changed", "inserted"]
    assert [it["status"] for it in again] == ["unchanged"] * 3
    states = lighthouse.history(site, SITE, "k")
    assert [state["valid_from"] for state in states] == moments[1:4]
    found = [lighthouse.as_of(site, SITE, "k", moment) for moment in moments]
    assert [state and state["v"] for state in found] == [None, 1, 2, 3, 3]
    targets = [lighthouse.related(site, SITE, "k", "PART_OF", moment) for moment in moments]
    assert targets == [[], ["p1"], ["p2"], ["p3"], ["p3"]]


@pytest.mark.parametrize(
    "moment", ["2255-06-05T23:47:34.740993", "9999-12-31T23:59:59.999999", "9999-12-31"]
)
def test_a_future_moment_asks_for_what_holds_now(sites, moment) -> None:
    """Reads and declared times may lie ahead of the clock; a row may not."""
    key = f"future {moment}"
    row = {"key": key, "t": T, "values": {"opened": moment}, "relations": {"PART_OF": "p"}}

    assert lighthouse.remember(sites, SITE, [row], by="feed")[0]["status"] == "created"
    ahead = lighthouse.remember(sites, SITE, [{**row, "t": moment}], by="feed")[0]

    assert ahead["status"] == "invalid"
    state = lighthouse.as_of(sites, SITE, key, moment)
    assert state["opened"] == datetime.fromisoformat(moment).replace(tzinfo=UTC)
    assert lighthouse.related(sites, SITE, key, "PART_OF", moment) == ["p"]


@pytest.mark.parametrize(
    "key",
    [
        *("a\u00a0b", "a b", "x" * 200, "é", "日本", "🛩", "a'b\"c`d\\e", "$a{}[]", "null", "5"),
        *(5, 0, -1, 2**53 - 1, -(2**53) + 1),
    ],
)
def test_a_good_key_is_kept_as_it_is(sites, key) -> None:
    """The twins of the bad keys are taken, and found again as an entity and as a target."""
    [receipt] = lighthouse.remember(
        sites, SITE, [{"key": key, "t": T, "relations": {"PART_OF": [key]}}], by="feed"
    )

    assert receipt == {"key": key, "status": "created"}
    assert len(lighthouse.history(sites, SITE, key)) == 1
    found = lighthouse.related(sites, SITE, key, "PART_OF")
    assert [(it, type(it)) for it in found] == [(key, type(key))]


@pytest.mark.parametrize(
    "value",
    [
        *(True, False, 0, 1, 1.0, -0.0, 0.1, 12345678.123456789, 1e-7, 1e308, 5e-324),
        *(2**63 - 1, -(2**63), 2**53 + 1, "", " ", "\n\t", "\u200b", "𝄞", "null", "2026-01-01"),
        *("a'b\"c`d\\e\\u0041", "x" * 100_000, [], [True, 1, 1.0, "1"], [0] * 1000),
        *([2**63 - 1, -0.5], ["", "é\n"]),
    ],
)
def test_a_good_value_comes_back_as_it_was(sites, value) -> None:
    """Values at the limits are taken and read back with their types."""
    key = f"value {hashlib.sha256(repr(value).encode()).hexdigest()}"
    row = {"key": key, "t": T, "values": {"v": value, "gone": None, "opened": ""}}

    first, again = lighthouse.remember(sites, SITE, [row, row], by="feed")

    assert (first["status"], again["status"]) == ("created", "unchanged")
    [state] = lighthouse.history(sites, SITE, key)
    assert json.dumps(state["v"]) == json.dumps(value)
    assert state.keys().isdisjoint({"gone", "opened"})
    assert state["fp"] == fp({"v": value})
    assert lighthouse.remember(sites, SITE, [row], by="feed")[0]["status"] == "unchanged"


def test_rows_at_the_limits_of_size_are_taken(sites) -> None:
    """200 values, 200 targets, a name of 100 characters and a row of 200,000 are not too many."""
    names = [f"v{n}" for n in range(198)] + ["a" * 100, "_"]
    many = {"key": "many", "t": T, "values": dict.fromkeys(names, 1)}
    wide = {
        "key": "wide",
        "t": T,
        "relations": {"PART_OF": list(range(200)), "BESIDE": ["w"] * 200},
    }
    frame = len(json.dumps([{"a": "", "b": ""}, {}, {"BESIDE": [], "PART_OF": []}]))
    long = {"key": "long", "t": T, "values": {"a": "x" * 100_000, "b": "x" * (100_000 - frame)}}
    longer = {**long, "key": "longer", "values": {**long["values"], "c": ""}}
    soon = {"key": "soon", "t": _soon(4)}
    too_soon = {"key": "too soon", "t": _soon(10)}

    receipts = lighthouse.remember(
        sites, SITE, [many, wide, long, longer, soon, too_soon], by="feed"
    )

    assert [it["status"] for it in receipts] == [*["created"] * 3, "invalid", "created", "invalid"]
    assert lighthouse.related(sites, SITE, "wide", "PART_OF") == list(range(200))
    assert lighthouse.related(sites, SITE, "wide", "BESIDE") == ["w"]


def test_more_rows_and_targets_than_one_write_holds_are_all_written(site) -> None:
    """A call may be of any size: 1,300 rows of 650 entities, and 30 with 200 targets each."""
    many = [
        {"key": n % 650, "t": f"2026-01-01T00:00:{n // 650:02}", "values": {"v": n}}
        for n in range(1300)
    ]
    wide = [
        {"key": f"w{n}", "t": T, "relations": {"PART_OF": [f"p{n} {m}" for m in range(200)]}}
        for n in range(30)
    ]

    receipts = lighthouse.remember(site, SITE, iter(many + wide), by="feed")

    assert [it["status"] for it in receipts] == ["created"] * 650 + ["changed"] * 650 + [
        "created"
    ] * 30
    assert len(lighthouse.related(site, SITE, "w29", "PART_OF")) == 200
    assert [state["v"] for state in lighthouse.history(site, SITE, 649)] == [649, 1299]


def _soon(minutes: float) -> datetime:
    return datetime.now(UTC) + timedelta(minutes=minutes)
