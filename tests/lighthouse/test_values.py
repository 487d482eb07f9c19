"""What can be stored: names, keys and values at their limits, and the text of a content."""

import hashlib
import json
import math
import random
import secrets
from datetime import UTC, date, datetime
from enum import IntEnum

import pytest
from falkordb import Graph

import lighthouse
from lighthouse import SELF, Kind, values

ROOM = Kind("Room")
THING = Kind("Thing", times=("built",), relations={"NEAR": SELF, "IN": ROOM}, text=("note", "tags"))
T = "2026-01-01T00:00:00"

NAMES = [
    pytest.param("a", id="one character"),
    pytest.param("x" * 200, id="200 characters"),
    pytest.param("漢" * 200, id="200 characters of three bytes"),
    pytest.param("a b  c", id="spaces inside"),
    pytest.param("a\u00a0b", id="a no-break space inside"),
    pytest.param("a\u3000b", id="an ideographic space inside"),
    pytest.param("e\u0301", id="a combining accent"),
    pytest.param("🛩", id="an emoji"),
    pytest.param("'\"`\\$[]{}", id="signs"),
    pytest.param("5", id="a digit"),
]
NO_NAMES = [
    pytest.param("", id="empty"),
    pytest.param("x" * 201, id="201 characters"),
    pytest.param(" a", id="a space before"),
    pytest.param("a ", id="a space after"),
    pytest.param("\u00a0a", id="a no-break space before"),
    pytest.param("a\u3000", id="an ideographic space after"),
    pytest.param(" ", id="a space alone"),
    pytest.param("a\nb", id="a line feed"),
    pytest.param("a\rb", id="a carriage return"),
    pytest.param("a\tb", id="a tab"),
    pytest.param("a\0b", id="NUL"),
    pytest.param("a\x1bb", id="an escape"),
    pytest.param("a\x7fb", id="a delete"),
    pytest.param("a\x85b", id="a next line"),
    pytest.param("a\u200bb", id="a zero-width space"),
    pytest.param("a\u200db", id="a zero-width joiner"),
    pytest.param("a\ufeffb", id="a byte order mark"),
    pytest.param("a\u00adb", id="a soft hyphen"),
    pytest.param("a\u202eb", id="a turn of direction"),
    pytest.param("a\u2028b", id="a line separator"),
    pytest.param("a\u2029b", id="a paragraph separator"),
    pytest.param("a\ud800b", id="a lone surrogate"),
    pytest.param("a\ue000b", id="private use"),
    pytest.param("a\u0378b", id="unassigned"),
    *[None, 1.0, b"a", ["a"], ("a",), {"a"}],
]


class Level(IntEnum):
    """A number that is more than a number."""

    LOW = 1


@pytest.fixture(name="things", scope="module")
def _things(db) -> Graph:
    """One graph with the schema of a thing."""
    graph = db.select_graph(f"test-{secrets.token_hex(6)}")
    lighthouse.ensure_schema(graph, [THING])
    yield graph
    graph.delete()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_visible_text_of_200_characters(name) -> None:
    """Spaces inside, accents and signs are no hindrance; it is given back unchanged."""
    assert values.is_name(name)
    assert values.is_key(name)
    assert values.check_name(name, "by") == name
    assert values.check_key(name) == name


@pytest.mark.parametrize("name", [*NO_NAMES, 5])
def test_what_is_no_name_is_refused_with_the_name_of_the_argument(name) -> None:
    """Empty, long, invisible, padded or no text: the error names the argument, not its value."""
    assert not values.is_name(name)
    with pytest.raises(
        ValueError, match=r"^session_id must be text of 1 to 200 visible characters$"
    ):
        values.check_name(name, "session_id")


@pytest.mark.parametrize("key", [0, 1, -1, 2**53 - 1, -(2**53) + 1])
def test_a_key_may_be_an_integer_that_doubles_can_tell(key) -> None:
    """Integers up to 2^53 - 1 are keys, on both sides of nought."""
    assert values.is_key(key)
    assert values.check_key(key) is key


@pytest.mark.parametrize(
    "key", [*NO_NAMES, True, False, 1.0, 2**53, -(2**53), 2**63 - 1, -(2**63), 10**30, Level.LOW]
)
def test_what_is_no_key_is_refused(key) -> None:
    """What is no name is no key; nor are truth values, floats, and integers of 2^53 and beyond."""
    assert not values.is_key(key)
    with pytest.raises(ValueError, match="the key"):
        values.check_key(key)


def test_a_large_number_as_key_is_asked_for_as_text() -> None:
    """The error of an integer key beyond 2^53 - 1 says what to do; its text is a key."""
    with pytest.raises(ValueError, match="write it as text"):
        values.check_key(2**53)

    assert values.is_key(str(2**53))


