"""The write rule on a history in memory: what one row does to it, without a database."""

import pytest

from lighthouse import Kind
from lighthouse.write.rows import check_row
from lighthouse.write.timeline import Timeline, on_current

ROOM = Kind("Room")
THING = Kind("Thing", relations={"IN": ROOM})
_LATEST = 10**18


def _take(
    timeline: Timeline,
    t: int,
    partial: bool = False,
    relations: dict | None = None,
    **values: object,
) -> str:
    given = {"key": "a", "t": f"2026-01-01T00:00:{t:02d}", "values": values, "relations": relations}
    return timeline.take(check_row(THING, 0, given, _LATEST, partial))[0]


def _shape(timeline: Timeline) -> list[tuple]:
    first = 1_767_225_600_000_000

    def second(us: int | None) -> int | None:
        return None if us is None else (us - first) // 1_000_000

    return [
        (v.content.values, second(v.start), second(v.end), second(v.seen))
        for v in timeline.versions
    ]


@pytest.mark.parametrize(
    ("t", "start", "seen", "same", "status"),
    [
        (5, 5, None, True, "unchanged"),
        (9, 5, 7, True, "unchanged"),
        (6, 5, None, False, "changed"),  # after the beginning, never seen again
        (8, 5, 7, False, "changed"),  # after the last sighting
        (5, 5, None, False, "conflict"),  # at the beginning
        (7, 5, 7, False, "conflict"),  # at the last sighting
        (6, 5, 7, False, "stale"),  # between the two sightings
    ],
)
def test_the_current_state_judges(
    t: int, start: int, seen: int | None, same: bool, status: str
) -> None:
    """On or after the current State's beginning, beginning and last sighting decide."""
    assert on_current(t, start, seen, same) == status


def test_a_late_row_equal_to_the_next_state_moves_its_beginning() -> None:
    """No State is made; the old beginning becomes the sighting."""
    timeline = Timeline(THING, "a", [])
    statuses = [_take(timeline, 1, v=1), _take(timeline, 9, v=2), _take(timeline, 5, v=2)]

    assert statuses == ["created", "changed", "inserted"]
    assert _shape(timeline) == [({"v": 1}, 1, 5, None), ({"v": 2}, 5, None, 9)]


def test_a_row_before_all_history_becomes_the_first_state() -> None:
    """What begins before the first State ends where that one begins."""
    timeline = Timeline(THING, "a", [])
    _take(timeline, 5, v=1)

    assert _take(timeline, 2, v=0) == "inserted"
    assert _shape(timeline) == [({"v": 0}, 2, 5, None), ({"v": 1}, 5, None, None)]


def test_a_value_named_like_a_relation_is_another_name() -> None:
    """A partial row may name a value IN at the time at which another has named the relation IN."""
    timeline = Timeline(THING, "a", [])
    _take(timeline, 1, partial=True, v=1)

    assert _take(timeline, 2, partial=True, relations={"IN": "r"}) == "changed"
    assert _take(timeline, 2, partial=True, IN="text") == "changed"
    assert _take(timeline, 2, partial=True, IN="other") == "conflict"
    assert timeline.versions[-1].targets == {"IN": ("r",)}


def test_a_repeated_name_is_kept_from_then_on() -> None:
    """Saying the same at a partial State's time adds the name, so another value for it is a conflict."""
    timeline = Timeline(THING, "a", [])
    _take(timeline, 1, v=1, w=1)
    _take(timeline, 2, partial=True, v=2)

    assert _take(timeline, 2, partial=True, w=1) == "unchanged"
    assert _take(timeline, 2, partial=True, w=9) == "conflict"


def test_a_partial_row_before_all_history_is_stale() -> None:
    """Nothing is known there that it could change."""
    timeline = Timeline(THING, "a", [])
    _take(timeline, 5, v=1)

    assert _take(timeline, 2, partial=True, v=0) == "stale"
