"""The documents of all services, read back as any tool would read them."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_cli.commands.asyncapi import Service, documents

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Told:
    """A message type that a service sends or receives, and on which subjects."""

    service: str
    action: str
    address: str
    type: str


def all_documents() -> Mapping[Service, Json]:
    """Every service's document."""
    return {service: draw() for service, draw in documents().items()}


def told(service: str, document: Json) -> set[Told]:
    """What the operations of a document say, followed through their references."""
    found: set[Told] = set()
    for operation in _items(document, "operations"):
        channel = resolved(document, operation["channel"])
        for message in operation["messages"]:
            name = resolved(document, resolved(document, message))["name"]
            found.add(Told(service, str(operation["action"]), str(channel["address"]), str(name)))
    return found


def resolved(document: Json, reference: object) -> Json:
    """What a `$ref` of a document points at. KeyError where that is nothing."""
    assert isinstance(reference, Mapping)
    path = str(reference["$ref"])
    assert path.startswith("#/"), path
    at: object = document
    for step in path.removeprefix("#/").split("/"):
        assert isinstance(at, Mapping)
        at = at[step]
    assert isinstance(at, Mapping)
    return at


def _items(document: Json, part: str) -> list[Json]:
    found = document[part]
    assert isinstance(found, Mapping)
    return list(found.values())
