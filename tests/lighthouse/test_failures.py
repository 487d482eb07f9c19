"""What is kept of a write that did not happen: one node for each refusal, counted, bounded."""

import hashlib
import json
from datetime import UTC, datetime

import pytest
from falkordb import Graph

import lighthouse
from lighthouse import Kind, record_failure, remember

SECOND = 1_000_000
#: Three moments of the clock, in microseconds, and the rows' own times.
NOON, ONE, TWO = (datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (12, 13, 14))
T = [f"2026-01-0{day}T00:00:00" for day in range(1, 10)]
THING = Kind("Thing")


@pytest.fixture(name="things")
def _things(graph: Graph) -> Graph:
    lighthouse.ensure_schema(graph, [THING])
    return graph


@pytest.fixture(name="at")
def _at(monkeypatch):
    """Set the clock of the library to a moment."""

    def set_to(moment: datetime) -> None:
        us = round(moment.timestamp()) * SECOND + 250_000
        monkeypatch.setattr("lighthouse.clock.present", lambda: us)

    return set_to


def kept(graph: Graph) -> list[dict]:
    """Every WriteFailure, read without the library."""
    rows = graph.ro_query("MATCH (f:WriteFailure) RETURN properties(f)").result_set
    return [row[0] for row in rows]


def same(*said: object) -> str:
    """The hash of reason, kind, key, detail and owner, by the contract."""
    return hashlib.sha256(json.dumps(list(said)).encode()).hexdigest()


def test_a_failure_of_the_application_is_kept_with_all_it_names(things, at) -> None:
    """Found again by the hash of its five fields; first and last time are the present moment."""
    at(NOON)

    record_failure(things, "no room", "Thing", 7, "der Inhalt: é", "ann")

    assert kept(things) == [
        {
            "same": same("no room", "Thing", 7, "der Inhalt: é", "ann"),
            "reason": "no room", "kind": "Thing", "key": 7, "detail": "der Inhalt: é",
            "owner": "ann", "times": 1, "at": NOON, "last_at": NOON,
            "at:us": round(NOON.timestamp()) * SECOND + 250_000,
            "last_at:us": round(NOON.timestamp()) * SECOND + 250_000,
        }
    ]  # fmt: skip


def test_a_reason_alone_is_enough(things) -> None:
    """What is absent has no property and stands as null in the hash."""
    record_failure(things, "x")

    [failure] = kept(things)
    assert failure.keys() == {"same", "reason", "times", "at", "last_at", "at:us", "last_at:us"}
    assert failure["same"] == same("x", None, None, None, None)


def test_the_same_refusal_again_is_counted(things, at) -> None:
    """`times` and `last_at` move, `at` stays, and the graph does not grow."""
    for moment in (NOON, ONE, TWO):
        at(moment)
        record_failure(things, "no room", "Thing", "k", "full")

    [failure] = kept(things)
    assert failure["times"] == 3
    assert (failure["at"], failure["last_at"]) == (NOON, TWO)
    assert failure["last_at:us"] - failure["at:us"] == 2 * 3600 * SECOND


@pytest.mark.parametrize(
    "other",
    [
        ("other", "Thing", "k", "full", "ann"),
        ("no room", "Room", "k", "full", "ann"),
        ("no room", "Thing", "5", "full", "ann"),
        ("no room", "Thing", None, "full", "ann"),
        ("no room", "Thing", "k", "Full", "ann"),
        ("no room", "Thing", "k", "full", None),
    ],
)
def test_a_refusal_that_differs_in_one_field_is_another(things, other) -> None:
    """One node for each value of the hash."""
    first = ("no room", "Thing", "k", "full", "ann")

    record_failure(things, *first)
    record_failure(things, *other)

    assert {failure["same"] for failure in kept(things)} == {same(*first), same(*other)}


def test_a_text_and_a_number_as_key_are_two(things) -> None:
    """The key `"5"` is not the key 5."""
    record_failure(things, "x", key="5")
    record_failure(things, "x", key=5)

    assert sorted(str(type(failure["key"])) for failure in kept(things)) == [
        "<class 'int'>",
        "<class 'str'>",
    ]


