"""Which rows must the library refuse as invalid? One table, by the field that is wrong."""

from datetime import UTC, date, datetime, timedelta, timezone

from tests.sites import T

EAST, WEST = timezone(timedelta(hours=1)), timezone(-timedelta(hours=1))
_NAIVE, _LAST = datetime.fromisoformat("2026-01-01"), datetime.fromisoformat("9999-12-31T23:59:59")
_INFINITE, _NO_NUMBER = float("inf"), float("nan")


def nested(levels: int) -> list:
    """A list in a list, as many levels deep."""
    inner: list = []
    for _ in range(levels):
        inner = [inner]
    return inner


_ROWS = (None, 5, 1.5, True, "text", b"bytes", ["key", "t"], ("key", "t"), {"key"})
_FIELDS = ({"extra": 1}, {"Key": "k"}, {"partial": True}, {5: 1}, {None: 1}, {"": 1}, {"by": "me"})
_KEYS = (
    *(None, "", " ", "x" * 201, " a", "a ", "\u00a0a", "a\u2003", "\ta", "a\n", "a\nb", "a\tb"),
    *("a\0b", "a\u200bb", "\ufeffa", "a\u202eb", "a\u2028b", "a\u2029b", "a\x85b", "a\x7fb"),
    *("\ud800", "a\ue000b", "a\u0378b", "a\u00adb"),  # alone, private, unassigned, soft hyphen
    *(True, False, 1.0, 2**53, -(2**53), 2**63, -(2**63) - 1, 10**30),
    *(b"a", ("a",), ["a"], {"a": 1}),
)
_TIMES = (
    *("soon", "2026-04-31", "2026-02-29", "2026-01-01T24:00", "2026-01-01T24:00:00"),
    *("2026-01-01T23:59:60", "2026-01-01T25:00", "2026-13-01", "0000-01-01", "10000-01-01"),
    *("-0001-01-01T00:00:00", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00"),
    *("2026-01-01T00:00:00" + " " * 50 + "Z", "2026-01-01T00:00:00+25:00", "20260101T240000"),
    *("2026-W54-1", "2026-1-1", "1767225600", "1" * 65, "now", "2026-01-01T00:00:00 UTC"),
    *(5, 1.5, True, b"2026-01-01", date(2026, 1, 1), timedelta(days=1), ["2026-01-01"]),
    *(datetime.max.replace(tzinfo=WEST), datetime.min.replace(tzinfo=EAST)),
)
_AHEAD = ("9999-12-31T23:59:59", _LAST, datetime.now(UTC) + timedelta(days=1))
_ENTRIES = (5, True, "", " ", " a", "a\n", "x" * 201, ["a"], b"a", ("Entry", "a"))
_MAPS = (["v"], "v", "", 5, 0, False, True, [("v", 1)], {"v"}, ())
_NAMES = (
    *(
        "",
        "1a",
        "a b",
        "a-b",
        "a.b",
        "é",
        "a" * 101,
        "a:us",
        "valid_from:us",
        "`a`",
        "a\n",
        5,
        None,
    ),
    *("fp", "valid_from", "valid_to", "recorded_at", "by", "seen_last", "entry", "words", "key"),
)
_VALUES = (
    *({"a": 1}, {}, [[1]], [None], [1, None], [{"a": 1}], [(1,)], (1, 2), {1}, b"a", object),
    *(date(2026, 1, 1), _NAIVE, timedelta(1), 1j, list(range(1001)), nested(1025)),
    *(_NO_NUMBER, _INFINITE, -_INFINITE, [_NO_NUMBER], 2**63, -(2**63) - 1, 10**400, [2**63]),
    *("a\0b", ["\0"], "\ud800", "a\udfff", ["\ud800"], "x" * 100_001, ["x" * 100_001]),
)
_TARGETS = (
    *(True, 1.5, "", " a", "a\n", 2**53, {"a": 1}, b"a", [None], ["a", None], [True], [["a"]]),
    *([""], {"a"}, [str(n) for n in range(201)], ["a"] * 201, [2**63], ["\ud800"]),
)
_LARGE = (
    {f"v{n}": None for n in range(201)},
    {"opened": None} | {f"v{n}": 1 for n in range(200)},
    {"a": "x" * 100_000, "b": "x" * 100_000},
    {"a": "é" * 40_000},
)


def table() -> list[tuple[str, object]]:
    """Every bad row with a name; the key, where it is good, is `k`, and so the time is T."""
    good = {"key": "k", "t": T}
    named = {
        "row": _ROWS,
        "field": [good | more for more in _FIELDS],
        "key": [good | {"key": key} for key in _KEYS] + [{"t": T}, {}],
        "t": [good | {"t": t} for t in (None, "", "   ", *_TIMES, *_AHEAD)] + [{"key": "k"}],
        "entry": [good | {"entry": entry} for entry in _ENTRIES],
        "values": [good | {"values": values} for values in _MAPS],
        "name": [good | {"values": {name: 1}} for name in _NAMES],
        "value": [good | {"values": {"v": value}} for value in _VALUES],
        "time": [good | {"values": {"opened": value}} for value in _TIMES],
        "relations": [good | {"relations": relations} for relations in _MAPS],
        "type": [good | {"relations": {name: "a"}} for name in ("IN", "part_of", "", 5, None)],
        "target": [good | {"relations": {"PART_OF": to}} for to in _TARGETS],
        "large": [good | {"values": values} for values in _LARGE],
    }
    return [(f"{name}-{n}", row) for name, rows in named.items() for n, row in enumerate(rows)]
