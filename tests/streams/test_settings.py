"""Settings: the file, the environment and flags, in rising weight, and every mistake named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from streams import settings
from streams.errors import SettingsError

Write = Callable[[str], Path]


@pytest.fixture(name="write")
def _write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        file = tmp_path / "lighthouse.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


@pytest.fixture(autouse=True, name="elsewhere")
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty folder: a lighthouse.toml of the developer's must not be read."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_without_a_file_the_example_counts() -> None:
    """Where no file is found, the packaged example is read: the demo's kinds and its one source."""
    told = settings.load()

    assert told.file == settings.EXAMPLE
    assert set(told.kinds) == {"Airport", "Carrier", "Plane"}
    assert [source.topic for source in told.sources] == ["rows"]


def test_the_example_says_the_defaults(write: Write) -> None:
    """Each value in the example's sections is the default, so a shorter file means the same."""
    example, empty = settings.load(settings.EXAMPLE), settings.load(write(""))

    for section in ("graph", "broker", "worker", "topics"):
        assert getattr(example, section) == getattr(empty, section)


def test_the_example_names_every_value() -> None:
    """The example explains each scalar that there is: none can be found only in the code."""
    text = settings.EXAMPLE.read_text(encoding="utf-8")

    for section, model in (
        ("graph", settings.Graph),
        ("broker", settings.Broker),
        ("worker", settings.Worker),
        ("topics", settings.Topics),
    ):
        part = text.split(f"[{section}]")[1].split("\n[")[0]
        for name in set(model.model_fields) - {"options"}:
            assert f"\n{name} = " in part, f"{section}.{name}"


def test_a_file_in_the_working_folder_is_read(elsewhere: Path) -> None:
    """./lighthouse.toml is read without being named."""
    (elsewhere / "lighthouse.toml").write_text("[worker]\nbatch_ms = 5\n")

    assert settings.load().worker.batch_ms == 5


def test_the_variable_names_a_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """LIGHTHOUSE_CONFIG names the file, and a path that is given wins over it."""
    monkeypatch.setenv("LIGHTHOUSE_CONFIG", str(write("[worker]\nbatch_ms = 6\n")))
    named = settings.load()
    given = settings.load(settings.EXAMPLE)

    assert named.worker.batch_ms == 6
    assert given.worker.batch_ms == 200


