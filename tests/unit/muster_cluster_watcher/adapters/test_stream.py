"""The stream `observed`: what is known after a restart, ids, foreign messages."""

from contract.cluster_source.fake import a_fact
from contract.cluster_source.suite import a_node
from muster_cluster_watcher.adapters.stream import StoredObservations
from muster_cluster_watcher.domain.facts import Issue, IssueId, Origin, Synced
from muster_cluster_watcher.domain.observations import (
    InputMended,
    InputRejected,
    ObjectObserved,
    ObjectRemoved,
    SyncCompleted,
)
from muster_eventstore import EventMeta, MemoryServer, MemoryStore, from_headers
from muster_servicekit.clock import FakeClock
from muster_types import ClusterId

LOCAL, OTHER = ClusterId("local"), ClusterId("other")
DUMP = Origin("directory")
ISSUE = Issue(IssueId("i1"), "a.yaml:3", "", "", "malformed")
SUBJECT = "muster.observed.local.Node.%-.n1"


def _store() -> MemoryStore:
    return MemoryStore(MemoryServer(FakeClock().now))


def _stream(store: MemoryStore) -> StoredObservations:
    return StoredObservations(store, FakeClock())


async def _last_id(store: MemoryStore) -> str:
    message = await store.last(SUBJECT)
    assert message is not None
    meta = from_headers(message.headers)
    assert isinstance(meta, EventMeta)
    return meta.id


async def test_what_was_published_is_known_after_a_restart() -> None:
    store = _store()
    first, second = a_fact(a_node("n1")), a_fact(a_node("n2"))
    await _stream(store).publish(
        LOCAL,
        [
            InputRejected(DUMP, ISSUE),
            ObjectObserved(first),
            ObjectObserved(second),
            ObjectRemoved(second.key, ""),
            SyncCompleted(DUMP, 1, 1),
        ],
    )
    known = await _stream(store).known(LOCAL)
    assert {key: told.digest for key, told in known.objects.items()} == {first.key: first.digest}
    assert known.issues == {(DUMP, ISSUE.id): ISSUE}
    assert known.syncs == {DUMP: Synced(1, 1)}


async def test_a_mended_issue_is_not_known_any_more() -> None:
    store = _store()
    await _stream(store).publish(LOCAL, [InputRejected(DUMP, ISSUE), InputMended(DUMP, ISSUE)])
    assert (await _stream(store).known(LOCAL)).issues == {}


async def test_clusters_are_known_apart() -> None:
    store = _store()
    await _stream(store).publish(OTHER, [ObjectObserved(a_fact(a_node("n1")))])
    assert (await _stream(store).known(LOCAL)).objects == {}


async def test_an_object_that_goes_back_to_an_earlier_form_is_told_under_a_new_id() -> None:
    store = _store()
    stream = _stream(store)
    ids: list[str] = []
    for unschedulable in (True, False, True):
        await stream.publish(LOCAL, [ObjectObserved(a_fact(a_node("n1", unschedulable=unschedulable)))])
        ids.append(await _last_id(store))
    assert len(set(ids)) == 3


async def test_the_ids_are_the_same_whether_or_not_the_watcher_was_restarted() -> None:
    async def history(restarts: bool) -> list[str]:
        store, ids = _store(), list[str]()
        stream = _stream(store)
        for name in ("a", "b", "a"):
            if restarts:
                stream = _stream(store)
                await stream.known(LOCAL)
            await stream.publish(LOCAL, [ObjectObserved(a_fact(a_node("n1", podCIDR=name)))])
            ids.append(await _last_id(store))
        return ids

    assert await history(restarts=True) == await history(restarts=False)


async def test_garbage_on_the_stream_is_passed_over_and_its_object_is_told_again() -> None:
    store = _store()
    stream = _stream(store)
    await stream.publish(LOCAL, [ObjectObserved(a_fact(a_node("n1"))), ObjectObserved(a_fact(a_node("n2")))])
    meta = from_headers((await store.last(SUBJECT)).headers)  # type: ignore[union-attr]
    assert isinstance(meta, EventMeta)
    await store.publish(SUBJECT, b"\xff\xff", EventMeta("g", meta.type, "/x", "x", meta.time, "g", "g"))
    known = await _stream(store).known(LOCAL)
    assert [key.name for key in known.objects] == ["n2"]


async def test_nothing_to_publish_touches_nothing() -> None:
    store = _store()
    await _stream(store).publish(LOCAL, [])
    assert (await store.state("observed")).last_sequence == 0
