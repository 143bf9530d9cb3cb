import pytest

from muster.commands.claims.v1 import claims_pb2 as pb
from muster.events.observed.v1 import observed_pb2
from muster.type.v1.gang_pb2 import GangSpec
from muster.type.v1.plan_pb2 import ArrivedNode
from muster_claim_matcher.domain.wishes import Arrived, BookingAsked, ConfirmationAsked, ReleaseAsked, Wish
from muster_claim_matcher.wire.commands import from_command
from muster_eventstore import PermanentError
from muster_types import GangId, NodeGroupName, NodeName

GANG = GangId("llm-4f2a1c")
SPEC = GangSpec(namespace="team", name="llm", request_json=b'{"a": 1}', objects_json=[b'{"b": 2}'])
NODE = ArrivedNode(node="n", node_group="h100", order_id="o", ordinal=3)
ARRIVED = Arrived(NodeName("n"), NodeGroupName("h100"), 3)


def test_a_booking_is_asked_with_all_it_needs() -> None:
    asked = from_command(
        pb.BookGang(
            gang_id=GANG,
            attempt=2,
            spec=SPEC,
            excluded_node_groups=["a"],
            kept_nodes=[NODE],
            min_observed_sequence=9,
        )
    )
    wish = Wish("team", "llm", {"a": 1}, ({"b": 2},))
    assert asked == BookingAsked(GANG, 2, wish, (NodeGroupName("a"),), (ARRIVED,), 9)


def test_a_confirmation_and_a_release_are_asked() -> None:
    confirm = pb.ConfirmGang(gang_id=GANG, attempt=1, nodes=[NODE], min_observed_sequence=4)
    assert from_command(confirm) == ConfirmationAsked(GANG, 1, (ARRIVED,), 4)
    assert from_command(pb.ReleaseGang(gang_id=GANG, cause="expired")) == ReleaseAsked(GANG, "expired")
    assert from_command(pb.ReleaseGang(gang_id=GANG)) == ReleaseAsked(GANG, "unspecified")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (pb.ReleaseGang(), "gang_id: is required"),
        (pb.ConfirmGang(gang_id=GANG), "attempt: want at least 1, got 0"),
        (pb.BookGang(gang_id=GANG, attempt=1), "spec.request_json: no JSON"),
        (
            pb.BookGang(gang_id=GANG, attempt=1, spec=GangSpec(request_json=b"{}", objects_json=[b"{}", b"[]"])),
            r"spec.objects_json\[1\]: want a JSON object, got list",
        ),
        (observed_pb2.SyncCompleted(), "no command to this service"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_field(command: object, reason: str) -> None:
    with pytest.raises(PermanentError, match=reason):
        from_command(command)  # pyright: ignore[reportArgumentType] -- messages of several types
