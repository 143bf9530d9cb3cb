"""What every ClusterSource promises. A subclass gives a `world` that can be changed from outside."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from muster_cluster_watcher.domain.difference import decide, evolve
from muster_cluster_watcher.domain.facts import Changed, Fact, Issue, IssueId, Known
from muster_cluster_watcher.ports import ClusterSource, Shown
from muster_kube import object_key
from muster_types import ObjectKey

DEADLINE = 10.0
Json = dict[str, object]


def a_node(name: str, **spec: object) -> Json:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **({"spec": spec} if spec else {})}


NODE = ObjectKey("Node", "", "n1")


class World(Protocol):
    """A cluster that a source sees."""

    @property
    def source(self) -> ClusterSource: ...
    def put(self, obj: Mapping[str, object]) -> None: ...
    def remove(self, key: ObjectKey) -> None: ...
    def spoil(self, id: str) -> None: ...
    def mend(self, id: str) -> None: ...


@dataclass(slots=True)
class Watcher:
    """Somebody who watches: what a source has shown up to now, as the sum of its lists and changes."""

    lists: AsyncGenerator[Shown]
    facts: dict[ObjectKey, Fact] = field(default_factory=dict)
    issues: dict[IssueId, Issue] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    objects: int = 0

    async def next(self) -> None:
        """Take in what is shown next."""
        listed = (await anext(self.lists)).listed
        if isinstance(listed, Changed):
            assert not listed.facts.keys() & listed.gone
            self.facts |= listed.facts
            for key in listed.gone:
                self.facts.pop(key, None)
            self.objects = listed.objects
        else:
            self.facts = dict(listed.facts)
            self.objects = len(listed.facts)
        self.issues, self.kinds = dict(listed.issues), listed.kinds

    async def until(self, condition: Callable[["Watcher"], bool]) -> None:
        """Take in what is shown until it is as it should be."""
        while not condition(self):
            await self.next()


@asynccontextmanager
async def watching(source: ClusterSource, known: Known | None = None) -> AsyncGenerator[Watcher]:
    """A watcher that has seen the first list."""
    async with asyncio.timeout(DEADLINE), aclosing(source.watch(known or Known())) as lists:
        watcher = Watcher(lists)
        await watcher.next()
        yield watcher


class ClusterSourceContract:
    """Inherited by one test class for each source."""

    async def test_the_first_list_is_whole(self, world: World) -> None:
        world.put(a_node("n1"))
        world.put(a_node("n2"))
        async with watching(world.source) as seen:
            assert sorted(key.name for key in seen.facts) == ["n1", "n2"]
            assert {"Node", "Pod", "ResourceSlice"} <= seen.kinds

    async def test_a_change_an_addition_and_a_removal_are_shown(self, world: World) -> None:
        world.put(a_node("n1"))
        async with watching(world.source) as seen:
            before = seen.facts[NODE].digest
            world.put(a_node("n1", unschedulable=True))
            await seen.until(lambda now: now.facts[NODE].digest != before)
            assert b"unschedulable" in seen.facts[NODE].json
            world.put(a_node("n2"))
            await seen.until(lambda now: len(now.facts) == 2)
            assert seen.objects == 2
            world.remove(NODE)
            await seen.until(lambda now: NODE not in now.facts)
            assert seen.objects == 1

    async def test_equal_content_is_the_same_fact_whatever_its_version(self, world: World) -> None:
        uid = {"uid": "u1", "creationTimestamp": "2026-01-01T00:00:00Z"}
        world.put({**a_node("n1"), "metadata": {"name": "n1", "resourceVersion": "1", **uid}})
        async with watching(world.source) as seen:
            first = seen.facts[NODE].digest
        metadata = {"name": "n1", "resourceVersion": "2", "managedFields": [{}], **uid}
        world.put({**a_node("n1"), "metadata": metadata})
        async with watching(world.source) as seen:
            assert seen.facts[NODE].digest == first

    async def test_an_input_that_cannot_be_read_is_an_issue_until_it_is_mended(self, world: World) -> None:
        world.put(a_node("n1"))
        world.spoil("bad")
        async with watching(world.source) as seen:
            await seen.until(lambda now: bool(now.issues))
            assert NODE in seen.facts
            (issue,) = seen.issues.values()
            assert issue.source
            assert issue.reason
            world.mend("bad")
            await seen.until(lambda now: not now.issues)

    async def test_a_second_watch_begins_with_the_whole_list_again(self, world: World) -> None:
        world.put(a_node("n1"))
        async with watching(world.source) as seen:
            first = dict(seen.facts)
        async with watching(world.source) as seen:
            assert seen.facts == first
        assert object_key(a_node("n1")) in first

    async def test_what_was_known_and_is_no_longer_there_is_told_to_be_gone(self, world: World) -> None:
        world.put(a_node("n1"))
        world.put(a_node("n2"))
        known = Known()
        async with asyncio.timeout(DEADLINE), aclosing(world.source.watch(known)) as lists:
            for observation in decide((await anext(lists)).listed, known):
                evolve(known, observation)
        assert sorted(key.name for key in known.objects) == ["n1", "n2"]
        world.remove(NODE)
        async with asyncio.timeout(DEADLINE), aclosing(world.source.watch(known)) as lists:
            while NODE in known.objects:
                for observation in decide((await anext(lists)).listed, known):
                    evolve(known, observation)
        assert [key.name for key in known.objects] == ["n2"]
