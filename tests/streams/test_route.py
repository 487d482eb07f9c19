"""The topic's source decides who writes, where to and what; a row that asks for more is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lighthouse
from streams import settings
from streams.errors import SettingsError
from streams.events import Headers, Record, Refusal, Routed, Row
from streams.route import Router, _is_name

KINDS = """
[kinds.Airport]
[kinds.Plane]
key = "tail"
relations = { BASED_AT = "Airport" }
"""
#: A source of each form; the agents' ones are trusted to say who writes, and for whom.
SOURCES = r"""
[[sources]]
topic = "rows"
by = "faa-feed"
kinds = ["Plane"]
provenance = "sensor"
[[sources]]
topic = "rows\\.of\\.(?P<tenant>.*)"
by = {group = "tenant"}
tenant = {group = "tenant"}
[[sources]]
topic = "rows.agents"
by = {header = "agent"}
tenant = {header = "tenant"}
trusted = true
[[sources]]
topic = "rows.desk"
by = "desk"
tenant = "acme"
"""
AGENT = (("agent", b"scout"), ("tenant", b"acme"))

MakeRouter = Callable[[str], Router]


@pytest.fixture(name="router_of")
def _router_of(tmp_path: Path) -> MakeRouter:
    def make(text: str) -> Router:
        file = tmp_path / "lighthouse.toml"
        file.write_text(KINDS + text, encoding="utf-8")
        return Router(settings.load(file))

    return make


@pytest.fixture(name="router")
def _router(router_of: MakeRouter) -> Router:
    return router_of(SOURCES)


def row(topic: str, kind: str = "Plane", headers: Headers = (), key: str = "N1") -> Row:
    """Make a row as it came by a topic, which is given without the prefix."""
    record = Record(f"lighthouse.{topic}", "id", 0, 0, 0, None, b"{}", headers)
    return Row(record, kind, key, "2026-01-01", {}, None, None, False)


def routed(router: Router, given_row: Row) -> Routed:
    """Route a row that is let through."""
    answer = router.route(given_row)
    assert isinstance(answer, Routed), answer
    return answer


def refused(router: Router, given_row: Row) -> Refusal:
    """Route a row that is not."""
    answer = router.route(given_row)
    assert isinstance(answer, Refusal), answer
    assert answer.record is given_row.record
    assert (answer.kind, answer.t) == (given_row.kind, given_row.t)
    return answer


@pytest.mark.parametrize(
    ("given_row", "graph", "by", "provenance"),
    [
        # text in the settings: the shared graph is the default
        (row("rows"), "world", "faa-feed", "sensor"),
        (row("rows.desk"), "tenant:acme", "desk", None),
        # a group of the topic's pattern
        (row("rows.of.acme_2"), "tenant:acme_2", "acme_2", None),
        (row("rows.of.world"), "world", "world", None),
        # headers of a trusted source; what else there is does not count
        (row("rows.agents", headers=AGENT), "tenant:acme", "scout", None),
        (row("rows.agents", headers=(("x", None), *AGENT)), "tenant:acme", "scout", None),
        (row("rows.agents", headers=(("agent", "Søren K".encode()), ("tenant", b"world"))),
         "world", "Søren K", None),
        # a header of a source that is not trusted says nothing
        (row("rows", headers=AGENT), "world", "faa-feed", "sensor"),
    ],
)  # fmt: skip
def test_the_source_decides_graph_writer_and_provenance(
    router: Router, given_row: Row, graph: str, by: str, provenance: str | None
) -> None:
    """A row goes where the source of its topic says, under the name that it says."""
    answer = routed(router, given_row)

    assert (answer.graph, answer.by, answer.provenance) == (graph, by, provenance)
    assert (answer.row, answer.kind.label) == (given_row, "Plane")


def test_a_kind_that_is_not_declared_is_refused_and_the_declared_ones_are_named(
    router: Router,
) -> None:
    """The reason is unknown-kind; its twin of a declared kind is let through."""
    refusal = refused(router, row("rows", "plane"))

    assert refusal.reason == "unknown-kind"
    assert "'plane'; it declares Airport, Plane" in refusal.detail
    routed(router, row("rows", "Plane"))


def test_of_many_kinds_the_first_are_named(router_of: MakeRouter) -> None:
    """A refusal stays short however many kinds there are."""
    many = "\n".join(f"[kinds.K{number:02}]" for number in range(30))

    refusal = refused(router_of(f"{many}\n{SOURCES}"), row("rows", "Nothing"))

    assert "K18 and 12 more" in refusal.detail
    assert "K19" not in refusal.detail


NOT_ALLOWED = [
    # why, the row, words of the detail, its twin that is let through
    ("a kind of other sources", row("rows", "Airport"),
     '"rows" of lighthouse.toml may write Plane, not \'Airport\'', row("rows.desk", "Airport")),
    ("a tenant in capitals", row("rows.of.Acme"), "gives 'Acme' as tenant", row("rows.of.acme")),
    ("a tenant that begins with -", row("rows.of.-a"), "gives '-a' as tenant", row("rows.of.a-")),
    ("a tenant of 64", row("rows.of." + "a" * 64), "1 to 63 of a-z", row("rows.of." + "a" * 63)),
    ("no writer", row("rows.agents", headers=AGENT[1:]),
     "reads by from the header 'agent', and the record does not have it",
     row("rows.agents", headers=AGENT)),
    ("no tenant", row("rows.agents", headers=AGENT[:1]),
     "reads tenant from the header 'tenant', and the record does not have it",
     row("rows.agents", headers=AGENT)),
    ("a header without value", row("rows.agents", headers=(("agent", None), AGENT[1])),
     "does not have it", row("rows.agents", headers=AGENT)),
    ("a header twice", row("rows.agents", headers=(*AGENT, ("tenant", b"other"))),
     "has it 2 times", row("rows.agents", headers=AGENT)),
    ("a header that is not text", row("rows.agents", headers=(("agent", b"\xff"), AGENT[1])),
     "has no text in it", row("rows.agents", headers=AGENT)),
    ("a tenant that is none", row("rows.agents", headers=(AGENT[0], ("tenant", b"ac/me"))),
     "gives 'ac/me' as tenant", row("rows.agents", headers=AGENT)),
    ("an empty writer", row("rows.agents", headers=(("agent", b""), AGENT[1])),
     "gives '' as by, which is no name", row("rows.agents", headers=AGENT)),
    ("a writer of 201", row("rows.agents", headers=(("agent", b"a" * 201), AGENT[1])),
     "1 to 200 visible characters", row("rows.agents", headers=(("agent", b"a" * 200), AGENT[1]))),
    ("a writer with a line break", row("rows.agents", headers=(("agent", b"a\nb"), AGENT[1])),
     "which is no name", row("rows.agents", headers=(("agent", b"a b"), AGENT[1]))),
    ("no source", row("rows2"), "no [[sources]] of lighthouse.toml binds the topic", row("rows")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given_row", "told", "twin"),
    [each[1:] for each in NOT_ALLOWED],
    ids=[e[0] for e in NOT_ALLOWED],
)
def test_what_the_source_may_not_write_is_refused(
    router: Router, given_row: Row, told: str, twin: Row
) -> None:
    """The reason is not-allowed, the detail names the source; the twin is let through."""
    refusal = refused(router, given_row)

    assert (refusal.reason, told in refusal.detail) == ("not-allowed", True), refusal.detail
    routed(router, twin)


def test_a_source_without_kinds_may_write_all(router_of: MakeRouter) -> None:
    """A source that names no kinds takes every kind that is declared, and no other."""
    router = router_of('[[sources]]\ntopic = "rows"\nby = "desk"')

    assert {routed(router, row("rows", kind)).kind.label for kind in ("Airport", "Plane")} == {
        "Airport",
        "Plane",
    }
    assert refused(router, row("rows", "Other")).reason == "unknown-kind"


def test_the_source_of_a_topic_is_found_by_its_full_name(router: Router) -> None:
    """Topics are known with the prefix; our own outputs and unknown topics have no source."""
    name, pattern = (router.source_for(f"lighthouse.{n}") for n in ("rows", "rows.of.acme"))

    assert name and name.by == "faa-feed"
    assert pattern and pattern.topic == r"rows\.of\.(?P<tenant>.*)"
    for other in ("rows", "lighthouse.rows2", "lighthouse.receipts"):
        assert router.source_for(other) is None


def test_a_topic_of_two_patterns_is_an_error_of_the_settings(router_of: MakeRouter) -> None:
    """Nobody guesses which of two sources decides."""
    router = router_of(
        '[[sources]]\ntopic = "rows.*x"\nby = "a"\n[[sources]]\ntopic = "rows.*y?x"\nby = "b"\n'
    )

    with pytest.raises(SettingsError, match="is matched by"):
        router.route(row("rows.yx"))


def test_a_refusal_says_who_wrote_and_for_whom_as_far_as_it_is_known(router: Router) -> None:
    """What the source knows of a record is kept, also where another part is wrong."""
    half = row("rows.agents", headers=(AGENT[0], ("tenant", b"?")))

    assert [(r.by, r.graph) for r in (
        refused(router, row("rows", "Airport")),
        refused(router, row("rows.agents", "Nothing", AGENT)),
        refused(router, half),
        refused(router, row("rows.of.Acme")),
        refused(router, row("rows2")),
    )] == [
        ("faa-feed", "world"),
        ("scout", "tenant:acme"),
        ("scout", None),
        (None, None),
        (None, None),
    ]  # fmt: skip


def test_a_refusal_of_an_earlier_stage_is_attributed(router: Router) -> None:
    """A record that could not be read has a writer all the same; the rest of its refusal stays."""
    record = row("rows.desk").record

    answer = router.attribute(Refusal(record, "undecodable", "not JSON", kind="Plane"))

    assert answer == Refusal(
        record, "undecodable", "not JSON", kind="Plane", by="desk", graph="tenant:acme"
    )


def test_a_refusal_keeps_no_overlong_key(router: Router) -> None:
    """Kind, key and time are kept up to 200 characters."""
    assert refused(router, row("rows2", key="x" * 200)).key == "x" * 200
    assert refused(router, row("rows2", key="x" * 201)).key is None


@given(
    st.text(max_size=5)
    | st.text(min_size=199, max_size=202)
    | st.sampled_from(" \xa0\xad\u2028\u2029\u200b").map("a{}b".format)
)
def test_a_name_is_what_the_library_takes_as_writer(text: str) -> None:
    """A writer that is let through never makes the library raise; one that is not would."""
    try:
        lighthouse.remember(None, lighthouse.Kind("Plane"), [], text)
        taken = True
    except ValueError:
        taken = False

    assert _is_name(text) == taken
