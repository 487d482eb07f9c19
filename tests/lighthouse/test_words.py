"""How texts are found by their words: folded and cut alike in what is kept and in what is asked."""

import hashlib
import secrets

import pytest
from falkordb import Graph

import lighthouse
from lighthouse import Kind, values

THING = Kind("Thing", text=("note", "tags"))
T = "2026-01-01T00:00:00"


@pytest.fixture(name="things", scope="module")
def _things(db) -> Graph:
    """One graph with the schema of a thing that has texts."""
    graph = db.select_graph(f"test-{secrets.token_hex(6)}")
    lighthouse.ensure_schema(graph, [THING])
    yield graph
    graph.delete()


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        pytest.param(["Hello, World!"], "hello world", id="runs of letters, folded"),
        pytest.param(["a_b-c.d/e"], "a b c d e", id="an underscore parts"),
        pytest.param(
            ["first\nsecond\u00a0third\u200bfourth"], "first second third fourth", id="breaks"
        ),
        pytest.param(["A320 neo 7"], "a320 neo 7", id="digits belong to words"),
        pytest.param(
            ["STRASSE", "Straße", "ÜBER"], "strasse strasse über", id="folding beyond ASCII"
        ),
        pytest.param(["ΣΊΣΥΦΟΣ", "σίσυφος"], "σίσυφοσ σίσυφοσ", id="a final sigma"),
        pytest.param([["a", 1, "b c", True], "d"], "a b c d", id="texts of a list"),
        pytest.param(["x" * 51, "y" * 50], "x" * 50 + " " + "y" * 50, id="long words are cut"),
        pytest.param(["", "...", "_", "\u200b"], None, id="no word"),
        pytest.param([None, 1, 1.5, True, [2]], None, id="no text"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_words_are_the_folded_runs_of_letters_and_digits(texts, words) -> None:
    """In order, joined by single spaces; None where there is none."""
    assert values.words(texts) == words


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        pytest.param("Der ÜBERSCHUSS", "überschuss", id="capitals beyond ASCII"),
        pytest.param("x" * 300, "X" * 300, id="a word of 300 letters"),
        pytest.param("ж" * 300, "Ж" * 300, id="of two bytes each"),
        pytest.param("漢" * 300, "漢" * 300, id="of three bytes each"),
        pytest.param("𐐨" * 300, "𐐀" * 300, id="of four bytes each"),
        pytest.param("first\nsecond", "second", id="after a line feed"),
        pytest.param(["one", "Two parts"], "PARTS", id="in a list"),
    ],
)
@pytest.mark.parametrize("label", ["Thing", "State"])
def test_a_word_is_found_by_a_question_that_is_treated_alike(things, text, asked, label) -> None:
    """On the entity and on its State, however long the word is and whatever its script."""
    key = hashlib.sha256(repr(text).encode()).hexdigest()
    value = "tags" if isinstance(text, list) else "note"
    lighthouse.remember(things, THING, [{"key": key, "t": T, "values": {value: text}}], by="feed")

    found = things.ro_query(
        f"CALL db.idx.fulltext.queryNodes('{label}', $word) YIELD node RETURN properties(node)",
        {"word": values.words([asked])},
    ).result_set

    assert any(row[0].get(value) == text for row in found)
    assert all("words" not in state for state in lighthouse.history(things, THING, key))
