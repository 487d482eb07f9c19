"""The command line: which commands there are, and how one ends.

Exit codes: 0 done; 1 some records were not taken, nothing was found, or a check failed; 2 wrong
usage or settings; 3 a server is not there.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import redis
import typer
from confluent_kafka import KafkaException

import lighthouse
from streams import (
    cli_answers,
    cli_demo,
    cli_history,
    cli_publish,
    cli_servers,
    cli_state,
    cli_topics,
    console,
    logs,
)
from streams.cli_context import Invocation, hoisted
from streams.errors import ServerMissing, StreamsError

PROGRAM = "lighthouse-streams"
#: What a shell expects of a program that Ctrl-C ended.
INTERRUPTED = 130

app = typer.Typer(
    name=PROGRAM,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(cli_servers.init)
app.command("demo")(cli_demo.command)
app.command("up")(cli_servers.up)
app.command("worker")(cli_servers.worker)
app.add_typer(cli_topics.app, name="topics")
app.command("publish")(cli_publish.command)
app.command("receipts")(cli_answers.show_receipts)
app.add_typer(cli_answers.dead_letters_app, name="dead-letters")
app.command("history")(cli_history.command)
app.command("status")(cli_state.show_status)
app.command("check")(cli_state.show_check)


def _version(asked: bool) -> None:
    if asked:
        from importlib import metadata

        try:
            version = metadata.version(PROGRAM)
        except metadata.PackageNotFoundError:
            version = "not installed"
        console.say(f"{PROGRAM} {version}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option(help="The settings file. [LIGHTHOUSE_CONFIG, ./lighthouse.toml]")
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log one JSON object a line, without colours.")
    ] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Rows from Kafka topics into versioned history on FalkorDB."""
    context.obj = Invocation(config, log_json)
    logs.configure(log_json)
    if log_json:
        console.no_colours()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    try:
        app(hoisted(sys.argv[1:] if arguments is None else arguments), prog_name=PROGRAM)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 what is not known is raised again
        sys.exit(_ended(error))


def _ended(error: Exception) -> int:
    """Say what went wrong and give the exit code; what we do not know of goes on as it is."""
    known = _known(error)
    if known is None:
        raise error
    console.note(f"error: {known}", "red")
    return known.exit_code


def _known(error: Any) -> StreamsError | None:
    if isinstance(error, StreamsError):
        return error
    if isinstance(error, lighthouse.Unavailable | redis.ConnectionError | redis.TimeoutError):
        return ServerMissing(f"FalkorDB does not answer: {error}")
    if isinstance(error, KafkaException):
        return ServerMissing(f"the broker does not answer: {error.args[0].str()}")
    if isinstance(error, lighthouse.LighthouseError | redis.ResponseError):
        return StreamsError(str(error))
    return None
