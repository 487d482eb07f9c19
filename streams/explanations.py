"""What does a refusal mean, and what can be done about it? In words for the person who has to."""

from dataclasses import dataclass

from streams.events import Outcome, Refusal


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a reason means, and what to do."""

    meaning: str
    advice: str


EXPLANATIONS = {
    "stale": Explanation(
        "the graph already holds another state of the entity for that time, with a first and a last"
        " sighting around it, so the place of this row in its history cannot be known",
        "nothing if the row is only late; the topic keeps it, and a replay from the topics rebuilds"
        " the history in order of time. If the time is wrong, send the row with the right one",
    ),
    "conflict": Explanation(
        "a row of the same entity and the very same time says something else, and it came first",
        "find out which of the two is right; if it is this one, send it again with a later time",
    ),
    "missing": Explanation(
        "the row names an entry as its evidence that is not in the graph",
        "see that the entry is recorded first, or leave the entry out, then send the row again",
    ),
    "invalid": Explanation(
        "the row holds something that the memory does not store: a name, a time, a value or a size",
        "change what the detail names, then send the row again",
    ),
    "failed": Explanation(
        "the database refused the row for what it holds, such as a value that a constraint forbids",
        "read the database's words in the detail; change the row or the constraint, send it again",
    ),
    "undecodable": Explanation(
        "the value or a header is not text in UTF-8, or the value is not JSON",
        "look at the bytes; mend the program that sends them",
    ),
    "schema": Explanation(
        "the value is JSON, but not of the shape that the topic's contract asks for",
        "compare it with the contract in schemas/, whose version error-contract names",
    ),
    "key": Explanation(
        "the Kafka key is not the one that keeps this record in order with others of its entity",
        "send it again under the key <Kind>/<key>",
    ),
    "unknown-kind": Explanation(
        "the settings declare no kind of that name",
        "declare it under [kinds] in lighthouse.toml, or correct the row, then send it again",
    ),
    "not-allowed": Explanation(
        "the source that the settings bind to the topic may not write this",
        "send it to a topic whose source may, or widen the source in lighthouse.toml",
    ),
    "too-large": Explanation(
        "the value has more bytes than a record may have",
        "send it in parts, or raise [topics] max_record_bytes and the topic's max.message.bytes",
    ),
    "tombstone": Explanation(
        "the record has no value, and deleting by tombstone is not a thing this topic does",
        'to say that nothing is true of the entity any more, send a full row with "values": null',
    ),
    "forgotten": Explanation(
        "the record speaks of someone who was to be forgotten",
        "nothing: it is refused for good",
    ),
}


def detail(answer: Outcome | Refusal) -> str:
    """Say why a record was refused: in the refuser's words, else what the reason means."""
    if isinstance(answer, Refusal):
        return answer.detail
    if answer.reason:
        return answer.reason
    explained = EXPLANATIONS.get(answer.status)
    if explained is None:
        return answer.status
    return f"{answer.kind} {answer.key!r} at {answer.t}: {explained.meaning}. {explained.advice}"
