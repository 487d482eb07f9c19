"""A temporal graph memory on FalkorDB: what is true about entities, as versions with validity windows."""

from lighthouse.clock import now, stamp
from lighthouse.digest import digest
from lighthouse.errors import LighthouseError, SchemaMissing, Unavailable
from lighthouse.failures import record_failure
from lighthouse.graphs import WORLD, tenant, world
from lighthouse.kinds import SELF, Kind
from lighthouse.read import as_of, history, related
from lighthouse.schema import ensure_schema
from lighthouse.write.remember import remember, update, update_many

__all__ = [
    "SELF",
    "WORLD",
    "Kind",
    "LighthouseError",
    "SchemaMissing",
    "Unavailable",
    "as_of",
    "digest",
    "ensure_schema",
    "history",
    "now",
    "record_failure",
    "related",
    "remember",
    "stamp",
    "tenant",
    "update",
    "update_many",
    "world",
]
