"""From what is shown and what was told, the observations that are news."""

from collections.abc import Iterator

from muster_cluster_watcher.domain.facts import Changed, Known, Listed, Synced, Told
from muster_cluster_watcher.domain.observations import (
    InputMended,
    InputRejected,
    ObjectObserved,
    ObjectRemoved,
    Observation,
    SyncCompleted,
)
from muster_types import ObjectKey


def decide(listed: Listed | Changed, known: Known) -> list[Observation]:
    """What a list, or a change of one, tells beyond what is known; [] when it tells nothing. SyncCompleted stands last.

    Refusals come first: a reader that sees an object go learns before why.
    """
    news: list[Observation] = [*_issues(listed, known), *_objects(listed, known)]
    objects = listed.objects if isinstance(listed, Changed) else len(listed.facts)
    synced = Synced(objects, len(listed.issues))
    if known.syncs.get(listed.origin) != synced:
        news.append(SyncCompleted(listed.origin, synced.objects, synced.problems))
    return news


def _issues(listed: Listed | Changed, known: Known) -> Iterator[Observation]:
    for id in sorted(listed.issues):
        if known.issues.get((listed.origin, id)) != listed.issues[id]:
            yield InputRejected(listed.origin, listed.issues[id])
    for origin, id in sorted(known.issues):
        if origin == listed.origin and id not in listed.issues:
            yield InputMended(origin, known.issues[origin, id])


def _objects(listed: Listed | Changed, known: Known) -> Iterator[Observation]:
    for key in sorted(listed.facts):
        fact, told = listed.facts[key], known.objects.get(key)
        if told is None or told.digest != fact.digest:
            yield ObjectObserved(fact)
    for key in sorted(_gone(listed, known)):
        yield ObjectRemoved(key, known.objects[key].uid)


def _gone(listed: Listed | Changed, known: Known) -> list[ObjectKey]:
    if isinstance(listed, Changed):
        return [key for key in listed.gone if key in known.objects]
    return [key for key in known.objects if key.kind in listed.kinds and key not in listed.facts]


def evolve(known: Known, observation: Observation) -> None:
    """Take an observation that is on the stream into what is known."""
    match observation:
        case ObjectObserved(fact):
            known.objects[fact.key] = Told(fact.uid, fact.digest)
        case ObjectRemoved(key):
            known.objects.pop(key, None)
        case InputRejected(origin, issue):
            known.issues[origin, issue.id] = issue
        case InputMended(origin, issue):
            known.issues.pop((origin, issue.id), None)
        case SyncCompleted(origin, objects, problems):
            known.syncs[origin] = Synced(objects, problems)
