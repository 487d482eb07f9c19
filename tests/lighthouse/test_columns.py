"""How contents become columns: one text for a batch, a cell for each name."""

from lighthouse import Kind
from lighthouse.write.columns import Columns, instant
from lighthouse.write.rows import make_content

ROOM = Kind("Room")
THING = Kind("Thing", times=["built"], relations={"IN": ROOM}, text=["note"])


def test_a_batch_has_a_column_for_each_name_that_one_of_it_uses() -> None:
    """Names stand in the text once; a content without a name has null there."""
    one = make_content(THING, {"v": 1}, {}, {"IN": ("r",)})
    other = make_content(THING, {"note": "Hello, World"}, {"built": 1_000_000}, {})

    columns = Columns(THING, [one, other], 3)

    assert columns.state() == (
        ", words: r[3], `to:IN`: r[4], `note`: r[5], `v`: r[6], `built`: localdatetime(r[7]), `built:us`: r[8]"
    )
    assert (
        columns.entity()
        == ", `words`: s.`words`, `note`: s.`note`, `v`: s.`v`, `built`: s.`built`, `built:us`: s.`built:us`"
    )
    assert columns.row(one) == [None, ["r"], None, 1, None, None]
    assert columns.row(other) == [
        "hello world",
        None,
        "Hello, World",
        None,
        "1970-01-01T00:00:01",
        1_000_000,
    ]


def test_a_float_beyond_fifteen_digits_brings_its_exact_text() -> None:
    """Only batches with such a number pay for the column."""
    plain = make_content(THING, {"v": 0.25}, {}, {})
    fine = make_content(THING, {"v": 0.1 + 0.2}, {}, {})

    assert "exact" not in Columns(THING, [plain], 0).state()
    columns = Columns(THING, [plain, fine], 0)
    assert "`v:exact`" in columns.state()
    assert columns.row(plain)[-1] is None
    assert columns.row(fine)[-1] == "0.30000000000000004"


def test_an_absent_time_has_two_empty_cells() -> None:
    """Both the readable form and the microseconds are null."""
    assert instant(None) == (None, None)
    assert instant(1_500_000) == ("1970-01-01T00:00:01", 1_500_000)
