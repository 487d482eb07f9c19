"""Who may say what on a topic? One `[[sources]]` table of the settings, checked.

A record's content never decides who wrote it: the source of its topic does.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import lighthouse

CONTRACTS = ("rows", "entries", "messages")
PROVENANCES = ("sensor", "ledger", "tool", "file", "chat", "user")
#: Topics that the worker writes; nothing may be read from them as a source.
OUTPUTS = ("receipts", "dead-letters")

_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
#: The most characters that the library takes as the name of a writer.
_LONGEST_NAME = 200
_ALLOWED = ("topic", "contract", "by", "tenant", "kinds", "provenance", "trusted")


@dataclass(frozen=True, slots=True)
class FromGroup:
    """The text is what this named group of the topic's pattern matched."""

    name: str


@dataclass(frozen=True, slots=True)
class FromHeader:
    """The text is in this header of the record; only where the source is trusted."""

    name: str


Binding = str | FromGroup | FromHeader


@dataclass(frozen=True, slots=True)
class Source:
    """Bind a topic to its contract, writer, tenant, kinds (None: all) and provenance.

    `topic` is without the prefix; `pattern` is None where it is a name.
    """

    topic: str
    contract: str
    by: Binding
    tenant: Binding
    kinds: frozenset[str] | None
    provenance: str | None
    trusted: bool
    pattern: re.Pattern[str] | None


class WrongKeyError(ValueError):
    """One key of the settings is wrong."""

    def __init__(self, key: str, what: str, allowed: str) -> None:
        """Take the key's dotted path, what is wrong with it, and what may stand there."""
        super().__init__(f"{key}: {what}; allowed: {allowed}")


def sources(tables: object, kinds: Collection[str], prefix: str) -> tuple[Source, ...]:
    """Build the sources from the `[[sources]]` tables.

    Raises WrongKeyError at the first that cannot be kept.
    """
    if not isinstance(tables, list):
        raise WrongKeyError("sources", f"{tables!r} is not a list of tables", "[[sources]] tables")
    built = [
        _source(table, f"sources[{place}]", kinds, prefix) for place, table in enumerate(tables)
    ]
    first: dict[str, int] = {}
    for place, source in enumerate(built):
        if (other := first.setdefault(source.topic, place)) != place:
            raise WrongKeyError(
                f"sources[{place}].topic",
                f"{source.topic!r} is bound already by sources[{other}]",
                "one source for each topic",
            )
    return tuple(built)


def _source(table: object, at: str, kinds: Collection[str], prefix: str) -> Source:
    if not isinstance(table, dict):
        raise WrongKeyError(at, f"{table!r} is not a table", "[[sources]] tables")
    for key in table:
        if key not in _ALLOWED:
            raise WrongKeyError(f"{at}.{key}", "unknown key", ", ".join(_ALLOWED))
    topic, pattern = _topic(table, at, prefix)
    trusted = table.get("trusted", False)
    if not isinstance(trusted, bool):
        raise WrongKeyError(f"{at}.trusted", f"{trusted!r} is not a truth value", "true, false")
    return Source(
        topic=topic,
        contract=_contract(table, at, topic),
        by=_by(table, at, pattern, trusted),
        tenant=_tenant(table, at, pattern, trusted),
        kinds=_kinds(table, at, kinds),
        provenance=_one_of(table.get("provenance"), f"{at}.provenance", PROVENANCES),
        trusted=trusted,
        pattern=pattern,
    )


def _topic(table: Mapping[str, Any], at: str, prefix: str) -> tuple[str, re.Pattern[str] | None]:
    key, allowed = f"{at}.topic", "a topic's name without the prefix, or a regular expression"
    if "topic" not in table:
        raise WrongKeyError(key, "is missing", allowed)
    topic = table["topic"]
    if not isinstance(topic, str) or not topic:
        raise WrongKeyError(key, f"{topic!r} is not a topic", allowed)
    if topic in OUTPUTS:
        raise WrongKeyError(key, f"{topic!r} is a topic that the worker writes", allowed)
    if _TOPIC_NAME.fullmatch(topic):
        return topic, None
    try:
        re.compile(topic)
    except re.error as error:
        what = f"{topic!r} is not a regular expression: {error}"
        raise WrongKeyError(key, what, allowed) from error
    return topic, re.compile(re.escape(prefix) + f"(?:{topic})")


