"""What is kept of a write that did not happen: one WriteFailure node for each sort of refusal."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lighthouse import clock
from lighthouse.queries import tell
from lighthouse.values import Key, check_name, is_key, is_name

#: Characters that a WriteFailure keeps of the detail.
LONGEST_DETAIL = 2_000
#: WriteFailures of one database write.
_MOST = 200

_KEEP = """
UNWIND $rows AS r
MERGE (f:WriteFailure {same: r[0]})
ON CREATE SET f.reason = r[1], f.kind = r[2], f.key = r[3], f.detail = r[4], f.owner = r[5],
  f.at = localdatetime($now), f.`at:us` = $us, f.times = 0,
  f.first_t = localdatetime(r[7]), f.`first_t:us` = r[8]
SET f.times = f.times + r[6], f.last_at = localdatetime($now), f.`last_at:us` = $us,
  f.last_t = coalesce(localdatetime(r[9]), f.last_t), f.`last_t:us` = coalesce(r[10], f.`last_t:us`)
"""


@dataclass(slots=True)
class Failure:
    """A refusal to keep. `t`: the row's time in microseconds, where it had one."""

    reason: str
    kind: str | None = None
    key: Key | None = None
    detail: str | None = None
    owner: str | None = None
    t: int | None = None

    @property
    def same(self) -> str:
        """The SHA-256 by which the same refusal is found again."""
        text = json.dumps([self.reason, self.kind, self.key, self.detail, self.owner])
        return hashlib.sha256(text.encode()).hexdigest()


def record_failure(
    graph: Any,
    reason: str,
    kind: str | None = None,
    key: Key | None = None,
    detail: object = None,
    owner: str | None = None,
) -> None:
    """Keep a write of the application's own that did not happen.

    `kind` and `owner` are kept when they are names, `key` when it is a key; of `detail` the text, cut
    to 2,000 characters. The same five again only raise `times` and `last_at`.
    Raises ValueError when `reason` is not a name, and Unavailable.
    """
    failure = Failure(
        check_name(reason, "reason"),
        kind if is_name(kind) else None,
        key if is_key(key) else None,
        None if detail is None else _said(detail),
        owner if is_name(owner) else None,
    )
    keep_failures(graph, [failure])


def keep_failures(graph: Any, failures: Iterable[Failure]) -> None:
    """Keep refusals; equal ones are counted together, with their first and last `t` in order."""
    rows: dict[str, list] = {}
    for failure in failures:
        failure.detail = None if failure.detail is None else safe_text(failure.detail)
        first = None if failure.t is None else clock.seconds(failure.t)
        row = rows.setdefault(
            failure.same,
            [failure.same, failure.reason, failure.kind, failure.key, failure.detail, failure.owner, 0,
             first, failure.t, None, None],
        )  # fmt: skip
        row[6] += 1
        row[9:] = [first, failure.t]
    kept = list(rows.values())
    for start in range(0, len(kept), _MOST):
        us = clock.present()
        tell(
            graph, _KEEP, {"rows": kept[start : start + _MOST], "now": clock.seconds(us), "us": us}
        )


def _said(detail: object) -> str:
    """Give the text of anything, also of what is too deep or too large to be written."""
    try:
        return str(detail)
    except Exception as error:  # noqa: BLE001 - a caller's own class may raise anything
        return f"a {type(detail).__name__} that cannot be written: {type(error).__name__}"


def safe_text(detail: str) -> str:
    """Cut a text to what is kept, with NUL and lone surrogates written out."""
    text = detail[:LONGEST_DETAIL].replace("\0", "\\x00")
    return text.encode("utf-8", "backslashreplace").decode()[:LONGEST_DETAIL]
