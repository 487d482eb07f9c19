"""What breaks the rules of the layout: imports, the way of data, sizes and names of modules."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import lighthouse

#: Lines of one module.
MOST_LINES = 400
#: Names that say nothing of what a module is for.
FORBIDDEN = frozenset(
    "util utils helper helpers common core base bases manager managers misc shared lib tools"
    " stuff".split()
)
#: What reaches beyond the process: the library is given its connection, its time and its texts.
OUTSIDE = frozenset(
    "os io pathlib shutil tempfile fileinput socket socketserver ssl select selectors asyncio"
    " subprocess multiprocessing urllib http ftplib smtplib sqlite3 dbm shelve configparser"
    " importlib pkgutil runpy ctypes webbrowser platform getpass signal".split()
)
#: Built-in functions that do the same, or run text as code.
OUTSIDE_CALLS = frozenset(
    {"open", "input", "print", "exec", "eval", "compile", "__import__", "breakpoint"}
)
#: What makes a connection.
CONNECTING = frozenset({"FalkorDB", "Redis", "from_url"})
#: What may be imported beside the standard library, and how deep.
CLIENT = {"falkordb": "falkordb", "redis": "redis.exceptions"}
#: The way of a record: a stage reaches only earlier ones, those of one line not each other.
STAGES = (
    {"errors"},
    {"events"},
    {"settings"},
    {"topics"},
    {"decode"},
    {"route"},
    {"batch"},
    {"write"},
    {"receipts", "dead_letters"},
    {"acknowledge"},
    {"chunks"},
    {"app"},
)
_CYPHER = re.compile(r"\b(MATCH|MERGE|CREATE|UNWIND|DETACH DELETE|RETURN)\b\s*[\[({$\w]")

Checker = Callable[[Path], list[str]]


def modules(package: Path) -> Iterator[tuple[str, ast.Module]]:
    """Each module of a package by its name in it, `a` or `a.b`, with its tree."""
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package).with_suffix("").parts)
        yield name.removesuffix(".__init__"), _parsed(path.read_text())


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def imports(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """Everything that a module imports, wherever in it: the module, and the name taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                ("." * node.level + (node.module or ""), alias.name) for alias in node.names
            )


def imported(package: Path) -> dict[str, set[str]]:
    """For each module of a package, the modules of that package that it imports."""
    trees = dict(modules(package))
    found: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for module, taken in imports(tree):
            whole = f"{module}.{taken}" if taken else module
            for wanted in (whole, module):
                own = wanted.removeprefix(f"{package.name}.")
                if wanted.startswith(f"{package.name}.") and own in trees:
                    found[name].add(own)
                    break
    return found


def reached(package: Path) -> dict[str, set[str]]:
    """For each module, all that it imports directly or through others of the package."""
    direct = imported(package)
    found = {}
    for name in direct:
        seen: set[str] = set()
        waiting = [*direct[name]]
        while waiting:
            other = waiting.pop()
            if other not in seen:
                seen.add(other)
                waiting += direct[other]
        found[name] = seen
    return found


# The rules: each gives what breaks it.


def foreign_imports(root: Path) -> list[str]:
    """The library imports the standard library, the client and the client's errors, and itself."""
    return [
        f"lighthouse.{name} imports {module}"
        for name, tree in modules(root / "lighthouse")
        for module, taken in imports(tree)
        if (top := module.partition(".")[0]) != "lighthouse"
        and top not in sys.stdlib_module_names
        and not f"{module}.{taken}.".startswith(f"{CLIENT.get(top, '?')}.")
    ]


def outside_of_the_library(root: Path) -> list[str]:
    """The library asks no environment, opens no file or connection, and runs no text as code."""
    found = []
    for name, tree in modules(root / "lighthouse"):
        found += [
            f"lighthouse.{name} imports {module}"
            for module, _ in imports(tree)
            if module.partition(".")[0] in OUTSIDE
        ]
        for node in ast.walk(tree):
            called = _called(node)
            by_name = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if called in CONNECTING or (by_name and called in OUTSIDE_CALLS):
                found.append(f"lighthouse.{name} calls {called}")
    return found