@pytest.mark.parametrize(
    "reason", ["", " ", " a", "a\n", "x" * 201, "a\u200bb", None, 5, b"a", True]
)
def test_a_reason_that_is_no_name_raises(things, reason) -> None:
    """And nothing is kept."""
    with pytest.raises(ValueError, match="reason must be text"):
        record_failure(things, reason)

    assert kept(things) == []


@pytest.mark.parametrize("wrong", ["", "a\n", " a", "x" * 201, True, 1.5, ["a"], b"a", 2**53])
def test_what_is_no_name_or_key_is_left_out_silently(things, wrong) -> None:
    """`kind` and `owner` are kept when they are names, `key` when it is a key."""
    record_failure(things, "x", kind=wrong, key=wrong, owner=wrong)

    [failure] = kept(things)
    assert failure.keys().isdisjoint({"kind", "key", "owner"})
    assert failure["same"] == same("x", None, None, None, None)


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        pytest.param("a\0b", "a\\x00b", id="NUL"),
        pytest.param("a\ud800b", "a\\ud800b", id="a lone surrogate"),
        pytest.param("\udfff\ud83d", "\\udfff\\ud83d", id="surrogates the wrong way round"),
        pytest.param(
            "quote ' \" ` \\ \\u0041 $x\r\n\t\x01",
            "quote ' \" ` \\ \\u0041 $x\r\n\t\x01",
            id="signs",
        ),
        pytest.param("x" * 10_000_000, "x" * 2_000, id="ten million characters"),
        pytest.param("漢" * 2_001, "漢" * 2_000, id="characters are counted, not bytes"),
        pytest.param("x" * 1_999 + "\ud800", "x" * 1_999 + "\\", id="an escape is cut, too"),
        pytest.param("\0" * 3_000, "\\x00" * 500, id="escapes count"),
        pytest.param("", "", id="empty"),
        pytest.param(5.5, "5.5", id="a number"),
        pytest.param({"a": [1, None]}, "{'a': [1, None]}", id="a map"),
        pytest.param(ValueError("why\0"), "why\\x00", id="an error"),
    ],
)
def test_the_detail_is_the_bounded_safe_text_of_anything(things, detail, shown) -> None:
    """Cut to 2,000 characters, NUL and lone surrogates written out; hashed as it is kept."""
    record_failure(things, "x", detail=detail)
    record_failure(things, "x", detail=detail)

    [failure] = kept(things)
    assert failure["detail"] == shown
    assert failure["same"] == same("x", None, None, shown, None)
    assert failure["times"] == 2


def _deep() -> list:
    inner: list = []
    for _ in range(100_000):
        inner = [inner]
    return inner


def _cyclic() -> list:
    circle: list = ["round"]
    circle.append(circle)
    return circle


@pytest.mark.parametrize(
    "detail",
    [
        pytest.param(_deep, id="deep"),
        pytest.param(_cyclic, id="cyclic"),
        pytest.param(lambda: 10**5_000, id="a number of 5,001 digits"),
        pytest.param(lambda: [10**5_000], id="in a list"),
    ],
)
def test_a_detail_that_is_hard_to_print_is_kept_all_the_same(things, detail) -> None:
    """Deep, cyclic and huge values leave a failure, not an exception."""
    record_failure(things, "x", detail=detail())

    [failure] = kept(things)
    assert 0 < len(failure["detail"]) <= 2_000


# The refusals of rows.


def row(key: object, t: object, value: object = None, **more: object) -> dict:
    """A row with one value."""
    return {"key": key, "t": t, "values": {} if value is None else {"v": value}, **more}


def content(values: dict) -> str:
    """The content text of a Thing, by the contract."""
    return json.dumps([values, {}, {}], sort_keys=True)


