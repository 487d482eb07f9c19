"""What does `demo` show of a run?"""

import time
from collections.abc import Callable

import typer

import lighthouse
from streams import (
    cli_history,
    cli_servers,
    cli_topics,
    console,
    demo,
    embedded,
    history_view,
    mapping,
    servers,
)
from streams.cli_context import program, settings_of
from streams.events import REFUSED
from streams.settings import Settings

#: Characters of an example that a person reads at a glance.
EXAMPLE_CHARACTERS = 130
#: What each status means, in the demo's own words.
MEANINGS = {
    "created": "the first that is known of a plane",
    "changed": "a new version after the current one",
    "inserted": "came late, took its place in history",
    "unchanged": "known already",
}
NEXT = (
    ("servers and worker again, on this graph, until Ctrl-C", "lighthouse-streams up"),
    ("meanwhile, in another window: another plane", "lighthouse-streams history Plane N283JB"),
    ("the same plane at another time", "lighthouse-streams history Plane {plane} --as-of {when}"),
    ("your own kinds and topics", "lighthouse-streams init"),
)


def command(context: typer.Context) -> None:
    """Show it all: publish a week of flights, and look at what became of them.

    Starts the embedded servers and a worker, publishes the sample, waits for every receipt, and
    prints counts, refusals and one plane's history. It may be run again, and while `up` runs.

    Example: lighthouse-streams demo
    """
    started = time.monotonic()
    settings = settings_of(context)
    columns = demo.suited(settings)
    with servers.running(settings) as running:
        console.note(f"data lies in {settings.graph.data}")
        cli_topics.make(settings)
        watch = demo.Watch(settings)
        words = [*program(), *context.obj.arguments(), "worker"]
        if running.broker_attached and demo.worked_on(settings):
            console.note("a worker runs already: it does the work")
            answers = followed(watch, columns, demo.other_worker(settings))
        else:
            with demo.worker(words, settings.graph.data / "worker.log") as alive:
                answers = followed(watch, columns, alive)
        show_counts(answers)
        show_refused(watch.refused(answers))
        show_plane(settings, answers)
    show_next(time.monotonic() - started, forgets=running.broker is not None)


def followed(
    watch: demo.Watch, columns: mapping.Mapping, alive: Callable[[], None]
) -> demo.Answers:
    """Publish the sample and wait for its receipts, each under a progress bar."""
    with console.progress("rows") as bar:
        size = demo.SAMPLE.stat().st_size
        task = bar.add_task("publishing", total=size, count=0)
        answers, result = watch.publish(
            columns, lambda count, at: bar.update(task, completed=at, count=count)
        )
        bar.update(task, completed=size, count=result.published)
    with console.progress("receipts") as bar:
        task = bar.add_task("writing   ", total=len(answers.sent), count=0)
        watch.wait(answers, alive, lambda n: bar.update(task, completed=n, count=n))
        bar.update(task, completed=len(answers.sent), count=len(answers.receipts))
    return answers


def show_counts(answers: demo.Answers) -> None:
    """Print how many rows ended in which way."""
    counts = answers.statuses()
    rows = [
        (word, console.count(number), MEANINGS.get(word, "refused, see below"))
        for word, number in counts
    ]
    console.say(f"\n{len(answers.receipts):,} rows, a receipt for each", "bold")
    console.show_table(("status", "rows", ""), rows)
    stored = [word for word, _ in counts if word not in REFUSED]
    if stored == ["unchanged"]:
        console.say("Nothing is new: an earlier run wrote every row, and none counts twice.")


def show_refused(groups: list[demo.Refused]) -> None:
    """Print the dead letters by reason, with one example each."""
    console.say(f"\n{sum(group.count for group in groups):,} dead letters, by reason", "bold")
    for group in groups:
        example = group.example
        console.say(f"{group.count:>6,}  {example.reason}: {example.error.get('detail', '')}")
        console.say(f"        {_cut(example.text() or '')}", "dim")


def show_plane(settings: Settings, answers: demo.Answers) -> None:
    """Print one plane's history, how much of it came late, and where it was at one past time."""
    kind = settings.kinds["Plane"]
    graph = lighthouse.world(embedded.connect(settings))
    versions, total = history_view.versions(graph, kind, demo.PLANE, 100)
    console.say("")
    cli_history.table(versions, f"One of the planes: {demo.PLANE}, {total} versions (times in UTC)")
    if late := answers.late(demo.PLANE):
        text = "of these were reported after the plane had left again, and put in their place."
        console.say(f"{late} {text}")
    held = history_view.version_at(graph, kind, demo.PLANE, demo.MOMENT)
    if held:
        console.say(f"\nWhere was it at {demo.MOMENT}? {_place(held)}", "bold")


def show_next(seconds: float, forgets: bool) -> None:
    """Print what to type next; `forgets` says that the broker keeps nothing."""
    console.say(f"\nDone in {seconds:.0f} s. What to try next:", "bold")
    for what, words in NEXT:
        line = words.format(plane=demo.PLANE, when="2013-03-09T21:00:00Z")
        console.say(f"  {line:<78} {what}")
    if forgets:
        console.say(cli_servers.MEMORY_ONLY)


def _place(held: history_view.Version) -> str:
    values, since = held.values, console.moment(held.about["valid_from"])
    flight = f"flight {values.get('flight')} {values.get('origin')} to {values.get('dest')}"
    at = held.relations.get("BASED_AT")
    if at:
        return f"At {at[0]}, where {flight} had landed {since}."
    return f"In the air: {flight} had left {since}."


def _cut(text: str) -> str:
    return text if len(text) <= EXAMPLE_CHARACTERS else f"{text[:EXAMPLE_CHARACTERS]}…"
