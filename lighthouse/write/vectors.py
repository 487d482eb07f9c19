"""Which entities wait for a new vector: one whose text changes loses the vector that it has."""

from lighthouse.kinds import Kind
from lighthouse.write.columns import Columns


def seek_vector(kind: Kind, columns: Columns, carried: str) -> str:
    """Find the vector node `v` of `e`, and whether the row `r` brings another text, as `retold`.

    Before the entity is set. "" for a kind without vectors.
    """
    if not kind.dimensions:
        return ""
    differs = " OR ".join(
        f"coalesce(e.`{name}`, '') <> coalesce({columns.cell(name)}, '')" for name in kind.text
    )
    return (
        f" OPTIONAL MATCH (e)-[:EMBEDDED_AS]->(v:`{kind.label}Vector`)"
        f" WITH {carried}, v, ({differs}) AS retold"
    )


def take_vector(kind: Kind, columns: Columns, when: str = "true") -> str:
    """Take the vector away where the text is another one, and label the entities that wait.

    `when`: a condition of the row besides. "" for a kind without vectors.
    """
    if not kind.dimensions:
        return ""
    told = " OR ".join(f"coalesce({columns.cell(name)}, '') <> ''" for name in kind.text)
    return (
        f" FOREACH (x IN CASE WHEN {when} AND retold AND v IS NOT NULL THEN [v] ELSE [] END |"
        " SET x.vector = null)"
        f" FOREACH (_ IN CASE WHEN {when} AND retold AND ({told}) THEN [1] ELSE [] END |"
        f" SET e:`{kind.label}ToEmbed`)"
        f" FOREACH (_ IN CASE WHEN {when} AND retold AND NOT ({told}) THEN [1] ELSE [] END |"
        f" REMOVE e:`{kind.label}ToEmbed`)"
    )


def await_vector(kind: Kind, columns: Columns) -> str:
    """Label a new entity that has text. "" for a kind without vectors."""
    if not kind.dimensions:
        return ""
    told = " OR ".join(f"coalesce({columns.cell(name)}, '') <> ''" for name in kind.text)
    return f" FOREACH (_ IN CASE WHEN {told} THEN [1] ELSE [] END | SET e:`{kind.label}ToEmbed`)"