@pytest.mark.parametrize(
    "value",
    [
        *[None, True, False, 0, 2**63 - 1, -(2**63), 0.1, -0.0, 5e-324, 1.7976931348623157e308],
        *["", " ", "\n\x01\u200b", "x" * 100_000, "漢" * 100_000, "🛩", [], [1, 1.0, True, "1"]],
        *[[""] * 1_000, ["x" * 100_000], [2**63 - 1]],
    ],
)
def test_a_storable_value_is_taken_as_it_is(value) -> None:
    """Truth values, 64-bit integers, finite floats, texts, and flat lists of mixed ones."""
    given = {"v": value}

    assert values.check_map(given, frozenset()) is given


@pytest.mark.parametrize(
    ("value", "error"),
    [
        *[(2**63, ValueError), (-(2**63) - 1, ValueError), ([2**63], ValueError)],
        *[(math.nan, ValueError), (math.inf, ValueError), ([-math.inf], ValueError)],
        *[("a\0b", ValueError), ("x" * 100_001, ValueError), (["\0"], ValueError)],
        *[("\ud800", ValueError), ("a\udfff", ValueError), (["\ud83d"], ValueError)],
        *[([None], ValueError), ([[1]], ValueError), ([[]], ValueError), ([0] * 1001, ValueError)],
        *[((1, 2), TypeError), ({1}, TypeError), ({"a": 1}, TypeError), (b"a", TypeError)],
        *[(date(2026, 1, 1), TypeError), (datetime(2026, 1, 1), TypeError), (1j, TypeError)],
        *[(Level.LOW, TypeError), ([(1,)], TypeError), ([{}], TypeError), (object(), TypeError)],
    ],
)
def test_a_value_that_cannot_be_stored_is_refused_by_its_name(value, error) -> None:
    """The error names the value that it speaks of, and is short even for a huge one."""
    with pytest.raises(error) as refused:
        values.check_map({"good": 1, "temperature": value}, frozenset())

    assert "'temperature'" in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("name", ["a", "_", "A1_b", "a" * 100, "class", "null"])
def test_an_identifier_names_a_value(name) -> None:
    """An ASCII letter or underscore, then letters, digits, underscores, up to 100."""
    assert values.check_map({name: 1}, frozenset()) == {name: 1}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "1a",
        "a b",
        "a-b",
        "a.b",
        "a:us",
        "é",
        "a" * 101,
        "a\n",
        "`a`",
        "a\0",
        "\uff41",
        5,
        None,
        ("a",),
    ],
)
def test_another_text_names_no_value(name) -> None:
    """Names with a colon belong to the library; all others would have to be quoted."""
    with pytest.raises(ValueError, match="cannot name a value"):
        values.check_map({name: 1}, frozenset())


def test_a_map_holds_200_entries_with_the_null_ones_counted() -> None:
    """Nulls are taken and kept for the caller to judge, yet they count."""
    full = {f"v{n}": None for n in range(200)}

    assert values.check_map(full, frozenset()) == full
    with pytest.raises(ValueError, match="201 entries"):
        values.check_map({**full, "more": None}, frozenset())


@pytest.mark.parametrize("given", [[], "v", 5, True, [("v", 1)], {"v"}])
def test_values_must_be_a_map(given) -> None:
    """A list of pairs or a set is not read as one; None is an empty map."""
    assert values.check_map(None, frozenset()) == {}
    with pytest.raises(TypeError, match="must be a map"):
        values.check_map(given, frozenset())


def test_a_reserved_name_is_refused() -> None:
    """What the record keeps for itself is refused by name; elsewhere the name is free."""
    with pytest.raises(ValueError, match="'fp' is reserved"):
        values.check_map({"fp": 1}, frozenset({"fp"}))

    assert values.check_map({"fp": 1}, frozenset()) == {"fp": 1}


# The text of a content.


def test_the_content_text_is_json_with_keys_sorted_and_other_characters_escaped() -> None:
    """An array of values, times and relations, as `json.dumps(..., sort_keys=True)` writes it."""
    text = values.content_text(
        {"z": 1.0, "a": "é\n", "B": [True, 1, 1.5, "x"], "big": 2**63 - 1},
        {"seen": "2026-01-01T00:00:00", "built": "0001-01-01T00:00:00.000001"},
        {"NEAR": ["b", "a"], "IN": []},
    )

    assert text == (
        '[{"B": [true, 1, 1.5, "x"], "a": "\\u00e9\\n", "big": 9223372036854775807, "z": 1.0}, '
        '{"built": "0001-01-01T00:00:00.000001", "seen": "2026-01-01T00:00:00"}, '
        '{"IN": [], "NEAR": ["b", "a"]}]'
    )


