"""How columns become rows: keys, times, numbers, what is absent, and what a mapping may not say."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from streams import mapping
from streams.errors import UsageError
from streams.mapping import Mapping


def plane(**more: Any) -> Mapping:
    """Make a mapping of planes."""
    return Mapping(**{"kind": "Plane", "key": "tail", "time": "at"} | more)


GIVEN = {"tail": "N1", "at": "2026-01-01", "seats": "55", "to": "JFK", "note": "NA"}


def test_columns_become_the_parts_of_a_row() -> None:
    """Each named column goes where the mapping says; what is absent in the line is left out."""
    made = mapping.row(
        plane(values={"chairs": "seats", "note": "note"}, relations={"AT": "to"}), GIVEN
    )

    assert made == {
        "kind": "Plane",
        "key": "N1",
        "t": "2026-01-01",
        "values": {"chairs": 55},
        "relations": {"AT": "JFK"},
    }


def test_without_values_every_column_left_over_is_one() -> None:
    """A mapping that names no value takes all columns that nothing else uses."""
    made = mapping.row(plane(relations={"AT": "to"}, null=()), GIVEN)

    assert made["values"] == {"seats": 55, "note": "NA"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-12", -12),
        ("1.50", 1.5),
        ("-0.5e3", -500.0),
        ("9223372036854775807", 9223372036854775807),
        # Beyond 64 bits: text keeps every digit.
        ("9223372036854775808", "9223372036854775808"),
        ("1.0e999", "1.0e999"),
        # Codes, not numbers.
        ("007", "007"),
        ("1E5", "1E5"),
        ("+1", "+1"),
        ("1,5", "1,5"),
        (".5", ".5"),
        (" 1", " 1"),
        ("nan", "nan"),
        ("٣", "٣"),
    ],
)
def test_only_a_whole_text_is_a_number(text: str, value: object) -> None:
    """A value is a number where its whole text is one as people write it, else it stays text."""
    made = mapping.row(plane(values={"v": "v"}), {"v": text})

    assert made["values"] == {"v": value}
    assert type(made["values"]["v"]) is type(value)


def test_keys_and_targets_stay_text_unless_asked() -> None:
    """The key 5 and the key "5" are two entities: a column of digits is not taken for numbers."""
    given = {"tail": "5", "at": "2026-01-01", "to": "7", "code": "230"}

    as_text = mapping.row(plane(relations={"AT": "to"}, text=("code",)), given)
    as_number = mapping.row(plane(relations={"AT": "to"}, number_key=True), given)

    assert (as_text["key"], as_text["relations"]["AT"]) == ("5", "7")
    assert as_text["values"] == {"code": "230"}
    assert (as_number["key"], as_number["relations"]["AT"]) == (5, "7")
    assert as_number["values"] == {"code": 230}


def test_a_line_without_key_and_time_is_a_row_without_them() -> None:
    """It goes out all the same, so that its refusal names what is missing."""
    made = mapping.row(plane(), {"tail": "NA", "at": "", "seats": "5"})

    assert made == {"kind": "Plane", "values": {"seats": 5}, "relations": {}}


def test_evidence_and_partial_are_passed_on() -> None:
    """The entry is a column, partial holds for every row."""
    made = mapping.row(plane(entry="why", partial=True), GIVEN | {"why": "e1/3"})

    assert (made["entry"], made["partial"]) == ("e1/3", True)
    assert "why" not in made["values"]


@pytest.mark.parametrize(
    ("options", "given", "text"),
    [
        ({}, "2013-03-05T24:00:00-05:00", "2013-03-05T24:00:00-05:00"),
        ({"timezone": "America/New_York"}, "2013-03-09 05:00", "2013-03-09T05:00:00-05:00"),
        # The night to summer time lies between the two.
        ({"timezone": "America/New_York"}, "2013-03-11 05:00", "2013-03-11T05:00:00-04:00"),
        ({"timezone": "America/New_York"}, "2013-03-11T05:00:00Z", "2013-03-11T05:00:00+00:00"),
        ({"time_format": "%d.%m.%Y %H:%M"}, "05.03.2013 14:30", "2013-03-05T14:30:00"),
        ({"time_format": "epoch"}, "1362474000", "2013-03-05T09:00:00+00:00"),
        ({"time_format": "epoch_ms"}, 1362474000123, "2013-03-05T09:00:00.123000+00:00"),
        # What is no time of that form goes on as it is: the memory says why it refuses it.
        ({"time_format": "%d.%m.%Y"}, "31.04.2013", "31.04.2013"),
        ({"timezone": "UTC"}, "soon", "soon"),
        ({"time_format": "epoch"}, "1e30", "1e30"),
    ],
)
def test_times_get_their_offset(options: dict, given: object, text: str) -> None:
    """A form and a zone turn what the file has into ISO text with the offset that held then."""
    assert mapping.time_text(plane(**options), given) == text


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("+3d12h", timedelta(days=3, hours=12)),
        ("-90m", -timedelta(minutes=90)),
        ("2w", timedelta(weeks=2)),
        ("1d1h1m1s", timedelta(days=1, hours=1, minutes=1, seconds=1)),
    ],
)
def test_a_shift_is_a_duration(text: str, duration: timedelta) -> None:
    """Weeks, days, hours, minutes and seconds, with a sign or without."""
    assert mapping.shift_of(text) == duration


@pytest.mark.parametrize("text", ["", "3", "+", "3h2d", "1y", "d", "tomorrow"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """The error says what a duration looks like."""
    with pytest.raises(UsageError, match=r"\+3d12h"):
        mapping.shift_of(text)


def test_a_shift_moves_the_time_and_nothing_else() -> None:
    """The fraction stays; a row whose time cannot be read stays as it is."""
    row = {"key": "a", "t": "2026-01-01T23:00:00.5-01:00", "values": {"built": "2001-01-01"}}

    moved = mapping.shifted(row, timedelta(days=1))

    assert moved == row | {"t": "2026-01-03T00:00:00.500000+00:00"}
    for unreadable in ({}, {"t": "24:00"}, {"t": 5}, {"t": None}):
        assert mapping.shifted(unreadable, timedelta(days=1)) == unreadable
    assert mapping.shifted({"t": "9999-12-31"}, timedelta(days=1)) == {"t": "9999-12-31"}


def test_the_moment_of_a_row_is_in_utc() -> None:
    """It is what the memory will store."""
    moment = mapping.moment_of({"t": "2026-01-01T00:00:00+02:00"})

    assert moment == datetime(2025, 12, 31, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"key": "a", "time": "b"}, "names no kind: give --kind"),
        ({"kind": "A", "time": "b"}, "names no key: give --key"),
        ({"kind": "A", "key": "b"}, "names no time: give --time"),
        ({"kind": "A", "key": "a", "time": "b", "vaules": {}}, "did you mean 'values'"),
        ({"kind": "A", "key": "a", "time": "b", "values": ["x"]}, "a table of name = column"),
        ({"kind": "A", "key": "a", "time": "b", "text": "x"}, "text of a mapping is a list"),
        ({"kind": "A", "key": "a", "time": "b", "timezone": "Mars"}, "no time zone 'Mars'"),
        ({"kind": 5, "key": "a", "time": "b"}, "kind of a mapping is text"),
        ({"kind": "A", "key": "a", "time": "b", "values": {"x": 5}}, "a table of name = column"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(given: dict, words: str) -> None:
    """Each mistake is named with the word that would be right."""
    with pytest.raises(UsageError, match=words):
        mapping.build(given)


def test_a_mapping_is_read_from_toml_and_from_json(tmp_path: Path) -> None:
    """Both say the same."""
    toml, json = tmp_path / "m.toml", tmp_path / "m.json"
    toml.write_text('kind = "A"\nkey = "k"\ntime = "t"\n[values]\nx = "y"\n')
    json.write_text('{"kind": "A", "key": "k", "time": "t", "values": {"x": "y"}}')

    expected = Mapping("A", "k", "t", {"x": "y"})

    assert mapping.build(mapping.load(toml)) == mapping.build(mapping.load(json)) == expected


@pytest.mark.parametrize(("name", "text"), [("m.toml", "= 1"), ("m.json", "{"), ("n.json", "[]")])
def test_a_mapping_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, text: str) -> None:
    """The error begins with the file's name."""
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(UsageError, match=name):
        mapping.load(path)


def test_a_column_that_the_file_does_not_have_is_named() -> None:
    """With the name that was probably meant, and those that are there."""
    with pytest.raises(UsageError, match=r"no column 'tial' \(did you mean 'tail'\?\); there are"):
        mapping.checked(plane(key="tial"), ["tail", "at"])


def test_columns_left_open_are_filled_in() -> None:
    """What the file has beside key, time and relations becomes the values."""
    held = mapping.checked(plane(relations={"AT": "to"}), GIVEN)

    assert held.values == {"seats": "seats", "note": "note"}
