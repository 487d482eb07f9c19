"""What the package offers: its names, the namespace, and what each function says it raises."""

import inspect
import re
from types import ModuleType

import pytest

import lighthouse

#: The 68 names of the contract's index and those that go beyond it; a build may still lack some.
PROMISED = set(
    """
    Kind SELF WORLD world tenant ensure_schema remember update record_failure history as_of
    related stamp now add_task claim complete release open_episode record close_episode episode
    episodes_about hand_off accept handoffs_for learn weigh used retire lesson lessons_about
    write_playbook switch ran playbook playbooks_for promote say messages sessions said_about
    said summarize context forget_session forget_user pointing_at similar search search_history
    search_entries embed nearest embed_entries nearest_entries fuse groups important between
    connection extract impact_of_state impact_of_entry invalidate_entry diff_between what_if
    agent_trust recall update_many record_many say_many forget_entities digest heal
    LighthouseError Unavailable SchemaMissing
    """.split()
)
#: What a caller must be ready for, by function; those not listed raise nothing of their own.
RAISED = {
    "stamp": {"ValueError", "TypeError"},
    "tenant": {"ValueError"},
    "ensure_schema": {"ValueError", "RuntimeError", "Unavailable"},
    "remember": {"ValueError", "TypeError", "SchemaMissing", "Unavailable"},
    "update": {"ValueError", "SchemaMissing", "Unavailable"},
    "update_many": {"ValueError", "TypeError", "SchemaMissing", "Unavailable"},
    "record_failure": {"ValueError", "Unavailable"},
    "history": {"ValueError", "SchemaMissing", "Unavailable"},
    "as_of": {"ValueError", "TypeError", "SchemaMissing", "Unavailable"},
    "related": {"ValueError", "TypeError", "SchemaMissing", "Unavailable"},
    "digest": {"SchemaMissing", "Unavailable"},
}
FUNCTIONS = sorted(
    name for name in lighthouse.__all__ if inspect.isfunction(getattr(lighthouse, name))
)


def _place(name: str) -> tuple:
    """Constants, then classes, then functions, each by name: the order that the linter sorts by."""
    return (not name.isupper(), not name[0].isupper(), name)


def named(name: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """The errors that a docstring names, with those of the functions that it refers to."""
    text = inspect.getdoc(getattr(lighthouse, name)) or ""
    errors = {
        error for known in RAISED.values() for error in known if re.search(rf"\b{error}\b", text)
    }
    for other in set(re.findall(r"`(\w+)`", text)) & RAISED.keys() - seen - {name}:
        errors |= named(other, seen | {name})
    return errors


def test_the_list_of_names_is_sorted() -> None:
    """Constants, classes and functions, each in order and once."""
    assert lighthouse.__all__ == sorted(set(lighthouse.__all__), key=_place)


def test_the_list_is_what_the_namespace_holds() -> None:
    """Nothing public is left out of `__all__`, and nothing stands there that is not to be had."""
    public = {
        name
        for name, value in vars(lighthouse).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }

    assert public == set(lighthouse.__all__)


def test_only_promised_names_are_offered() -> None:
    """The contract's names and those beyond it, no others."""
    assert len(PROMISED) == 68 + 10
    assert set(lighthouse.__all__) <= PROMISED


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_does_and_what_it_raises(name) -> None:
    """A sentence first, then every error that a caller must be ready for."""
    text = inspect.getdoc(getattr(lighthouse, name)) or ""

    assert re.match(r"[A-Z][^\n]+[.;:,\w)]", text)
    assert RAISED.get(name, set()) - named(name) == set()


def test_the_table_of_errors_knows_every_function_that_takes_a_graph() -> None:
    """A function that is added cannot go without."""
    taking = [
        name
        for name in FUNCTIONS
        if "graph" in inspect.signature(getattr(lighthouse, name)).parameters
    ]

    assert taking
    assert set(taking) <= RAISED.keys()
    assert RAISED.keys() <= set(FUNCTIONS)


@pytest.mark.parametrize("name", ["LighthouseError", "Unavailable", "SchemaMissing"])
def test_an_error_says_by_itself_what_is_the_matter(name) -> None:
    """All are LighthouseErrors; the docstring is the text of one that was given none."""
    error = getattr(lighthouse, name)

    assert issubclass(error, lighthouse.LighthouseError)
    assert str(error()) == inspect.getdoc(error)
    assert str(error("other")) == "other"
