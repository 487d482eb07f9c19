"""Bad rows cost themselves only: each is refused with a reason and kept, the others are written."""

import pytest

import lighthouse
from lighthouse import SchemaMissing
from tests.bad_rows import table
from tests.sites import SITE, T, assert_well_kept, at, content, failures


@pytest.mark.parametrize("function", [lighthouse.remember, lighthouse.update_many])
@pytest.mark.parametrize(
    ("name", "bad"), [pytest.param(name, row, id=name) for name, row in table()]
)
def test_a_bad_row_is_invalid_with_a_reason_and_its_neighbours_are_written(
    sites, name, bad, function
) -> None:
    """One bad row in a batch: a receipt that says why, a WriteFailure, and the others are kept."""
    sites.query("MATCH (f:WriteFailure) DELETE f")
    keys = [f"{function.__name__} {name} {place}" for place in ("before", "after")]
    good = [{"key": key, "t": T, "values": {"v": 1}} for key in keys]

    first, refused, last = function(sites, SITE, [good[0], bad, good[1]], by="feed")

    assert (first["status"], last["status"]) == ("created", "created")
    assert lighthouse.history(sites, SITE, keys[1])[0]["v"] == 1
    assert refused["status"] == "invalid"
    assert isinstance(refused["reason"], str)
    assert 5 < len(refused["reason"]) < 500
    assert refused["key"] == ("k" if isinstance(bad, dict) and bad.get("key") == "k" else None)
    kept = failures(sites)
    assert [(it["reason"], it["kind"], it.get("key")) for it in kept] == [
        ("invalid", "Site", refused["key"])
    ]
    assert_well_kept(kept[0])
    assert kept[0]["detail"] == refused["reason"][:2000]


def test_a_partial_row_that_makes_the_whole_too_large_is_invalid(site) -> None:
    """A partial row is judged by the full picture that it makes."""
    lighthouse.remember(
        site, SITE, [{"key": "k", "t": T, "values": {"a": "x" * 99_000}}], by="feed"
    )
    later = "2026-01-02"
    names = {f"v{n}": 1 for n in range(200)}
    texts = {"b": "x" * 99_000, "c": "x" * 9_000}

    receipts = lighthouse.update_many(
        site,
        SITE,
        [{"key": "k", "t": later, "values": values} for values in (names, texts, {"b": 1})],
        by="feed",
    )

    assert [it["status"] for it in receipts] == ["invalid", "invalid", "changed"]
    assert all(it["reason"] for it in receipts[:2])
    assert sum(it["times"] for it in failures(site)) == 2


@pytest.mark.parametrize(
    ("label", "function", "before", "status"),
    [
        ("Site", lighthouse.remember, None, "created"),
        ("Site", lighthouse.remember, "2025-01-01", "changed"),
        ("State", lighthouse.remember, "2026-06-01", "inserted"),
        ("Site", lighthouse.update_many, "2025-01-01", "changed"),
    ],
)
def test_a_row_that_the_database_refuses_costs_that_row(
    site, label, function, before, status
) -> None:
    """One of 500 rows breaks a constraint of the database: it is `failed`, the 499 are written."""
    site.create_node_unique_constraint(label, "plate")
    taken = {"key": "first", "t": T, "values": {"plate": 77}}
    lighthouse.remember(site, SITE, [taken], by="feed")
    if before:
        rows = [{"key": n, "t": before, "values": {"v": "before"}} for n in range(500)]
        lighthouse.remember(site, SITE, rows, by="feed")
    rows = [
        {"key": n, "t": T, "values": {"plate": 77 if n == 123 else 1000 + n}} for n in range(500)
    ]

    receipts = function(site, SITE, rows, by="feed")

    failed = [it for it in receipts if it["status"] != status]
    assert [(it["key"], it["status"]) for it in failed] == [(123, "failed")]
    assert "unique" in failed[0]["reason"]
    [kept] = failures(site)
    assert (kept["reason"], kept["kind"], kept["key"], kept["times"]) == ("failed", "Site", 123, 1)
    assert "unique" in kept["detail"]
    assert "123" in kept["detail"]
    assert_well_kept(kept)
    assert lighthouse.as_of(site, SITE, 124, T)["plate"] == 1124
    states = lighthouse.history(site, SITE, 123)
    assert [state["v"] for state in states] == (["before"] if before else [])
    count = "MATCH (n:Site)-[:HAS_STATE]->(s:State) WHERE s.plate >= 1000 RETURN count(s)"
    assert site.ro_query(count).result_set == [[499]]