def test_each_refusal_of_a_row_keeps_what_it_was_about(things) -> None:
    """The content of a stale or conflicting row, what is missing, the error of an invalid one."""
    remember(things, THING, [row("k", T[1], 1), row("k", T[5], 1), row("k", T[7], 2)], by="feed")
    refused = [
        row("k", T[3], 9),
        row("k", T[1], 8),
        row("k", T[8], 3, entry="lab/1"),
        row("k", T[8], [None]),
    ]

    receipts = remember(things, THING, refused, by="feed")

    found = {failure["reason"]: failure for failure in kept(things)}
    assert {reason: failure["detail"] for reason, failure in found.items()} == {
        "stale": content({"v": 9}),
        "conflict": content({"v": 8}),
        "missing": f"the entry 'lab/1' does not exist: {content({'v': 3})}",
        "invalid": receipts[3]["reason"],
    }
    assert [receipt["status"] for receipt in receipts] == [
        "stale",
        "conflict",
        "missing",
        "invalid",
    ]
    for failure in found.values():
        assert (failure["kind"], failure["key"], failure["times"]) == ("Thing", "k", 1)
        assert failure["same"] == same(failure["reason"], "Thing", "k", failure["detail"], None)


def test_what_the_database_refused_keeps_its_words_and_the_key(things) -> None:
    """`failed` says which rule of the database was broken, and by which entity."""
    things.create_node_unique_constraint("State", "badge")
    remember(things, THING, [{"key": "a", "t": T[1], "values": {"badge": 1}}], by="feed")

    [receipt] = remember(
        things, THING, [{"key": "it's b", "t": T[1], "values": {"badge": 1}}], by="feed"
    )

    [failure] = kept(things)
    assert (receipt["status"], failure["reason"], failure["key"]) == ("failed", "failed", "it's b")
    assert "unique constraint" in failure["detail"]
    assert "it's b" in failure["detail"]


@pytest.mark.parametrize("calls", [1, 2])
def test_one_content_refused_at_two_times_is_one_failure_with_both(things, calls) -> None:
    """In one call or in two: it is counted, and keeps the first and the last time of the row."""
    remember(things, THING, [row("k", T[1], 1), row("k", T[8], 1)], by="feed")
    refused = [row("k", f"{T[3]}.25", 9), row("k", f"{T[5]}.5", 9)]

    for start in range(calls):
        remember(things, THING, refused[start : start + 3 - calls], by="feed")

    [failure] = kept(things)
    assert failure["times"] == 2
    first, last = (datetime(2026, 1, day, tzinfo=UTC) for day in (4, 6))
    assert (failure["first_t"], failure["last_t"]) == (first, last)
    assert failure["first_t:us"] == round(first.timestamp()) * SECOND + 250_000
    assert failure["last_t:us"] == round(last.timestamp()) * SECOND + 500_000


def test_a_row_without_a_readable_time_keeps_none(things) -> None:
    """Where `t` itself was wrong there is no first and no last."""
    remember(things, THING, [row("k", "soon"), row("k", "soon")], by="feed")

    [failure] = kept(things)
    assert failure["times"] == 2
    assert not [name for name in failure if name.startswith(("first_t", "last_t"))]


def test_a_key_that_is_none_is_not_kept(things) -> None:
    """The refusals of bad keys are told apart by their texts alone."""
    remember(things, THING, [row("", T[1]), row(2**53, T[1]), row(" ", T[1])], by="feed")

    failures = kept(things)
    assert sorted(failure["times"] for failure in failures) == [1, 2]
    assert all("key" not in failure for failure in failures)


def test_hundreds_of_refusals_of_one_call_are_all_kept(things) -> None:
    """More than one database write of them, each in its place."""
    rows = [row(f"k{n}", "soon") for n in range(450)]

    remember(things, THING, rows, by="feed")
    remember(things, THING, rows, by="feed")

    failures = kept(things)
    assert sorted(failure["key"] for failure in failures) == sorted(f"k{n}" for n in range(450))
    assert {failure["times"] for failure in failures} == {2}
