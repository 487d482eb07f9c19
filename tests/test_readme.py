"""Whether the README says what is so: commands, options, settings, statuses, contents, examples."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import falkordb
import pytest
from falkordb import Graph

from streams import contracts, events, mapping, settings
from streams.decode import decode
from streams.events import Record, Row
from tests.commands import every_command, options_of

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = dict(every_command())
#: Options of the program itself, which stand anywhere.
OWN = {"--config", "--log-json", "--help", "--version"}


def blocks(language: str) -> list[str]:
    """Give the README's blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def called() -> list[list[str]]:
    """Give every call of the program that the README shows, in words."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    inline = re.findall(r"`(lighthouse-streams [^`]+)`", README.replace("\n", " "))
    toml = re.findall(r"^# .*?(lighthouse-streams .+)$", README, re.MULTILINE)
    shown = [line for line in [*lines, *inline, *toml] if line.startswith("lighthouse-streams ")]
    return [shlex.split(line, comments=True)[1:] for line in shown]


def command_of(words: list[str]) -> str | None:
    """Name the command that a call begins with."""
    return next((name for name in COMMANDS if words[: len(name.split())] == name.split()), None)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_told(name: str) -> None:
    """Each has its line in the table of commands."""
    assert f"| `lighthouse-streams {name}` |" in README


@pytest.mark.parametrize("words", called(), ids=" ".join)
def test_every_call_is_one_that_exists(words: list[str]) -> None:
    """The command is there, and each option is one that it takes."""
    name = command_of(words)

    assert name, words
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert options <= options_of(COMMANDS[name]) | OWN


def test_options_named_in_the_text_exist() -> None:
    """An option that the text names in passing belongs to some command."""
    known = OWN.union(*(options_of(command) for command in COMMANDS.values()))

    named = set(re.findall(r"`(--[a-z-]+)", README))

    assert named
    assert named <= known


def test_every_make_target_exists() -> None:
    """The two commands of the first screen, and those for developers."""
    makefile = (ROOT / "Makefile").read_text()

    lines = [line.split() for block in blocks("sh") for line in block.splitlines()]
    targets = {words[1] for words in lines if words[:1] == ["make"] and words[1] != "#"}

    assert {"demo", "test"} <= targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_every_status_is_told() -> None:
    """Those a row can end with; the words for entries and messages are not of this version."""
    of_rows = (events.STORED - {"recorded", "said", "exists"}) | events.REFUSED - {"forgotten"}

    assert {status for status in of_rows if f"`{status}`" not in README} == set()


def test_every_section_of_the_settings_is_told() -> None:
    """And each that is told is there."""
    told = set(re.findall(r"^\| `\[+([a-z]+)[.\]]", README, re.MULTILINE))

    assert told == set(tomllib.loads(settings.EXAMPLE.read_text()))


def test_the_examples_fit_their_contracts() -> None:
    """The row is decoded as one, the receipt has the shape that its schema asks for."""
    row, receipt = (json.loads(block) for block in blocks("json"))

    key = f"{row['kind']}/{row['key']}".encode()
    decoded = decode(Record("t", "id", 0, 0, 0, key, json.dumps(row).encode()))
    assert isinstance(decoded, Row)
    assert contracts.contract("receipts").fits(receipt)


def test_the_library_answers_as_shown(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python example is run on the real database; each comment is what its line gives."""
    (example,) = blocks("python")
    client = SimpleNamespace(select_graph=lambda name: graph)
    monkeypatch.setattr(falkordb, "FalkorDB", lambda: client)
    names: dict[str, Any] = {}
    checked = 0

    for line in example.splitlines():
        code, _, answer = line.partition("  # ")
        if answer:
            assert eval(code, names) == eval(answer)
            checked += 1
        else:
            exec(code, names)

    assert checked == 2


def test_the_mapping_file_is_one() -> None:
    """What the README shows as a mapping can be read as one."""
    (text,) = blocks("toml")

    assert mapping.build(tomllib.loads(text)).kind == "Plane"


def test_the_contents_name_every_heading() -> None:
    """In their order, with links that lead there."""
    headings = re.findall(r"^## (.+)$", README, re.MULTILINE)
    contents = README.partition("## Contents")[2].partition("\n## ")[0]
    links = re.findall(r"\[([^\]]+)\]\(#([a-z-]+)\)", contents)

    assert [title for title, _ in links] == [title for title in headings if title != "Contents"]
    assert all(anchor == title.lower().replace(" ", "-") for title, anchor in links)


def test_every_file_that_is_linked_is_there() -> None:
    """A link to nowhere helps nobody."""
    for target in re.findall(r"\]\(([^#)][^)]*)\)", README):
        assert (ROOT / target).exists(), target


def test_the_first_screen_has_the_two_commands_and_what_they_show() -> None:
    """All before the contents, within the first 60 lines."""
    first = README.partition("## Contents")[0]

    assert first.count("\n") <= 60
    assert "make demo" in first
    assert "make test" in first
    assert "12,594 rows, a receipt for each" in first


def test_the_shown_output_is_that_of_the_demo() -> None:
    """The numbers of the first screen are those that the demo's own test asks for."""
    demo = (ROOT / "tests" / "streams" / "test_cli_demo.py").read_text()

    for status in ("changed", "created", "inserted", "schema", "invalid"):
        number = re.search(rf"^{status} +([\d,]+)", README, re.MULTILINE)
        assert number, status
        assert f'"{status}": {number[1].replace(",", "")}' in demo
