"""How do the settings come to be, and how do servers and the worker run?"""

import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from streams import cli_topics, console, servers, settings
from streams.cli_context import settings_of
from streams.errors import UsageError
from streams.settings import Settings

FILE = Path("lighthouse.toml")
MEMORY_ONLY = (
    "The embedded broker keeps topics in memory only: when it ends, records, receipts and dead "
    "letters are gone. The graph stays."
)

Target = Annotated[Path, typer.Argument(help="The file to write.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
Agents = Annotated[str | None, typer.Option(help="The agents to run, with commas between them.")]
Group = Annotated[str | None, typer.Option(help="The consumer group.")]
Http = Annotated[str | None, typer.Option(help="Where health and metrics are served: host:port.")]


def init(file: Target = FILE, force: Force = False) -> None:
    """Write a settings file with every line explained.

    Example: lighthouse-streams init
    """
    if file.exists() and not force:
        raise UsageError(f"{file} is there already: --force writes over it")
    try:
        file.write_bytes(settings.EXAMPLE.read_bytes())
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    console.say(f"{file} written. Name your kinds and sources in it, then `lighthouse-streams up`.")


def up(context: typer.Context) -> None:
    """Run the embedded servers and the worker in the foreground, until Ctrl-C.

    It goes on from the graph that `demo`, or an earlier `up`, left in the data folder.

    Example: lighthouse-streams up
    """
    told = settings_of(context)
    signal.signal(signal.SIGTERM, _stop)
    with servers.running(told) as running:
        cli_topics.make(told)
        introduce(told, running)
        _work(told)
    console.note("stopped")


def worker(
    context: typer.Context, agents: Agents = None, group: Group = None, http: Http = None
) -> None:
    """Run the worker alone, against the servers that the settings name.

    Example: lighthouse-streams worker --group lighthouse
    """
    flags = {"worker.agents": agents, "worker.group": group, "worker.http": http}
    _work(settings_of(context, flags))


def introduce(told: Settings, running: servers.Running) -> None:
    """Say where everything is, and what to type next."""
    graph, broker = running.graph, running.broker
    console.note(f"data     {told.graph.data}")
    console.note(f"graph    {graph.address if graph else told.graph.url.rpartition('@')[2]}")
    console.note(f"broker   {broker.address if broker else told.broker.servers}")
    console.note(f"worker   group {told.worker.group}, health and metrics at {told.worker.http}")
    if broker:
        console.note(MEMORY_ONLY, "yellow")
    console.note("Publish:  lighthouse-streams publish FILE --kind K --key COLUMN --time COLUMN")
    console.note("Look:     lighthouse-streams status | receipts | history KIND KEY")
    console.note("Ctrl-C stops all of it cleanly.")


def _work(told: Settings) -> None:
    # Faust takes a second to import: commands that only look do not wait for it.
    from streams import app

    app.run(told)


def _stop(*_: Any) -> None:
    raise SystemExit(0)
