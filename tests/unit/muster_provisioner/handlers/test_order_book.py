from pathlib import Path

from muster_provisioner.handlers.order_book import OrderBook, replay
from muster_provisioner.handlers.order_json import export_orders, from_json, to_json
from muster_provisioner.wire.events import OrderWire
from muster_types import NodeName

from .world import CLUSTER, World, a_cancel, a_manifest, an_order, cause


async def a_busy_world(path: Path) -> World:
    """Orders in every kind of end."""
    world = World(path, manifest=a_manifest(script=[{"order": 1, "stockoutAfter": 1}]))
    process = await world.boot()
    short, filled = an_order(2, "a-1"), an_order(2, "b-1")
    await process.runner.place(short, cause("a"))
    await world.pass_time(process, 10)
    await process.runner.place(filled, cause("b"))
    await world.pass_time(process, 10)
    kept = NodeName(world.objects.names("Node")[-1])
    await process.runner.cancel(a_cancel(world, filled, kept), cause("c"))
    await world.pass_time(process, 10)
    return world


async def test_a_snapshot_restores_orders_and_trails_and_equal_books_give_equal_bytes(tmp_path: Path) -> None:
    book = (await (await a_busy_world(tmp_path)).boot()).book
    restored = OrderBook(OrderWire().from_wire)
    restored.restore(book.dump())
    assert restored.of_cluster(CLUSTER) == book.of_cluster(CLUSTER)
    assert [restored.trail(CLUSTER, order.terms.order) for order in book.of_cluster(CLUSTER)] == [
        book.trail(CLUSTER, order.terms.order) for order in book.of_cluster(CLUSTER)
    ]
    assert restored.dump() == book.dump()


async def test_the_trail_of_an_order_belongs_to_the_story_of_the_command_that_placed_it(tmp_path: Path) -> None:
    book = (await (await a_busy_world(tmp_path)).boot()).book
    trail = book.trail(CLUSTER, an_order(2, "a-1").order)
    assert trail is not None
    assert trail.correlation_id == "a"
    assert trail.id != "a"


async def test_an_export_does_not_depend_on_how_the_history_is_cut(tmp_path: Path) -> None:
    world = await a_busy_world(tmp_path)
    events = await world.events()
    whole = replay([events])
    assert whole == replay([event] for event in events)
    assert whole == export_orders((await world.boot()).book.of_cluster(CLUSTER))


async def test_an_order_survives_its_json_form(tmp_path: Path) -> None:
    for order in (await (await a_busy_world(tmp_path)).boot()).book.of_cluster(CLUSTER):
        assert from_json(to_json(order)) == order