def test_environment_beats_file_and_flag_beats_both(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable wins over the file, a flag over both, and a flag not given counts for nothing."""
    file = write('[worker]\nbatch_records = 1\nbatch_ms = 1\ngroup = "one"\n')
    monkeypatch.setenv("LIGHTHOUSE_WORKER_BATCH_RECORDS", "2")
    monkeypatch.setenv("LIGHTHOUSE_WORKER_BATCH_MS", "2")

    told = settings.load(file, {"worker.batch_ms": 3, "worker.group": None})

    assert (told.worker.group, told.worker.batch_records, told.worker.batch_ms) == ("one", 2, 3)


@pytest.mark.parametrize(
    ("variable", "text", "section", "name", "value"),
    [
        # a section's name ends at the first underscore, a value's name may hold more
        ("LIGHTHOUSE_TOPICS_MAX_RECORD_BYTES", "2048", "topics", "max_record_bytes", 2048),
        ("LIGHTHOUSE_GRAPH_URL", "redis://db:6379", "graph", "url", "redis://db:6379"),
        ("LIGHTHOUSE_GRAPH_ALLOW_LOSS", "true", "graph", "allow_loss", True),
        ("LIGHTHOUSE_GRAPH_ALLOW_LOSS", "0", "graph", "allow_loss", False),
        ("LIGHTHOUSE_GRAPH_DATA", "/var/lib/x", "graph", "data", Path("/var/lib/x")),
        # text of digits stays text where text is wanted
        ("LIGHTHOUSE_WORKER_GROUP", "77", "worker", "group", "77"),
        ("LIGHTHOUSE_WORKER_AGENTS", "rows, rows", "worker", "agents", ("rows",)),
        ("LIGHTHOUSE_BROKER_SERVERS", "a:1,[::1]:2", "broker", "servers", "a:1,[::1]:2"),
    ],
)
def test_each_scalar_has_a_variable(
    variable: str,
    text: str,
    section: str,
    name: str,
    value: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """LIGHTHOUSE_<SECTION>_<NAME> gives any single value, taken for what the value is."""
    monkeypatch.setenv(variable, text)

    assert getattr(getattr(settings.load(), section), name) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[worker]\nbatch_ms = 0\n", ("worker.batch_ms: 0", "from 1 to 60000")),
        # a truth value is no number, though Python counts with it
        ("[worker]\nbatch_ms = true\n", ("worker.batch_ms: True", "a whole number")),
        ('[worker]\nbatch_ms = "9"\n', ("worker.batch_ms: '9'", "a whole number")),
        ("[worker]\nbatch = 9\n", ("worker.batch: unknown key", "allowed: group, prefix")),
        ("[wrker]\n", ("wrker: unknown key", "allowed: graph, broker, worker")),
        ("worker = 3\n", ("worker: 3 is no table", "allowed: [worker]")),
        ('[worker]\nagents = ["row"]\n', ("worker.agents: ['row']", "a list of rows")),
        ("[worker]\nagents = []\n", ("worker.agents: []", "a list of rows")),
        ('[worker]\nprefix = "a b"\n', ("worker.prefix: 'a b'", "letters, digits, . _ -")),
        ('[worker]\nhttp = "8077"\n', ("worker.http: '8077'", "host:port")),
        ('[broker]\nservers = "kafka"\n', ("broker.servers: 'kafka'", "host:port[,host:port...]")),
        ('[broker.options]\nacks = "1"\n', ("broker.options: 'acks' is set by the worker",)),
        ("[broker.options]\nx = []\n", ("broker.options: 'x' must be text",)),
        ('[graph]\nurl = "http://x"\n', ("graph.url: it has another form", "redis://...")),
        ("[graph]\ndata = 3\n", ("graph.data: 3", "a folder's path")),
        ("[graph\n", ("is not TOML in UTF-8", "line 1")),
        ("kinds = 3\n", ("kinds: 3 is not known", "[kinds.Name] tables")),
        ("sources = 3\n", ("sources: 3 is not a list of tables",)),
    ],
)
def test_a_mistake_names_file_key_and_what_is_allowed(
    text: str, told: tuple[str, ...], write: Write
) -> None:
    """A wrong file is told by its path, the key, what is wrong and what may stand there."""
    file = write(text)

    with pytest.raises(SettingsError) as caught:
        settings.load(file)

    assert str(caught.value).startswith(f"{file}: ")
    for words in told:
        assert words in str(caught.value)


def test_all_mistakes_are_told_at_once(write: Write) -> None:
    """Each wrong value of the sections has a line of its own."""
    file = write("[worker]\nbatch_ms = 0\nbatch_records = 0\n[topics]\npartitions = 0\n")

    with pytest.raises(SettingsError) as caught:
        settings.load(file)

    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("variable", "text", "told"),
    [
        (
            "LIGHTHOUSE_WORKER_BATCH_MS",
            "soon",
            "LIGHTHOUSE_WORKER_BATCH_MS: worker.batch_ms: 'soon'",
        ),
        ("LIGHTHOUSE_GRAPH_ALLOW_LOSS", "perhaps", "LIGHTHOUSE_GRAPH_ALLOW_LOSS: graph.allow_loss"),
        ("LIGHTHOUSE_WORKER_BATCH", "9", "LIGHTHOUSE_WORKER_BATCH: unknown variable"),
        # a table cannot be one variable
        ("LIGHTHOUSE_BROKER_OPTIONS", "{}", "LIGHTHOUSE_BROKER_OPTIONS: unknown variable"),
    ],
)
def test_a_mistake_in_a_variable_names_the_variable(
    variable: str, text: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong variable is named itself, not the file that it overrode."""
    monkeypatch.setenv(variable, text)

    with pytest.raises(SettingsError, match=f"^{told}"):
        settings.load()


def test_variables_of_other_makers_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name outside our sections, or that Kubernetes makes of a service's name, is not ours."""
    monkeypatch.setenv("LIGHTHOUSE_ELSEWHERE", "1")
    monkeypatch.setenv("LIGHTHOUSE_GRAPH_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("LIGHTHOUSE_GRAPH_PORT_6379_TCP", "tcp://10.0.0.1:6379")

    assert settings.load().graph.url == settings.EMBEDDED


def test_a_mistake_in_a_flag_names_the_command_line() -> None:
    """A wrong flag is told as one."""
    with pytest.raises(SettingsError, match=r"^the command line: worker\.batch_ms: 0"):
        settings.load(overrides={"worker.batch_ms": 0})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A named file must be there, and must be text."""
    broken = tmp_path / "broken.toml"
    broken.write_bytes(b"[graph]\nurl = '\xff'\n")

    with pytest.raises(SettingsError, match=r"missing\.toml: cannot be read"):
        settings.load(tmp_path / "missing.toml")
    with pytest.raises(SettingsError, match=r"broken\.toml: is not TOML in UTF-8"):
        settings.load(broken)


def test_secrets_are_not_shown(write: Write) -> None:
    """A password in the options or in a URL stands in no message and in no printed settings."""
    wrong_url = write('[graph]\nurl = "http://me:hunter2@x"\n')
    with pytest.raises(SettingsError) as caught:
        settings.load(wrong_url)
    told = settings.load(write('[broker.options]\n"sasl.password" = "hunter2"\n'))

    assert "hunter2" not in str(caught.value)
    assert told.broker.options == {"sasl.password": "hunter2"}
    assert "hunter2" not in repr(told)


def test_paths_of_home_are_opened() -> None:
    """A data folder given with ~ is the home folder's, and a relative one is made absolute."""
    at_home = settings.load(overrides={"graph.data": "~/x"})
    here = settings.load(overrides={"graph.data": "x"})

    assert at_home.graph.data == Path.home() / "x"
    assert here.graph.data == Path.cwd() / "x"


def test_settings_cannot_be_changed() -> None:
    """What was read stays as it was read."""
    told = settings.load()

    with pytest.raises(ValueError, match="frozen"):
        told.worker.batch_ms = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        told.file = Path()  # type: ignore[misc]
