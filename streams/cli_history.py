"""What is known of one entity: its versions as a table, or what held at one time?"""

import difflib
from datetime import datetime
from typing import Annotated, Any

import typer

import lighthouse
from streams import console, embedded, history_view
from streams.cli_context import Json, settings_of
from streams.errors import StreamsError, UsageError
from streams.history_view import Version
from streams.settings import Settings

Kind = Annotated[str, typer.Argument(help="The kind, as the settings name it.")]
Key = Annotated[str, typer.Argument(help="The key of the entity.")]
AsOf = Annotated[str | None, typer.Option(help="Show what held at this time (UTC, or an offset).")]
Tenant = Annotated[str | None, typer.Option(help="The tenant's graph instead of the shared one.")]
Last = Annotated[int, typer.Option(min=1, help="Show only the last versions.")]
NumberKey = Annotated[bool, typer.Option("--number-key", help="The key is a whole number.")]


def command(
    context: typer.Context,
    kind: Kind,
    key: Key,
    as_of: AsOf = None,
    tenant: Tenant = None,
    last: Last = 20,
    number_key: NumberKey = False,
    as_json: Json = False,
) -> None:
    """Show one entity: its versions with their windows and what it pointed at.

    Example: lighthouse-streams history Plane N328AA --as-of 2013-03-08T12:00
    """
    settings = settings_of(context)
    asked = kind_of(settings, kind)
    graph = graph_of(settings, tenant)
    try:
        held = int(key) if number_key else key
        if as_of is None:
            show_versions(graph, asked, held, last, as_json)
        else:
            show_version(graph, asked, held, as_of, as_json)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    except lighthouse.SchemaMissing as error:
        raise StreamsError(f"nothing has been written to the graph {graph.name} yet") from error


def kind_of(settings: Settings, name: str) -> lighthouse.Kind:
    """Give the kind of that name; UsageError naming those there are."""
    if name in settings.kinds:
        return settings.kinds[name]
    near = difflib.get_close_matches(name, settings.kinds, 1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    raise UsageError(f"no kind {name!r}{meant}; there are: {', '.join(settings.kinds)}")


def graph_of(settings: Settings, tenant: str | None) -> Any:
    """Give the graph of a tenant, or the shared one; UsageError for an id that cannot be one."""
    db = embedded.connect(settings)
    if tenant is None:
        return lighthouse.world(db)
    try:
        return lighthouse.tenant(db, tenant)
    except ValueError as error:
        raise UsageError(str(error)) from error


def show_versions(graph: Any, kind: lighthouse.Kind, key: Any, last: int, as_json: bool) -> None:
    """Print the last versions of an entity; exit code 1 when it is unknown."""
    shown, total = history_view.versions(graph, kind, key, last)
    if as_json:
        each = [version.shown() for version in shown]
        about = {"kind": kind.label, "key": key, "graph": graph.name}
        console.show_json(about | {"total": total, "versions": each})
    elif total:
        table(shown, f"{kind.label} {key}: {total:,} versions")
        if len(shown) < total:
            console.note(f"the last {len(shown):,}; --last N shows more")
    if not total:
        _unknown(graph, kind, key)


def show_version(graph: Any, kind: lighthouse.Kind, key: Any, when: str, as_json: bool) -> None:
    """Print what held at a time; exit code 1 when nothing did."""
    version = history_view.version_at(graph, kind, key, when)
    if version is None:
        _unknown(graph, kind, key, f" at {when}")
        return
    if as_json:
        about = {"kind": kind.label, "key": key, "graph": graph.name, "as_of": when}
        console.show_json(about | version.shown())
        return
    facts = version.about | version.relations | version.values
    lines = [(name, _fact(fact)) for name, fact in facts.items() if name != "fp"]
    console.show_table(("", f"{kind.label} {key} at {when}"), lines)


def table(shown: list[Version], title: str) -> None:
    """Print versions as a table; what all of them have in common stands above it."""
    named, same = history_view.columns(shown), history_view.constant(shown)
    console.say(title, "bold")
    if same:
        each = ", ".join(f"{name} {_fact(fact)}" for name, fact in sorted(same.items()))
        console.say(f"in all of them: {each}", "dim")
    lines = [_line(version, named) for version in shown]
    console.show_table(("valid from", "valid to", *named), lines)


def _line(version: Version, named: list[str]) -> list[Any]:
    facts, about = version.facts(), version.about
    return [
        about["valid_from"],
        about.get("valid_to", "now"),
        *(_cell(facts.get(name)) for name in named),
    ]


def _cell(fact: Any) -> Any:
    # A number stays one, so that the table lines it up.
    return fact if isinstance(fact, int | float) else _fact(fact)


def _fact(fact: Any) -> str:
    if isinstance(fact, list):
        return ", ".join(map(str, fact))
    if isinstance(fact, datetime):
        return console.moment(fact).removesuffix(" 00:00:00")
    return "" if fact is None else str(fact)


def _unknown(graph: Any, kind: lighthouse.Kind, key: Any, when: str = "") -> None:
    text = f"nothing is known of {kind.label} {key}{when} in the graph {graph.name}"
    console.note(text, "yellow")
    raise typer.Exit(1)
