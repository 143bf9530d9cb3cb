"""A gang for the eye: its state in a line, its orders and placements as tables, its events as a timeline."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from muster.api.capacity.v1.capacity_service_pb2 import GangView, WatchGangResponse
from muster.type.v1.gang_pb2 import GangState
from muster.type.v1.plan_pb2 import Placement, PlannedClaim
from muster_cli.console import print_table, stdout
from muster_cli.live.devices import devices_line

READY_STATES = frozenset({GangState.GANG_STATE_READY, GangState.GANG_STATE_CONSUMED})
BAD_ENDS = frozenset(
    {
        GangState.GANG_STATE_FAILED,
        GangState.GANG_STATE_CANCELLED,
        GangState.GANG_STATE_EXPIRED,
        GangState.GANG_STATE_REVOKED,
    }
)
ENDS = BAD_ENDS | {GangState.GANG_STATE_CONSUMED}


def state_word(state: GangState.ValueType) -> str:
    """READY instead of GANG_STATE_READY."""
    return GangState.Name(state).removeprefix("GANG_STATE_")


def to_document(message: Message) -> Mapping[str, object]:
    """A message as JSON-able data with the field names of the schema."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def print_gangs(gangs: Sequence[GangView]) -> None:
    """One row a gang."""
    print_table(
        ("GANG", "STATE", "PODS", "BOUND", "ATTEMPT", "NEW NODES", "COST", "MESSAGE"),
        [
            (
                gang.gang_id,
                state_word(gang.state),
                str(gang.pod_count),
                str(gang.bound_pods),
                str(gang.attempt),
                str(sum(len(order.nodes) for order in gang.orders if order.state != "cancelled")),
                f"{gang.cost:g}",
                gang.message,
            )
            for gang in gangs
        ],
        empty="no gang has been asked for; try `muster request examples/story-1`",
    )


def print_gang(gang: GangView) -> None:
    """Everything about one gang that fits a screen."""
    print_state(gang)
    if gang.placements:
        stdout.print()
        print_placements(gang.placements)
    for line in plan_lines(gang):
        stdout.print(line, markup=False, soft_wrap=True)


def plan_lines(gang: GangView) -> list[str]:
    """What the plan says beside its placements: pods without a place, what is assumed, what must be pinned."""
    lines: list[str] = []
    if gang.unplaced:
        left = ", ".join(f"{member.pod_set}-{member.index}" for member in gang.unplaced)
        lines.append(f"without a place, for they are beyond the minimum: {left}")
    lines += [f"to be verified on arrival: {assumption}" for assumption in gang.assumptions]
    if gang.pins:
        count = f"{len(gang.pins)} pods" if len(gang.pins) != 1 else "1 pod"
        pinned = gang.details.get("muster.dev/pins", f"{count}; how is told with the offer")
        lines.append(f"kube-scheduler must be told: {pinned}")
    return lines


def print_state(gang: GangView) -> None:
    """State, reasons and orders."""
    stdout.print(f"[bold]{gang.gang_id}[/]  {state_word(gang.state)}  {gang.message}", soft_wrap=True)
    for reason in gang.reasons:
        if reason.sentence not in gang.message:
            stdout.print(f"  because: {reason.sentence}", markup=False, soft_wrap=True)
    if gang.orders:
        stdout.print()
        print_table(
            ("ORDER", "NODE GROUP", "COUNT", "STATE", "NODES"),
            [(o.order_id, o.node_group, str(o.count), o.state, ", ".join(o.nodes)) for o in gang.orders],
            empty="",
        )


def print_placements(placements: Sequence[Placement]) -> None:
    """Pods, nodes and devices."""
    print_table(
        ("PLANNED MEMBER", "NODE", "DEVICES"),
        [(f"{p.pod_set}-{p.index}", target_name(p), planned_devices(p.claims)) for p in placements],
        empty="no member has a place",
    )


def target_name(placement: Placement) -> str:
    """The node, or the group and ordinal of a node that is still to come."""
    if placement.WhichOneof("target") == "new_node":
        return f"{placement.new_node.node_group} #{placement.new_node.ordinal} (new)"
    return placement.node


def planned_devices(claims: Sequence[PlannedClaim]) -> str:
    """Devices by driver, without the pool, which a node's drivers share."""
    by_driver: dict[str, list[str]] = {}
    for claim in claims:
        for result in claim.results:
            by_driver.setdefault(result.device.driver, []).append(result.device.device)
    return devices_line(by_driver)


def timeline_line(event: WatchGangResponse) -> str:
    """One event: time, state after it, sentence."""
    when = local_time(event.time.ToDatetime(UTC), "%H:%M:%S.%f") if event.HasField("time") else " " * 12
    return f"{when}  {state_word(event.state):<12}  {event.sentence}"


def history_line(event: WatchGangResponse, cause: str) -> str:
    """One event with its day, its place in the stream, and the event of another service that it follows from."""
    when = local_time(event.time.ToDatetime(UTC), "%m-%d %H:%M:%S.%f") if event.HasField("time") else " " * 18
    because = f"  [because of {cause}]" if cause else ""
    return f"{when}  {state_word(event.state):<12}  {event.sentence}{because}"


def local_time(time: datetime, form: str = "%m-%d %H:%M:%S.%f") -> str:
    """In the caller's time zone, with milliseconds where the form ends in %f."""
    text = time.astimezone().strftime(form)
    return text[:-3] if form.endswith("%f") else text
