"""A gang that waits for another: one holds the only machine that would do, the other gets it when the first lets go."""

from pathlib import Path

from muster.events.gangs.v1 import gangs_pb2
from muster.type.v1.gang_pb2 import GangState
from muster_eventstore import EventStore
from support import stories
from support.nats_server import wait_until
from support.processes import DEADLINE, SCHEDULER, MusterProcesses
from support.recorded import Moment, all_handled, of_type, wait_moment

WAITING = Moment("WAITING", "gangs", "GangWaits")
HELD_NODE = "h100-b-1"


def story_on_one_machine(folder: Path) -> Path:
    """Story 1 for a single pod that runs nowhere but on a machine whose free devices story 1 takes."""
    folder.mkdir()
    for file in stories.STORY_1.iterdir():
        (folder / file.name).write_text(file.read_text().replace("finetune-70b", "patient-70b"))
    request, template = folder / "provisioningrequest.yaml", folder / "podtemplate.yaml"
    request.write_text(request.read_text().replace("count: 4", "count: 1"))
    pinned = f"  spec:\n    nodeSelector: {{kubernetes.io/hostname: {HELD_NODE}}}\n"
    template.write_text(template.read_text().replace("  spec:\n", pinned, 1))
    return folder


async def ask_behind_another(muster: MusterProcesses, store: EventStore, folder: Path) -> str:
    """The first gang is offered and not bound, for nobody binds; the second is asked for. The second one's id."""
    muster.services[SCHEDULER].stop()
    stories.request(muster)
    await wait_moment(store, Moment("the first gang is offered", "gangs", "GangReadied"))
    return stories.request(muster, story_on_one_machine(folder))


async def let_the_first_go(muster: MusterProcesses, store: EventStore, _: str) -> None:
    """The first gang is cancelled, and somebody binds pods again."""
    waiting = await wait_moment(store, WAITING)
    (first,) = [
        event.gang_id
        for event in await of_type(store, "gangs", gangs_pb2.GangRequested)
        if not waiting.subject.endswith(event.gang_id)
    ]
    stories.cancel(muster, first)
    muster.services[SCHEDULER].start()


async def wait_both(store: EventStore) -> None:
    """Until the second gang is consumed, the first has ended, and both bookings are released."""
    await wait_moment(store, stories.CONSUMED)
    await wait_moment(store, stories.ENDED)

    async def released() -> bool:
        return len(await of_type(store, "gangs", gangs_pb2.BookingReleaseRecorded)) == 2

    await wait_until(released, "both bookings are released", DEADLINE)
    await wait_until(lambda: all_handled(store), "no command is left", DEADLINE)


async def check_both(muster: MusterProcesses, store: EventStore, gang: str) -> None:
    """The second gang runs where it had to, and of the first nothing is left."""
    view = stories.gang_view(muster, gang, (await store.state("gangs")).last_sequence)
    assert view.state == GangState.GANG_STATE_CONSUMED, view
    assert ([placement.node for placement in view.placements], list(view.orders)) == ([HELD_NODE], [])
    (first,) = {event.gang_id for event in await of_type(store, "gangs", gangs_pb2.GangRequested)} - {gang}
    assert stories.gang_view(muster, first).state == GangState.GANG_STATE_CANCELLED
    assert stories.nodes_of(stories.objects(muster), first) == []
    assert stories.Cloud.read(muster.state).machines == {}
    await stories.check_nothing_left(muster, store)
