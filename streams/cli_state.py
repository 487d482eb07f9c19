"""How is the work going, and is everything set up as it must be?"""

from dataclasses import asdict
from datetime import UTC, datetime

import typer
from rich.text import Text

from streams import check, console, embedded, status
from streams.check import Finding
from streams.cli_context import Json, settings_of
from streams.errors import ServerMissing
from streams.settings import Settings


def show_status(context: typer.Context, as_json: Json = False) -> None:
    """Show what each topic holds, what waits, who reads, and which graphs there are.

    Example: lighthouse-streams status
    """
    found = status.look(settings_of(context))
    if as_json:
        console.show_json(asdict(found))
        return
    rows = [
        (
            topic.topic,
            topic.partitions,
            console.count(topic.records),
            None if topic.waiting is None else console.count(topic.waiting),
            waited(topic.oldest_ms),
        )
        for topic in found.topics
    ]
    console.show_table(("topic", "partitions", "records", "waiting", "oldest waiting"), rows)
    members = "" if found.members is None else f", {found.members} members"
    console.say(f"group {found.group}: {found.group_state}{members}")
    console.say(f"broker {found.broker}; graph {found.graph or 'is not there'}")
    console.say(f"graphs: {', '.join(found.graphs) or 'none'}")
    if any(topic.lost for topic in found.topics):
        console.note("the group stands beyond the end: the broker has lost records", "red")


def show_check(context: typer.Context, as_json: Json = False) -> None:
    """Check servers, topics and settings; exit code 1 when the worker would not start.

    Example: lighthouse-streams check
    """
    settings = settings_of(context)
    findings = check.settings_findings(settings)
    missing = None
    for look in (_graph, check.broker_findings):
        try:
            findings += look(settings)
        except ServerMissing as error:
            missing = missing or error
            about = "graph" if look is _graph else "broker"
            findings.append(Finding(about, check.REFUSE, str(error)))
    show_findings(findings, as_json)
    if missing:
        raise typer.Exit(missing.exit_code)
    if check.refused(findings):
        raise typer.Exit(1)


def show_findings(findings: list[Finding], as_json: bool) -> None:
    """Print findings as a table, or as JSON."""
    if as_json:
        console.show_json([asdict(finding) for finding in findings])
        return
    rows = [
        (Text(f.level, style=console.COLOURS[f.level]), f.about, f.found, f.advice)
        for f in findings
    ]
    console.show_table(("", "looked at", "found", "to do"), rows)


def waited(oldest_ms: int | None) -> str | None:
    """Say for how long a record has waited, by its timestamp in milliseconds since 1970."""
    if oldest_ms is None:
        return None
    seconds = max(0, (datetime.now(UTC).timestamp() * 1000 - oldest_ms) / 1000)
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s"


def _graph(settings: Settings) -> list[Finding]:
    return check.graph_findings(embedded.connect(settings), settings.graph.allow_loss)