@pytest.mark.parametrize(
    ("row", "content"),
    [
        pytest.param({}, '[{}, {}, {"IN": [], "NEAR": []}]', id="nothing is true"),
        pytest.param(
            {"values": {"v": None, "built": None, "note": ""}, "relations": {"IN": None}},
            '[{"note": ""}, {}, {"IN": [], "NEAR": []}]',
            id="nulls are absent and an empty text is not",
        ),
        pytest.param(
            {"values": {"b": 1, "a": "é"}, "relations": {"NEAR": ["b", 10, "a", 9, "b", "10"]}},
            '[{"a": "\\u00e9", "b": 1}, {}, {"IN": [], "NEAR": [9, 10, "10", "a", "b"]}]',
            id="targets without doubles, integers first",
        ),
        pytest.param(
            {"values": {"built": "2026-01-01T10:00:00.250+02:00", "v": 1.0}},
            '[{"v": 1.0}, {"built": "2026-01-01T08:00:00.250000"}, {"IN": [], "NEAR": []}]',
            id="times as stamps, apart from the values",
        ),
        pytest.param(
            {"values": {"built": datetime(2026, 1, 1, tzinfo=UTC)}, "relations": {"IN": 7}},
            '[{}, {"built": "2026-01-01T00:00:00"}, {"IN": [7], "NEAR": []}]',
            id="a datetime, a bare target",
        ),
        pytest.param(
            {"values": {"tags": ["b", "a", "b"], "on": True}},
            '[{"on": true, "tags": ["b", "a", "b"]}, {}, {"IN": [], "NEAR": []}]',
            id="a list keeps its order and doubles",
        ),
    ],
)
def test_the_fingerprint_is_the_hash_of_the_content(things, row, content, request) -> None:
    """SHA-256 in hex of the text written here by hand; key, time and writer are not in it."""
    json.loads(content)
    key = request.node.callspec.id

    lighthouse.remember(things, THING, [{"key": key, "t": T, **row}], by="feed")
    lighthouse.remember(things, THING, [{"key": f"{key} again", "t": "2020-02-02", **row}], by="me")

    states = [lighthouse.history(things, THING, k)[0] for k in (key, f"{key} again")]
    assert [state["fp"] for state in states] == [hashlib.sha256(content.encode()).hexdigest()] * 2


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (True, 1), (0.0, -0.0), ("1", 1), ([1, 2], [2, 1]), ([], ""), ("é", "e\u0301")],
)
def test_look_alikes_are_different_content(things, one, other) -> None:
    """What JSON writes in another way is another content: the later row is a change."""
    key = f"{one!r} {other!r}"
    rows = [
        {"key": key, "t": f"2026-01-0{n}", "values": {"v": v}}
        for n, v in enumerate((one, other), 1)
    ]

    statuses = [
        receipt["status"] for receipt in lighthouse.remember(things, THING, rows, by="feed")
    ]

    assert statuses == ["created", "changed"]


def test_keys_are_ordered_integers_first_and_each_once() -> None:
    """Integers by size, then texts by code points."""
    given = ["b", 10, "a", 2, "é", "10", 2, "b", -1, "Z"]

    assert values.in_order(given) == [-1, 2, 10, "10", "Z", "a", "b", "é"]


# Floats.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[
            (0.25, None),
            (0.1, None),
            (1e308, None),
            (-0.0, None),
            (5.0, None),
            (5, None),
            ("0.1", None),
        ],
        *[(0.1 + 0.2, "0.30000000000000004"), (1 / 3, "0.3333333333333333"), ([0.25, 1], None)],
        *[
            ([1, 0.1 + 0.2, "x"], '[1, 0.30000000000000004, "x"]'),
            (True, None),
            (None, None),
            ([], None),
        ],
    ],
)
def test_a_float_that_fifteen_digits_do_not_tell_has_an_exact_text(value, text) -> None:
    """So has a list with one; what the engine prints exactly has none."""
    assert values.exact(value) == text


def test_every_float_is_read_back_as_it_was(things) -> None:
    """Bit for bit, alone and in lists: the smallest, the largest, and 400 of any size between."""
    chance = random.Random(17)
    floats = [
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        2**53 + 1.0,
        1e22,
        1e23,
        -0.0,
    ]
    floats += [math.pi, 0.1 + 0.2, 1 / 3, 123456789.12345679, -9007199254740993.0]
    floats += [chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300) for _ in range(400)]
    rows = [
        {"key": n, "t": T, "values": {"v": value, "w": [value, "é\\u0041\n", 1, True]}}
        for n, value in enumerate(floats)
    ]

    lighthouse.remember(things, THING, rows, by="feed")

    states = [lighthouse.as_of(things, THING, n, T) for n in range(len(floats))]
    assert [json.dumps(state["v"]) for state in states] == [json.dumps(value) for value in floats]
    assert [json.dumps(state["w"]) for state in states] == [
        json.dumps(row["values"]["w"]) for row in rows
    ]


def test_a_partial_row_leaves_every_digit_of_what_it_does_not_name(things) -> None:
    """Values that are carried over are the same to the last digit: a repeat is unchanged."""
    values_ = {"v": 0.1 + 0.2, "w": [1 / 3, "x"], "n": 1}
    lighthouse.remember(things, THING, [{"key": "partial", "t": T, "values": values_}], by="feed")

    same = lighthouse.update(things, THING, "partial", "2026-01-02", by="feed", values={"n": 1})
    other = lighthouse.update(things, THING, "partial", "2026-01-03", by="feed", values={"n": 2})

    assert (same["status"], other["status"]) == ("unchanged", "changed")
    state = lighthouse.history(things, THING, "partial")[-1]
    assert json.dumps([state["v"], state["w"]]) == json.dumps([values_["v"], values_["w"]])