def _contract(table: Mapping[str, Any], at: str, topic: str) -> str:
    if "contract" in table:
        return _one_of(table["contract"], f"{at}.contract", CONTRACTS) or ""
    first = re.split(r"\[\.\]|\\?\.", topic, maxsplit=1)[0]
    if first not in CONTRACTS:
        what = f"is missing, and the topic {topic!r} does not begin with one"
        raise WrongKeyError(f"{at}.contract", what, ", ".join(CONTRACTS))
    return first


def _by(
    table: Mapping[str, Any], at: str, pattern: re.Pattern[str] | None, trusted: bool
) -> Binding:
    key = f"{at}.by"
    if "by" not in table:
        raise WrongKeyError(
            key, "is missing", _forms(f"the writer's name, at most {_LONGEST_NAME} characters")
        )
    by = _binding(table["by"], key, pattern, trusted)
    if isinstance(by, str) and not (
        0 < len(by) <= _LONGEST_NAME and by == by.strip() and by.isprintable()
    ):
        allowed = f"1 to {_LONGEST_NAME} visible characters"
        raise WrongKeyError(key, f"{by!r} cannot name a writer", allowed)
    return by


def _tenant(
    table: Mapping[str, Any], at: str, pattern: re.Pattern[str] | None, trusted: bool
) -> Binding:
    key = f"{at}.tenant"
    tenant = _binding(table.get("tenant", lighthouse.WORLD), key, pattern, trusted)
    if isinstance(tenant, str) and tenant != lighthouse.WORLD:
        try:  # the library's own check of a tenant's id, without a database
            lighthouse.tenant(SimpleNamespace(select_graph=str), tenant)
        except ValueError as error:
            what = f"{tenant!r} is not a tenant"
            raise WrongKeyError(key, what, f'"world"; {error}') from error
    return tenant


def _binding(value: object, key: str, pattern: re.Pattern[str] | None, trusted: bool) -> Binding:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise WrongKeyError(key, f"{value!r} is not a binding", _forms("text"))
    [(form, name)] = value.items()
    if form not in ("group", "header") or not isinstance(name, str) or not name:
        raise WrongKeyError(key, f"{value!r} is not a binding", _forms("text"))
    if form == "header":
        if not trusted:
            raise WrongKeyError(
                key, "a header is read only from a trusted source", "trusted = true beside it"
            )
        return FromHeader(name)
    groups = sorted(pattern.groupindex) if pattern else []
    if name not in groups:
        named = ", ".join(groups) or "none: write (?P<name>...) in the topic"
        raise WrongKeyError(
            key, f"the topic has no group {name!r}", f"the pattern's named groups ({named})"
        )
    return FromGroup(name)


def _kinds(table: Mapping[str, Any], at: str, known: Collection[str]) -> frozenset[str] | None:
    if "kinds" not in table:
        return None
    names, key, allowed = (
        table["kinds"],
        f"{at}.kinds",
        ", ".join(sorted(known)) or "no kind is declared",
    )
    if not isinstance(names, list) or not names:
        raise WrongKeyError(key, f"{names!r} is not a list of kinds", allowed)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise WrongKeyError(key, f"the kind {name!r} is not declared", allowed)
    return frozenset(names)


def _one_of(value: Any, key: str, allowed: tuple[str, ...]) -> str | None:
    if value is None or value in allowed:
        return value
    raise WrongKeyError(key, f"{value!r} is not known", ", ".join(allowed))


def _forms(text: str) -> str:
    group, header = '{group = "a named group of the topic"}', '{header = "a name"}'
    return f"{text}, {group}, or {header} of a trusted source"
