"""Decisions over an in-memory store: twice, late, out of order, interrupted."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.events.inventory.v1 import inventory_pb2
from muster_eventstore import Codec, CommandHandler, Decoded, MemoryServer, MemoryStore, event_filter
from muster_eventstore.memory import Lost, Step
from muster_inventory.domain.node import NODE, Node, NodeCommand, NodeEvent
from muster_inventory.domain.node_group import NODE_GROUP, NodeGroup, NodeGroupCommand, NodeGroupEvent
from muster_inventory.domain.pool import POOL, Pool, PoolCommand, PoolEvent
from muster_inventory.domain.seen import ListCompleted, ObjectGone, ObjectSeen, Origin
from muster_inventory.handlers.export import export_state
from muster_inventory.handlers.settle import Settler
from muster_inventory.handlers.world import World
from muster_inventory.wire.events import NodeGroupWire, NodeWire, PoolWire
from muster_inventory.wire.objects import read_object
from muster_types import ClusterId, ObjectKey

HERE = ClusterId("local")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CODEC = Codec.of_modules(inventory_pb2)
GPU = "gpu.example.com"
Json = dict[str, object]


@dataclass
class Inventory:
    """The deciding half of the service on a store."""

    store: MemoryStore
    world: World
    nodes: CommandHandler[NodeCommand, Node | None, NodeEvent]
    groups: CommandHandler[NodeGroupCommand, NodeGroup, NodeGroupEvent]
    pools: CommandHandler[PoolCommand, Pool | None, PoolEvent]
    facts: int = 0

    def see(self, key: ObjectKey, obj: Json | None) -> None:
        self.facts += 1
        origin = Origin(f"fact-{self.facts}", "story", NOON + timedelta(seconds=self.facts))
        seen = None if obj is None else read_object(key, orjson.dumps(obj))
        fact = ObjectGone(key) if seen is None else ObjectSeen(key, seen)
        self.world.apply(HERE, [fact], origin)

    async def settle(self) -> None:
        await Settler(self.world, self.nodes, self.groups, self.pools).settle()

    def export(self) -> bytes:
        return export_state(HERE, self.nodes.states(), self.groups.states(), self.pools.states())


async def start(server: MemoryServer, store: MemoryStore | None = None) -> Inventory:
    store = store or MemoryStore(server)

    def now() -> datetime:
        return NOON

    nodes = CommandHandler(store, CODEC, NODE, NodeWire(), stream="inventory", source="/test", now=now)
    groups = CommandHandler(store, CODEC, NODE_GROUP, NodeGroupWire(), stream="inventory", source="/test", now=now)
    pools = CommandHandler(store, CODEC, POOL, PoolWire(), stream="inventory", source="/test", now=now)
    for handler, kind in ((nodes, "node"), (groups, "nodegroup"), (pools, "pool")):
        await handler.load([event_filter("inventory", kind=kind)])
    inventory = Inventory(store, World(), nodes, groups, pools)
    inventory.world.apply(HERE, [ListCompleted("dump")], Origin("list", "story", NOON))
    return inventory


async def types(store: MemoryStore) -> Counter[str]:
    """How often each type of event was recorded."""
    found: Counter[str] = Counter()
    async for chunk in store.read("inventory"):
        for message in chunk.messages:
            decoded = CODEC.decode(message.headers, message.data)
            assert isinstance(decoded, Decoded)
            found.update(type(event).__name__ for event in decoded.batch.events)
        if chunk.pending == 0:
            return found
    return found


def server() -> MemoryServer:
    return MemoryServer(lambda: NOON)


GROUP = ObjectKey("NodeGroup", "", "h100")
NODE_KEY = ObjectKey("Node", "", "n-0")
SLICES = [ObjectKey("ResourceSlice", "", f"s-{index}") for index in range(2)]


def a_group() -> Json:
    devices = [{"name": f"gpu-{index}"} for index in range(2)]
    slices = [{"driver": GPU, "pool": {"name": "p", "resourceSliceCount": 1}, "devices": devices}]
    return {"metadata": {"name": "h100"}, "spec": {"maxSize": 4, "template": {"resourceSlices": slices}}}


def a_node(*, ready: bool = True) -> Json:
    labels = {
        "muster.dev/gang": "g",
        "muster.dev/order": "g-a1-0",
        "muster.dev/node-group": "h100",
        "muster.dev/ordinal": "0",
    }
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {"metadata": {"name": "n-0", "labels": labels}, "status": {"conditions": conditions}}


def a_slice(index: int) -> Json:
    pool = {"name": "n-0", "generation": 1, "resourceSliceCount": 2}
    return {
        "metadata": {"name": f"s-{index}"},
        "spec": {"driver": GPU, "nodeName": "n-0", "pool": pool, "devices": [{"name": f"gpu-{index}"}]},
    }


FACTS: list[tuple[ObjectKey, Json]] = [
    (NODE_KEY, a_node()),
    (SLICES[0], a_slice(0)),
    (SLICES[1], a_slice(1)),
    (GROUP, a_group()),
]


@settings(max_examples=60, deadline=None)
@given(st.permutations([0, 1, 2, 0, 1, 2, 3]), st.lists(st.booleans(), min_size=7, max_size=7), st.integers(0, 7))
def test_the_order_and_the_number_of_facts_do_not_matter(order: list[int], pauses: list[bool], crash: int) -> None:
    async def run() -> tuple[bytes, Counter[str]]:
        memory = server()
        inventory = await start(memory)
        inventory.see(GROUP, a_group())
        for place, (index, pause) in enumerate(zip(order, pauses, strict=True)):
            if place == crash:  # a new process sees the newest fact of each object again
                shown = [inventory.world.cluster(HERE)]
                inventory = await start(memory)
                inventory.see(GROUP, a_group())
                for known in sorted({index for index in order[:place] if index != 3}):
                    inventory.see(*FACTS[known])
                assert shown
            inventory.see(*FACTS[index])
            if pause:
                await inventory.settle()
        await inventory.settle()
        return inventory.export(), await types(inventory.store)

    async def straight() -> bytes:
        inventory = await start(server())
        for fact in (FACTS[3], *FACTS[:3]):
            inventory.see(*fact)
        await inventory.settle()
        return inventory.export()

    exported, found = asyncio.run(run())
    assert exported == asyncio.run(straight())
    assert found["NodeArrived"] == 1
    assert found["TemplateTrusted"] == 1
    assert found["NodeRegistered"] == 1


async def test_a_decision_that_the_store_did_not_answer_is_made_once_all_the_same() -> None:
    memory, lost = server(), 0

    async def lose_answers(step: Step, subject: str) -> None:
        nonlocal lost
        await asyncio.sleep(0)
        if step is Step.AFTER_APPEND and lost < 3:
            lost += 1
            raise Lost

    inventory = await start(memory, MemoryStore(memory, lose_answers))
    for fact in (FACTS[3], *FACTS[:3]):
        inventory.see(*fact)
    await inventory.settle()
    assert lost == 3
    found = await types(MemoryStore(memory))
    assert (found["NodeArrived"], found["TemplateTrusted"]) == (1, 1)


async def test_a_crash_between_the_arrival_and_its_judgement_loses_no_judgement() -> None:
    class Crash(Exception):
        pass

    memory = server()

    async def crash_at_judgement(step: Step, subject: str) -> None:
        await asyncio.sleep(0)
        if step is Step.BEFORE_APPEND and subject.endswith("nodegroup.h100") and memory_has_arrival:
            raise Crash

    memory_has_arrival = False
    inventory = await start(memory, MemoryStore(memory, crash_at_judgement))
    inventory.see(*FACTS[3])
    await inventory.settle()
    memory_has_arrival = True
    for fact in FACTS[:3]:
        inventory.see(*fact)
    try:
        await inventory.settle()
    except Crash:
        crashed = True
    else:
        crashed = False
    assert crashed
    assert (await types(MemoryStore(memory)))["TemplateTrusted"] == 0
    again = await start(memory)
    for fact in (FACTS[3], *FACTS[:3]):
        again.see(*fact)
    await again.settle()
    found = await types(again.store)
    assert (found["NodeArrived"], found["TemplateTrusted"]) == (1, 1)


async def test_what_is_gone_is_told_also_when_nobody_saw_it_go() -> None:
    memory = server()
    inventory = await start(memory)
    for fact in (FACTS[3], *FACTS[:3]):
        inventory.see(*fact)
    await inventory.settle()
    again = await start(memory)
    again.see(*FACTS[3])
    settler = Settler(again.world, again.nodes, again.groups, again.pools)
    await settler.reconcile(HERE, Origin("start", "start", NOON))
    found = await types(again.store)
    assert (found["NodeGone"], found["PoolGone"], found["NodeGroupWithdrawn"]) == (1, 1, 0)
    assert orjson.loads(again.export())["nodes"] == {}


async def test_nothing_is_decided_for_a_cluster_whose_list_is_not_whole() -> None:
    inventory = await start(server())
    inventory.world = World()
    inventory.see(*FACTS[0])
    await inventory.settle()
    assert await types(inventory.store) == Counter()
