"""Which rows do the property tests draw? Few keys and few moments, so that they collide."""

import itertools
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.oracle import Key, Row

#: Settings of every property here: a fixed number of examples, no clock, one graph for all of them.
EXAMPLES = settings(
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

#: Beginnings of the time range, in microseconds since 1970: the years 1, 1684, 1969, 2024, 2026.
ORIGINS = (
    -62_135_596_800_000_000 + 7_200_000_000,
    -9_000_000_000_000_000 - 1,
    -2_000_000,
    1_709_164_799_000_000,
    1_767_225_600_000_000,
)
#: Moments after the origin: neighbours in one microsecond, in one second, and further apart.
OFFSETS = (
    (0, 1, 2, 3, 4, 5),
    (0, 1, 500_000, 999_999, 1_000_000, 1_500_000),
    (0, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000),
    (0, 999_999, 1_000_001, 2_000_000, 60_000_000, 3_600_000_000),
)

THING, PLACE = "Thing", "Place"
#: What the two kinds of the tests declare; "self" is a relation to their own kind.
DECLARED = {THING: {"IN": PLACE, "NEAR": THING}, PLACE: {"PART_OF": PLACE}}
TIMES = {THING: ("checked",), PLACE: ()}
ENTRIES = ("lab/1", "lab/2")

#: Keys of the entities of long runs.
KEYS_OF_RUNS: tuple[Key, ...] = ("a", "b", 1)
#: Keys of entities, the first the most drawn, and of what they point at.
_ENTITIES: tuple[Key, ...] = ("a", "a", "a", "a", 1, "1")
_TARGETS: tuple[Key, ...] = ("a", 1, "1")
_VALUES = (
    0,
    1,
    1.0,
    True,
    False,
    "1",
    "é\u00a0x",
    "",
    [],
    [1, True],
    [True, 1],
    2**63 - 1,
    0.5,
    None,
)
#: What full rows mostly say, as (values, relations): few pictures, so that equal content is common.
_PICTURES = (
    ({}, {}),
    ({"v": 1}, {}),
    ({"v": 2}, {}),
    ({"v": 2, "w": 1}, {}),
    ({"v": 1}, {"IN": ("a",)}),
    ({"v": 1}, {"IN": ("a", 1), "NEAR": ("a",)}),
    ({}, {"IN": (1, "1"), "NEAR": ("1",)}),
)
#: What partial rows mostly say: one name each, so that several are true at one moment.
_CHANGES = (
    ({"v": 1}, {}),
    ({"v": 2}, {}),
    ({"v": None}, {}),
    ({"w": 1}, {}),
    ({"w": 2}, {}),
    ({"IN": "x"}, {}),
    ({}, {"IN": ("a",)}),
    ({}, {"IN": ()}),
    ({}, {"NEAR": ("a", "1")}),
    ({}, {}),
)

_runs = itertools.count(os.getpid() * 1_000_000)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a writing function with rows of one kind; `spelling` picks how times look."""

    function: str
    rows: tuple[Row, ...]
    spelling: int


@st.composite
def rows(draw: st.DrawFn, partial: bool | None = None, one_entity: bool = False) -> Row:
    """One row whose moment is the number of one; `partial` fixes whether it is partial."""
    kind = THING if one_entity else draw(st.sampled_from([THING, THING, THING, PLACE]))
    if partial is None:
        partial = draw(st.booleans())
    said, relations = draw(_pictures(partial))
    return Row(
        kind=kind,
        key="a" if one_entity else draw(st.sampled_from(_ENTITIES)),
        t=draw(st.integers(0, 5)),
        values=said,
        times=draw(_times()) if TIMES[kind] else {},
        relations=_declared(kind, relations),
        entry=draw(st.sampled_from([None] * 12 + [*ENTRIES, *ENTRIES, "lab/none"])),
        by=draw(st.sampled_from(["feed", "feed", "other"])),
        partial=partial,
    )


@st.composite
def sequences(
    draw: st.DrawFn, partial: bool | None = None, one_entity: bool | None = None, most: int = 14
) -> list[Row]:
    """Rows in an order of delivery: all moments from one origin, some rows given twice.

    Where partial rows are wanted, some more come at moments that are taken already.
    """
    origin, offsets = draw(st.sampled_from(ORIGINS)), draw(st.sampled_from(OFFSETS))
    if one_entity is None:
        one_entity = draw(st.booleans())
    drawn = draw(st.lists(rows(partial, one_entity), min_size=1, max_size=most))
    if partial is not False:
        drawn += [_beside(row, *said) for row, said in draw(st.lists(_more(drawn), max_size=4))]
    again = draw(st.lists(st.sampled_from(drawn), max_size=2))
    return [replace(row, t=origin + offsets[row.t]) for row in drawn + again]


@st.composite
def agreeing(draw: st.DrawFn) -> list[Row]:
    """Full rows of one entity in an order of delivery, one at most for each moment."""
    drawn = draw(sequences(partial=False, one_entity=True, most=8))
    kept = {row.t: replace(row, entry=None) for row in drawn}
    return draw(st.permutations(list(kept.values())))


@st.composite
def calls(draw: st.DrawFn, order: Sequence[Row]) -> list[Call]:
    """Cut a sequence into calls: neighbours of one kind, writer and sort may share one."""
    cuts = draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
    spelling = draw(st.integers(0, 5))
    batches: list[list[Row]] = []
    for row, cut in zip(order, cuts, strict=True):
        if batches and not cut and _together(batches[-1][-1], row):
            batches[-1].append(row)
        else:
            batches.append([row])
    single = draw(st.booleans())
    return [Call(_function(batch, single), tuple(batch), spelling) for batch in batches]


@st.composite
def overtakings(draw: st.DrawFn) -> tuple[list[Call], Call, list[Call]]:
    """Calls for one entity: what comes before, the call that is overtaken, and those that overtake it."""
    order = placed(draw(sequences(one_entity=True, most=12)))
    place = draw(st.integers(0, len(order) - 1))
    before = [
        Call("update_many" if row.partial else "remember", (row,), 0) for row in order[:place]
    ]
    rest = [order[place : place + 3], order[place + 3 : place + 4], order[place + 4 : place + 7]]
    mine, *others = [_alike(rows, draw(st.booleans())) for rows in rest if rows]
    return before, mine, others


def long_run(seed: int, size: int, sorts: Sequence[bool], apart: int = 500_000) -> list[Call]:
    """Calls of one writer for three entities; `sorts` holds whether rows are partial, at random.

    Partial rows come `apart` microseconds after the whole seconds at which full ones come.
    """
    pick = random.Random(seed)
    return [_some(pick, pick.choice(sorts), apart, f"writer{seed}") for _ in range(size)]


def placed(order: Sequence[Row]) -> list[Row]:
    """Give the entities of a sequence keys that no other example has; 1 and "1" stay a pair."""
    run = next(_runs)
    return [
        replace(
            row,
            key=_own(row.key, run),
            relations={
                name: tuple(_own(key, run) for key in keys) for name, keys in row.relations.items()
            },
        )
        for row in order
    ]


def _alike(rows: Sequence[Row], partial: bool) -> Call:
    given = tuple(replace(row, partial=partial, by="feed") for row in rows)
    return Call("update_many" if partial else "remember", given, 0)


def _some(pick: random.Random, partial: bool, apart: int, by: str) -> Call:
    rows = [_any(pick, partial, apart, by) for _ in range(pick.randint(1, 8))]
    return Call("update_many" if partial else "remember", tuple(rows), 0)


def _any(pick: random.Random, partial: bool, apart: int, by: str) -> Row:
    named = {"v" if pick.random() < 0.7 else "w": pick.randint(0, 3)}
    to = tuple(pick.sample(["p", "q", "r"], pick.randint(0, 2)))
    return Row(
        THING,
        pick.choice(KEYS_OF_RUNS),
        ORIGINS[-1] + pick.randint(0, 40) * 1_000_000 + (apart if partial else 0),
        {} if partial and pick.random() < 0.3 else named,
        relations={"IN": to} if pick.random() < 0.6 else {},
        by=by,
        partial=partial,
    )


def _more(drawn: list[Row]) -> st.SearchStrategy[tuple[Row, tuple[dict, dict]]]:
    return st.tuples(st.sampled_from(drawn), st.sampled_from(_CHANGES))


def _beside(row: Row, said: dict, relations: dict) -> Row:
    relations = _declared(row.kind, relations)
    return replace(row, values=said, times={}, relations=relations, partial=True)


def _declared(kind: str, relations: dict) -> dict:
    if kind == THING:
        return relations
    return {"PART_OF": relations["IN"]} if "IN" in relations else {}


def _pictures(partial: bool) -> st.SearchStrategy[tuple[dict, dict]]:
    named = st.sampled_from(["v", "w", "IN"])
    said = st.dictionaries(named, st.sampled_from(_VALUES), max_size=3)
    targets = st.lists(st.sampled_from(_TARGETS), max_size=3, unique=True).map(tuple)
    odd = st.tuples(said, st.dictionaries(st.sampled_from(["IN", "NEAR"]), targets, max_size=2))
    common = st.sampled_from(_CHANGES if partial else _PICTURES)
    return st.one_of(common, common, common, odd)


def _times() -> st.SearchStrategy[dict]:
    said = [{}] * 5 + [{"checked": moment} for moment in (None, ORIGINS[0], ORIGINS[4] + 1)]
    return st.sampled_from(said)


def _together(one: Row, other: Row) -> bool:
    return (one.kind, one.by, one.partial) == (other.kind, other.by, other.partial)


def _function(batch: Sequence[Row], single: bool) -> str:
    if not batch[0].partial:
        return "remember"
    return "update" if single and len(batch) == 1 else "update_many"


def _own(key: Key, run: int) -> Key:
    if isinstance(key, int):
        return run * 10 + key
    return str(run * 10 + int(key)) if key.isdigit() else f"{key}{run}"