def private_uses(root: Path) -> list[str]:
    """The worker uses the public names of the library, and no module of it."""
    found = []
    for name, tree in modules(root / "streams"):
        for module, taken in imports(tree):
            if module.startswith("lighthouse.") or (
                module == "lighthouse" and taken and _hidden(taken)
            ):
                found.append(f"streams.{name} imports {taken or ''} from {module}")
        for node in ast.walk(tree):
            of_library = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "lighthouse"
            if of_library and _hidden(node.attr):
                found.append(f"streams.{name} uses lighthouse.{node.attr}")
    return found


def queries_of_the_worker(root: Path) -> list[str]:
    """The worker holds no Cypher and sends no query."""
    found = []
    for name, tree in modules(root / "streams"):
        prose = set(_docstrings(tree))
        for node in ast.walk(tree):
            if _called(node) in ("query", "ro_query"):
                found.append(f"streams.{name} sends a query")
            told = (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in prose
            )
            if told and _CYPHER.search(node.value):
                found.append(f"streams.{name} holds Cypher: {node.value[:60]!r}")
    return found


def readers_of_the_environment(root: Path) -> list[str]:
    """Only the settings read the environment."""
    found = []
    for name, tree in modules(root / "streams"):
        for node in ast.walk(tree):
            of_os = isinstance(node, ast.Attribute) and node.attr in (
                "environ",
                "getenv",
                "environb",
            )
            if of_os and name != "settings":
                found.append(f"streams.{name} uses os.{node.attr}")
        for module, taken in imports(tree):
            if module == "os" and taken in ("environ", "getenv", "environb") and name != "settings":
                found.append(f"streams.{name} imports {taken}")
    return found


def backward_imports(root: Path) -> list[str]:
    """A stage reaches only earlier stages, by whatever way."""
    rank = {name: place for place, names in enumerate(STAGES) for name in names}
    return [
        f"streams.{name} reaches {other}, which is no earlier stage"
        for name, others in reached(root / "streams").items()
        if name in rank
        for other in sorted((others & rank.keys()) - {name})
        if rank[other] >= rank[name]
    ]


def importers_of_the_app(root: Path) -> list[str]:
    """Nothing but the command line imports the app."""
    return [
        f"streams.{name} imports app"
        for name, others in imported(root / "streams").items()
        if "app" in others and not name.startswith("cli")
    ]


def users_of_faust(root: Path) -> list[str]:
    """Faust is imported by the chunk transport and the app only."""
    return [
        f"streams.{name} imports {module}"
        for name, tree in modules(root / "streams")
        for module, _ in imports(tree)
        if module.partition(".")[0] == "faust" and name not in ("chunks", "app")
    ]


def circles(root: Path) -> list[str]:
    """No module reaches itself."""
    return [
        f"{package}.{name} reaches itself"
        for package in ("lighthouse", "streams")
        for name, others in reached(root / package).items()
        if name in others
    ]


def upward_imports(root: Path) -> list[str]:
    """No package imports its tests."""
    return [
        f"{package}.{name} imports {module}"
        for package in ("lighthouse", "streams")
        for name, tree in modules(root / package)
        for module, _ in imports(tree)
        if module.partition(".")[0] == "tests"
    ]


def long_modules(root: Path) -> list[str]:
    """No module has more than 400 lines."""
    return [
        f"{path.relative_to(root)} has {lines} lines"
        for package in ("lighthouse", "streams")
        for path in sorted((root / package).rglob("*.py"))
        if (lines := len(path.read_text().splitlines())) > MOST_LINES
    ]


def empty_names(root: Path) -> list[str]:
    """No module or package has a name that fits any other as well."""
    return [
        str(path.relative_to(root))
        for package in ("lighthouse", "streams", "tests")
        for path in sorted((root / package).rglob("*"))
        if (path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py"))))
        and FORBIDDEN & set(path.stem.lower().removeprefix("test_").strip("_").split("_"))
    ]


def _called(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)


def _hidden(name: str) -> bool:
    return name not in lighthouse.__all__


def _docstrings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr):
                yield id(first.value)
