"""The worked examples of the contract as tables: the oracle and the library must both give them."""

from collections.abc import Mapping
from typing import NamedTuple

from tests.oracle import Key, Row
from tests.strategies import PLACE, THING

#: The moment 0 of the tables, in microseconds since 1970; the tables count seconds from it.
ORIGIN = 1_767_225_600_000_000
SECOND = 1_000_000


class Step(NamedTuple):
    """A row, the status it must get, and the history it must leave."""

    row: Row
    status: str
    states: str


def row(key: Key, t: float, value: object = None, **given: object) -> Row:
    """One row at a second of the tables; `value` is its value `v`."""
    values = {} if value is None else {"v": value}
    given = {"kind": THING, "values": values} | given
    return Row(key=key, t=at(t), **given)


def at(t: float) -> int:
    """The moment of a second of the tables."""
    return ORIGIN + round(t * SECOND)


def shown(states: list[dict]) -> str:
    """Write a history as the tables do: `value [from,to) seen_last` for each State."""
    return ", ".join(_state(state) for state in states)


def windows(edges: list[tuple], relation: str) -> dict[Key, list[str]]:
    """Write the windows of one relation as the tables do, by target."""
    found: dict[Key, list[str]] = {}
    for named, target, begun, ended, _ in edges:
        if named == relation:
            found.setdefault(target, []).append(_window(begun, ended))
    return found


def values(key: Key) -> list[Step]:
    """Section 5.4: what each row of one entity does, starting with nothing."""
    first, late = "B [10,13) 12, Z [13,15)", "A [3,10) 8, B [10,13) 12, Z [13,14), C [14,-) 15"
    return [
        Step(row(key, 10, "B"), "created", "B [10,-)"),
        Step(row(key, 10, "B"), "unchanged", "B [10,-)"),
        Step(row(key, 10, "C"), "conflict", "B [10,-)"),
        Step(row(key, 12, "B"), "unchanged", "B [10,-) 12"),
        Step(row(key, 11, "C"), "stale", "B [10,-) 12"),
        Step(row(key, 12, "C"), "conflict", "B [10,-) 12"),
        Step(row(key, 15, "C"), "changed", "B [10,15) 12, C [15,-)"),
        Step(row(key, 13, "Z"), "inserted", f"{first}, C [15,-)"),
        Step(row(key, 5, "A"), "inserted", f"A [5,10), {first}, C [15,-)"),
        Step(row(key, 3, "A"), "inserted", f"A [3,10) 5, {first}, C [15,-)"),
        Step(row(key, 14, "C"), "inserted", "A [3,10) 5, B [10,13) 12, Z [13,14), C [14,-) 15"),
        Step(row(key, 8, "A"), "unchanged", late),
        Step(row(key, 8, "Q"), "conflict", late),
        Step(row(key, 7, "Q"), "stale", late),
    ]


def one_batch(key: Key) -> list[Step]:
    """Section 5.4, the last paragraph: four rows of one entity in one call."""
    return [
        Step(row(key, 3, "c"), "created", ""),
        Step(row(key, 1, "a"), "inserted", ""),
        Step(row(key, 2, "b"), "inserted", ""),
        Step(row(key, 2, "b"), "unchanged", "a [1,2), b [2,3), c [3,-)"),
    ]


def relations(key: Key) -> list[Row]:
    """Section 5.5: three rows and a repeat; each of their 24 orders leaves the same."""
    return [
        row(key, 1, "A", relations={"IN": ("r1", "r2")}, by="first"),
        row(key, 10, "C", relations={"IN": ("r2", "r3")}, by="second"),
        row(key, 5, "B", relations={"IN": ("r3", "r4")}, by="late"),
        row(key, 12, "C", relations={"IN": ("r2", "r3")}, by="again"),
    ]


RELATIONS_LEAVE = "A [1,5), B [5,10), C [10,-) 12"
WINDOWS_LEFT: Mapping[Key, list[str]] = {
    "r1": ["[1,5)"],
    "r2": ["[1,5)", "[10,-)"],
    "r3": ["[5,-)"],
    "r4": ["[5,10)"],
}


