"""Each reason is explained to the person who has to do something about it."""

from streams.events import REFUSED, Outcome, Record, Refusal
from streams.explanations import EXPLANATIONS, detail

RECORD = Record("t", "id", 0, 0, 0, None, None)


def test_every_reason_has_a_meaning_and_an_advice() -> None:
    """No refusal leaves a person alone, and no word is explained that is none."""
    assert EXPLANATIONS.keys() == REFUSED
    for explained in EXPLANATIONS.values():
        assert explained.meaning and not explained.meaning.endswith(".")
        assert explained.advice and not explained.advice.endswith(".")


def test_whoever_refused_has_the_first_word() -> None:
    """A reason that was given is passed on as it is; only without one it is explained."""
    conflict = Outcome(RECORD, "world", "Thing", "a", "2026", "conflict")
    invalid = Outcome(RECORD, "world", "Thing", "a", "2026", "invalid", "no time")

    assert detail(Refusal(RECORD, "schema", "t is missing")) == "t is missing"
    assert detail(invalid) == "no time"
    assert detail(conflict).startswith("Thing 'a' at 2026: a row of the same entity")
