"""Which recorded event made a gang decide: causes are derived ids, so they can be found again."""

from collections.abc import Mapping

from muster_cli.live.journal import Entry, entries, recorded
from muster_eventstore import EventStore, derived_id, event_subject

_FACTS = ("claims", "provisioning", "inventory")


async def causes_of(store: EventStore, cluster: str, gang: str) -> Mapping[int, str]:
    """For each sequence of a gang's events what of another service it follows from, as `provisioning/12 OrderShort`;
    nothing for a cause that is a request, a timer or the cluster itself."""
    facts: dict[str, Entry] = {}
    for stream in _FACTS:
        async for message in recorded(store, stream):
            for index, entry in enumerate(entries(message)):
                facts[derived_id(entry.id, "fact", index)] = entry
    subject = event_subject("gangs", cluster, "gang", gang)
    found: dict[int, str] = {}
    async for message in recorded(store, "gangs"):
        for entry in entries(message) if message.subject == subject else ():
            fact = facts.get(entry.causation_id)
            if fact is not None:
                found[message.sequence] = f"{fact.stream}/{fact.sequence} {fact.type}"
    return found