def updates(key: Key) -> list[Step]:
    """Section 6: partial rows; what lies before the current State is judged by the State there."""
    seen, place = {"checked": at(1)}, {"IN": ("r1",)}
    return [
        _part(key, 1, {"v": 1}, "created", "1 [1,-)", times=seen, relations=place),
        _part(key, 2, {"v": 2}, "changed", "1 [1,2), 2 [2,-)"),
        _part(key, 2, {"v": 3}, "conflict", "1 [1,2), 2 [2,-)"),
        _part(key, 2, {"v": 2}, "unchanged", "1 [1,2), 2 [2,-)"),
        _part(key, 4, {"v": 2}, "unchanged", "1 [1,2), 2 [2,-) 4"),
        _part(key, 3, {"v": 9}, "stale", "1 [1,2), 2 [2,-) 4"),
        _part(key, 1.2, {"v": 9}, "stale", "1 [1,2), 2 [2,-) 4"),
        _part(key, 1.2, {"v": 1}, "unchanged", "1 [1,2) 1.2, 2 [2,-) 4"),
        _part(key, 1.2, {"v": 9}, "conflict", "1 [1,2) 1.2, 2 [2,-) 4"),
        _part(key, 1, {"v": 9}, "conflict", "1 [1,2) 1.2, 2 [2,-) 4"),
        _part(key, 0, {"v": 1}, "stale", "1 [1,2) 1.2, 2 [2,-) 4"),
        _part(
            key,
            5,
            {"v": None},
            "changed",
            "1 [1,2) 1.2, 2 [2,5) 4, None [5,-)",
            times={"checked": None},
            relations={"IN": ()},
        ),
        _part(key, 6, {}, "unchanged", "1 [1,2) 1.2, 2 [2,5) 4, None [5,-) 6"),
    ]


def joins(key: Key) -> list[Step]:
    """Partial rows at one moment that name different things are all true, a name only once."""
    place, other = {"IN": ("r1",)}, {"IN": ("r2",)}
    return [
        Step(row(key, 1, 1), "created", "1 [1,-)"),
        _part(key, 1, {"w": 1}, "conflict", "1 [1,-)"),  # a full row made this State
        _part(key, 5, {"v": 2}, "changed", "1 [1,5), 2 [5,-)"),
        _part(key, 5, {"w": 1}, "changed", "1 [1,5), 2 w=1 [5,-)"),
        _part(key, 5, {}, "changed", "1 [1,5), 2 w=1 [5,-)", relations=place),
        _part(key, 5, {}, "conflict", "1 [1,5), 2 w=1 [5,-)", relations=other),
        _part(key, 5, {"w": 2}, "conflict", "1 [1,5), 2 w=1 [5,-)"),
        _part(key, 5, {"w": 1}, "unchanged", "1 [1,5), 2 w=1 [5,-)"),
        _part(key, 5, {"IN": "x"}, "changed", "1 [1,5), 2 w=1 IN=x [5,-)"),  # a value of that name
        Step(row(key, 9, 3), "changed", "1 [1,5), 2 w=1 IN=x [5,9), 3 [9,-)"),
        _part(key, 5, {"x": 1}, "inserted", "1 [1,5), 2 w=1 IN=x x=1 [5,9), 3 [9,-)"),
        _part(key, 5, {"y": None}, "unchanged", "1 [1,5), 2 w=1 IN=x x=1 [5,9), 3 [9,-)"),
        _part(key, 5, {"y": 1}, "conflict", "1 [1,5), 2 w=1 IN=x x=1 [5,9), 3 [9,-)"),
        _part(key, 6, {"x": 1}, "unchanged", "1 [1,5), 2 w=1 IN=x x=1 [5,9) 6, 3 [9,-)"),
        _part(key, 5, {"z": 1}, "conflict", "1 [1,5), 2 w=1 IN=x x=1 [5,9) 6, 3 [9,-)"),
        _part(key, 9, {"z": 1}, "conflict", "1 [1,5), 2 w=1 IN=x x=1 [5,9) 6, 3 [9,-)"),
    ]


def reference(key: Key) -> Row:
    """A row of the place that the tables point at."""
    return Row(kind=PLACE, key=key, t=at(0))


def _part(key: Key, t: float, values: dict, status: str, states: str, **given: object) -> Step:
    return Step(row(key, t, values=values, partial=True, **given), status, states)


def _state(state: dict) -> str:
    others = [name for name in ("w", "IN", "x", "y", "z") if name in state]
    values = "".join(f" {name}={state[name]}" for name in others)
    seen = f" {_seconds(state['seen_last'])}" if "seen_last" in state else ""
    return f"{state.get('v')}{values} {_window(state['valid_from'], state.get('valid_to'))}{seen}"


def _window(begun: int, ended: int | None) -> str:
    return f"[{_seconds(begun)},{'-' if ended is None else _seconds(ended)})"


def _seconds(moment: int) -> str:
    return f"{(moment - ORIGIN) / SECOND:g}"
