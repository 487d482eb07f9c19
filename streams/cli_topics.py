"""Which topics are there, and are they as the settings plan them?"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import typer

from streams import console, topics
from streams.cli_context import Json, settings_of
from streams.settings import Settings

app = typer.Typer(no_args_is_help=True, help="List, create and check the topics.")


@app.command("list")
def listed(context: typer.Context, as_json: Json = False) -> None:
    """List the topics: what each one is for, and who writes to it.

    Example: lighthouse-streams topics list
    """
    settings = settings_of(context)
    states = topics.describe(settings)
    sources = topics.resolve(settings, [state.name for state in states])
    rows = [_used(state, sources.get(state.name)) for state in states]
    if as_json:
        console.show_json(rows)
    else:
        console.show_table(rows[0], [row.values() for row in rows])


@app.command()
def create(context: typer.Context, as_json: Json = False) -> None:
    """Create the topics that are not there; those that are stay as they are.

    Example: lighthouse-streams topics create
    """
    _show(topics.create(settings_of(context)), as_json)


@app.command()
def check(context: typer.Context, as_json: Json = False) -> None:
    """Compare the topics with the settings; exit code 1 when one is missing or differs.

    Example: lighthouse-streams topics check
    """
    states = topics.describe(settings_of(context))
    _show(states, as_json)
    if any(state.state in ("missing", "differs") for state in states):
        if not as_json:
            console.note(advice(states), "yellow")
        raise typer.Exit(1)


def advice(states: Iterable[topics.State]) -> str:
    """Say what to do about topics that are missing, or that differ."""
    if any(state.state == "missing" for state in states):
        return "make what is missing with `lighthouse-streams topics create`"
    return "change the topic with your broker's tools, or [topics] of the settings"


def make(settings: Settings) -> None:
    """Create what is missing and say so, quietly where all is there."""
    made = [state.name for state in topics.create(settings) if state.state == "created"]
    if made:
        console.note(f"topics created: {', '.join(made)}")


def _used(state: topics.State, bound: Any) -> dict[str, Any]:
    source = bound[0] if bound else None
    return {
        "topic": state.name,
        "holds": source.contract if source else "answers",
        "by": _binding(source.by) if source else "the worker",
        "tenant": _binding(source.tenant) if source else None,
        "kinds": ", ".join(sorted(source.kinds)) if source and source.kinds else None,
        "partitions": state.partitions,
        "state": state.state,
    }


def _binding(binding: Any) -> str:
    return binding if isinstance(binding, str) else f"<{binding.name}>"


def _show(states: Iterable[topics.State], as_json: bool) -> None:
    if as_json:
        console.show_json([asdict(state) for state in states])
        return
    rows = [(s.name, s.state, s.partitions or None, s.detail) for s in states]
    console.show_table(("topic", "state", "partitions", "detail"), rows)