def test_of_two_rows_that_exclude_each_other_one_is_written(site) -> None:
    """Of rows of one batch that break a constraint together the first is taken."""
    site.create_node_unique_constraint("Site", "plate")
    rows = [{"key": n, "t": T, "values": {"plate": n // 2}} for n in range(4)]

    receipts = lighthouse.remember(site, SITE, rows, by="feed")

    assert [it["status"] for it in receipts] == ["created", "failed", "created", "failed"]
    assert sorted(it["key"] for it in failures(site)) == [1, 3]


@pytest.mark.parametrize(
    "bad", [{"key": " "}, {"values": []}, {"entry": 5}, {"relations": 5}, {"other": 1}, {}]
)
def test_a_refusal_keeps_the_time_of_its_row_whatever_else_is_wrong(site, bad) -> None:
    """Where the time could be read, it is kept: it says when the source went wrong."""
    ahead = {} if bad else {"t": "9999-01-01"}
    row = {"key": "k", "t": T} | bad | ahead

    assert lighthouse.remember(site, SITE, [row], by="feed")[0]["status"] == "invalid"

    [kept] = failures(site)
    assert kept["first_t:us"] == kept["last_t:us"] == at(row["t"])


def test_a_refusal_that_comes_again_only_raises_its_count_and_moves_its_last_time(site) -> None:
    """One content refused at three times is one node that knows the first and the last of them."""
    rows = [
        {"key": "k", "t": f"2026-01-01T00:00:0{second}", "values": {"v": "A"}} for second in (1, 9)
    ]
    lighthouse.remember(site, SITE, rows, by="feed")
    refused = [
        {**rows[0], "t": f"2026-01-01T00:00:0{n}.5", "values": {"v": "B"}} for n in (5, 7, 3)
    ]

    statuses = [lighthouse.remember(site, SITE, [row], by="feed")[0]["status"] for row in refused]

    assert statuses == ["stale"] * 3
    [kept] = failures(site)
    assert kept["times"] == 3
    assert kept["detail"] == content({"v": "B"})
    assert [kept[name] - at(T) for name in ("first_t:us", "last_t:us")] == [5_500_000, 3_500_000]
    assert_well_kept(kept)


def test_refusals_of_one_batch_are_counted_as_those_of_many(site) -> None:
    """Three equal refusals in one call are one node with both times; other content is another."""
    rows = [
        {"key": "k", "t": f"2026-01-01T00:00:0{n}", "values": {"v": it}, "entry": "no/1"}
        for n, it in ((5, "B"), (7, "B"), (1, "C"), (3, "B"))
    ]

    receipts = lighthouse.remember(site, SITE, rows, by="feed")

    assert [it["status"] for it in receipts] == ["missing"] * 4
    found = {
        it["detail"]: [it["times"], it["first_t:us"] - at(T), it["last_t:us"] - at(T)]
        for it in failures(site)
    }
    lost = "the entry 'no/1' does not exist: "
    assert found == {
        lost + content({"v": "B"}): [3, 5_000_000, 3_000_000],
        lost + content({"v": "C"}): [1, 1_000_000, 1_000_000],
    }


def test_a_refused_partial_row_is_kept_with_what_it_said(site) -> None:
    """What a partial row named stands in its WriteFailure, and another content is another one."""
    given = {"t": T, "values": {"v": "now"}}
    lighthouse.update(site, SITE, "k", by="feed", **given)
    cases = {
        "missing": {"entry": "no/1", "t": "2026-01-02"},
        "conflict": {},
        "stale": {"t": "2025-01-01"},
    }

    for more in cases.values():
        for value in ("this", "that"):
            row = {"key": "k"} | given | more | {"values": {"v": value}}
            lighthouse.update_many(site, SITE, [row], by="feed")

    kept = {
        (it["reason"], name)
        for it in failures(site)
        for name in ("this", "that")
        if f"'{name}'" in it["detail"].replace('"', "'")
    }
    assert kept == {(reason, name) for reason in cases for name in ("this", "that")}
    assert [it["times"] for it in failures(site)] == [1] * 6


def test_a_row_with_unknown_evidence_is_missing_and_names_it(site) -> None:
    """The entry that does not exist stands in the reason, and before the content that is kept."""
    site.query("CREATE (:Entry {id: 'lab/1'})")
    rows = [
        {"key": key, "t": T, "values": {"v": key}, "entry": entry}
        for key, entry in (("a", "lab/1"), ("b", "lab/2"), ("c", None))
    ]

    receipts = lighthouse.remember(site, SITE, rows, by="feed")

    assert [it["status"] for it in receipts] == ["created", "missing", "created"]
    assert "lab/2" in receipts[1]["reason"]
    [kept] = failures(site)
    assert kept["detail"] == f"the entry 'lab/2' does not exist: {content({'v': 'b'})}"
    assert_well_kept(kept)
    assert lighthouse.history(site, SITE, "a")[0]["entry"] == "lab/1"
    assert lighthouse.history(site, SITE, "b") == []


def test_a_long_refused_content_is_kept_to_2000_characters(site) -> None:
    """What a refusal keeps is the beginning of the content, never all of it."""
    rows = [{"key": "k", "t": T, "values": {"v": letter * 9_000}} for letter in "ab"]

    lighthouse.remember(site, SITE, rows, by="feed")

    [kept] = failures(site)
    assert kept["detail"] == content(rows[1]["values"])[:2000]
    assert_well_kept(kept)


@pytest.mark.parametrize("by", [None, "", " feed", "feed\n", 5, True, "x" * 201])
def test_a_bad_writer_raises_before_anything_is_written(site, by) -> None:
    """`by` identifies the caller: a bad one is an error of the caller, not of a row."""
    row = {"key": "k", "t": T}

    for call in (
        lambda: lighthouse.remember(site, SITE, [row], by=by),
        lambda: lighthouse.update_many(site, SITE, [row], by=by),
        lambda: lighthouse.update(site, SITE, "k", T, by=by),
    ):
        with pytest.raises(ValueError, match="by must be text of 1 to 200"):
            call()

    assert lighthouse.history(site, SITE, "k") == []
    assert failures(site) == []


def test_rows_that_cannot_be_gone_through_raise_and_no_rows_answer_nothing(site) -> None:
    """A call needs an iterable; an empty one is fine; the keys of a map are no rows."""
    with pytest.raises(TypeError):
        lighthouse.remember(site, SITE, 5, by="feed")

    assert lighthouse.remember(site, SITE, [], by="feed") == []
    assert lighthouse.update_many(site, SITE, iter(()), by="feed") == []
    receipts = lighthouse.remember(site, SITE, {"key": "k", "t": T}, by="feed")
    assert [it["status"] for it in receipts] == ["invalid", "invalid"]


def test_a_graph_without_schema_is_not_written_to(graph) -> None:
    """Until `ensure_schema` has run, writes and reads raise SchemaMissing."""
    graph.query("RETURN 1")

    for call in (
        lambda: lighthouse.remember(graph, SITE, [{"key": "k", "t": T}], by="feed"),
        lambda: lighthouse.update(graph, SITE, "k", T, by="feed"),
        lambda: lighthouse.history(graph, SITE, "k"),
        lambda: lighthouse.as_of(graph, SITE, "k", T),
        lambda: lighthouse.related(graph, SITE, "k", "PART_OF"),
        lambda: lighthouse.digest(graph, [SITE]),
    ):
        with pytest.raises(SchemaMissing):
            call()

    assert graph.ro_query("MATCH (n) RETURN count(n)").result_set == [[0]]


def test_bad_questions_raise(sites) -> None:
    """Reading functions raise on what they cannot look for, and leave no WriteFailure."""
    sites.query("MATCH (f:WriteFailure) DELETE f")
    questions = [
        (ValueError, lambda: lighthouse.history(sites, SITE, " a")),
        (ValueError, lambda: lighthouse.history(sites, SITE, True)),
        (ValueError, lambda: lighthouse.as_of(sites, SITE, "", T)),
        (ValueError, lambda: lighthouse.as_of(sites, SITE, "k", None)),
        (ValueError, lambda: lighthouse.as_of(sites, SITE, "k", " ")),
        (ValueError, lambda: lighthouse.as_of(sites, SITE, "k", "2026-04-31")),
        (TypeError, lambda: lighthouse.as_of(sites, SITE, "k", 5)),
        (ValueError, lambda: lighthouse.related(sites, SITE, "k", "IN")),
        (ValueError, lambda: lighthouse.related(sites, SITE, 2**53, "PART_OF")),
        (ValueError, lambda: lighthouse.related(sites, SITE, "k", "PART_OF", " ")),
    ]

    for error, ask in questions:
        with pytest.raises(error):
            ask()

    assert failures(sites) == []
