"""Which graph a memory lives in: one shared world, and one graph for each tenant."""

import re
from typing import Any

#: The name of the shared graph.
WORLD = "world"

_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def world(db: Any) -> Any:
    """Give the shared graph of a `falkordb.FalkorDB` client; nothing is written."""
    return db.select_graph(WORLD)


def tenant(db: Any, tenant_id: str) -> Any:
    """Give the graph of one tenant, named `tenant:<tenant_id>`; nothing is written.

    Raises ValueError unless the id is 1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit.
    """
    if not isinstance(tenant_id, str) or not _TENANT.fullmatch(tenant_id):
        raise ValueError(
            "a tenant id is 1 to 63 of a-z 0-9 _ -, beginning with a letter or a digit"
        )
    return db.select_graph(f"tenant:{tenant_id}")
