"""Follows one gang on the screen: a line an event, and a moving line while something is on its way."""

from collections.abc import Iterator
from time import monotonic

from rich.live import Live
from rich.spinner import Spinner

from muster.api.capacity.v1.capacity_service_pb2 import WatchGangResponse
from muster.type.v1.gang_pb2 import GangState
from muster_cli.console import stdout
from muster_cli.live.gangs import ENDS, state_word, timeline_line

_MOVING = {
    GangState.GANG_STATE_RECEIVED: "waiting for the templates that the request names",
    GangState.GANG_STATE_PLANNING: "planning",
    GangState.GANG_STATE_WAITING: "waiting for capacity to become free",
    GangState.GANG_STATE_ORDERED: "nodes are ordered",
    GangState.GANG_STATE_ARRIVING: "nodes are on their way",
    GangState.GANG_STATE_VERIFYING: "checking what arrived",
    GangState.GANG_STATE_READY: "offered; waiting for the pods to be bound",
    GangState.GANG_STATE_COMPENSATING: "giving back what was taken",
}


def follow(events: Iterator[WatchGangResponse], *, until: frozenset[GangState.ValueType] = ENDS) -> GangState.ValueType:
    """Print events until the gang reaches one of `until` or an end; the state it is in then."""
    state = GangState.GANG_STATE_UNSPECIFIED
    began = monotonic()
    with Live(console=stdout, transient=True, refresh_per_second=8) as live:
        for event in events:
            state = event.state
            live.console.print(timeline_line(event), markup=False, soft_wrap=True)
            if state in until or state in ENDS:
                break
            live.update(Spinner("dots", f" {_MOVING.get(state, state_word(state))} ({monotonic() - began:.0f} s)"))
    return state
