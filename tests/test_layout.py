"""How the code is laid out: each rule is kept, and a planted violation of it is found."""

from pathlib import Path

import pytest

from tests import layout
from tests.layout import Checker

ROOT = Path(__file__).parent.parent
#: Each rule with violations of it: a file, and what stands in it.
RULES: dict[Checker, list[tuple[str, str]]] = {
    layout.foreign_imports: [
        ("lighthouse/reading.py", "import orjson"),
        ("lighthouse/reading.py", "from redis import Redis"),
        ("lighthouse/reading.py", "import redis"),
        ("lighthouse/write/late.py", "def f():\n    import requests"),
        ("lighthouse/reading.py", "import streams.settings"),
        ("lighthouse/reading.py", "from falkordb_lite import x"),
    ],
    layout.outside_of_the_library: [
        ("lighthouse/reading.py", "import os"),
        ("lighthouse/reading.py", "from os import environ"),
        ("lighthouse/write/late.py", "from pathlib import Path"),
        ("lighthouse/reading.py", "import urllib.request"),
        ("lighthouse/reading.py", "def f(path):\n    return open(path).read()"),
        ("lighthouse/reading.py", "import falkordb\nDB = falkordb.FalkorDB()"),
        ("lighthouse/reading.py", "from falkordb import FalkorDB\nDB = FalkorDB.from_url('x')"),
        ("lighthouse/reading.py", "X = eval('1')"),
    ],
    layout.private_uses: [
        ("streams/heal.py", "from lighthouse.queries import ask"),
        ("streams/heal.py", "import lighthouse.values"),
        ("streams/heal.py", "from lighthouse import queries"),
        ("streams/heal.py", "import lighthouse\nlighthouse.clock.read('2026')"),
    ],
    layout.queries_of_the_worker: [
        ("streams/heal.py", "TEXT = 'MATCH (n) RETURN n'"),
        ("streams/heal.py", "def f(x):\n    return f'unwind', f'UNWIND $rows AS r {x}'"),
        ("streams/heal.py", "def f(graph, text):\n    return graph.ro_query(text)"),
    ],
    layout.readers_of_the_environment: [
        ("streams/heal.py", "import os\nX = os.environ.get('X')"),
        ("streams/heal.py", "import os\nX = os.getenv('X')"),
        ("streams/heal.py", "from os import environ"),
    ],
    layout.backward_imports: [
        ("streams/decode.py", "from streams import route"),
        ("streams/batch.py", "from streams.write import Writer"),
        ("streams/write.py", "def f():\n    from streams.acknowledge import Progress"),
        ("streams/receipts.py", "import streams.dead_letters"),
        ("streams/events.py", "from streams import settings"),
        ("streams/topics.py", "from streams import side"),
    ],
    layout.importers_of_the_app: [
        ("streams/status.py", "from streams import app"),
        ("streams/status.py", "from streams.app import run"),
    ],
    layout.users_of_faust: [
        ("streams/write.py", "import faust"),
        ("streams/write.py", "from faust.types import TP"),
    ],
    layout.circles: [
        ("streams/decode.py", "from streams import route"),
        ("streams/topics.py", "from streams import side"),
        ("lighthouse/values.py", "def f():\n    from lighthouse.write.late import x"),
    ],
    layout.upward_imports: [
        ("streams/demo.py", "from tests import servers"),
        ("lighthouse/reading.py", "import tests.oracle"),
    ],
    layout.long_modules: [
        ("lighthouse/write/late.py", "x = 1\n" * 401),
        ("streams/heal.py", "\n" * 401),
    ],
    layout.empty_names: [
        ("lighthouse/utils.py", ""),
        ("streams/graph_helpers.py", ""),
        ("streams/core/__init__.py", ""),
        ("tests/lighthouse/base.py", ""),
        ("lighthouse/_common.py", ""),
        ("streams/topic_manager.py", ""),
    ],
}
#: A small tree in which every rule is kept, and words of the rules stand where they may.
SOUND = {
    "lighthouse/__init__.py": "from lighthouse.values import x",
    "lighthouse/values.py": "import falkordb.graph\nfrom redis.exceptions import RedisError\nx = 1",
    "lighthouse/kinds.py": "from lighthouse import values\nfrom redis import exceptions",
    "lighthouse/reading.py": "import re\nOPENED = re.compile('open the os environment')",
    "lighthouse/write/__init__.py": "",
    "lighthouse/write/late.py": "from lighthouse.kinds import values\n" + "x = 1\n" * 399,
    "streams/__init__.py": "",
    "streams/errors.py": "",
    "streams/events.py": "from streams import errors\nfrom lighthouse import Kind",
    "streams/settings.py": "import os\nX = os.environ\nfrom streams import errors",
    "streams/topics.py": "from streams import settings",
    "streams/side.py": "from streams import route",
    "streams/decode.py": "from streams.events import Record",
    "streams/route.py": "from streams import decode, topics",
    "streams/batch.py": "from streams import route",
    "streams/write.py": "'''MATCH (n) stands in prose.'''\nimport lighthouse\nlighthouse.remember",
    "streams/receipts.py": "from streams import events",
    "streams/dead_letters.py": "from streams import events",
    "streams/acknowledge.py": "from streams import events",
    "streams/status.py": "RETURN = 'Return to sender, match, create or merge'",
    "streams/chunks.py": "import faust\nfrom streams import acknowledge",
    "streams/app.py": "from faust import App\nfrom streams import chunks, write",
    "streams/cli.py": "from streams import app",
    "tests/lighthouse/database.py": "",
}


@pytest.fixture(name="sound")
def _sound(tmp_path: Path) -> Path:
    for name, text in SOUND.items():
        _put(tmp_path, name, text)
    return tmp_path


def _put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_code_keeps_the_rule(rule: Checker) -> None:
    """Nothing in the repository breaks it."""
    assert rule(ROOT) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_sound_tree_breaks_no_rule(sound: Path, rule: Checker) -> None:
    """The twin of every planted violation."""
    assert rule(sound) == []


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        pytest.param(rule, name, text, id=f"{rule.__name__}-{number}")
        for rule, planted in RULES.items()
        for number, (name, text) in enumerate(planted)
    ],
)
def test_a_planted_violation_is_found(sound: Path, rule: Checker, name: str, text: str) -> None:
    """Each rule finds what breaks it, and says where."""
    _put(sound, name, text)

    found = rule(sound)

    assert found
    assert any(Path(name).stem in it or Path(name).parent.name in it for it in found)
