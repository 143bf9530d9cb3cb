"""Events as data for programs, and the texts in them."""

from muster.api.provisioner.v1 import provisioner_service_pb2 as provisioner_pb
from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1 import gangs_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster.type.v1 import gang_pb2, plan_pb2
from muster_cli.commands.status import order_word
from muster_cli.live.opened import texts_of, to_opened

REQUESTED = gangs_pb2.GangRequested(
    gang_id="g-1",
    spec=gang_pb2.GangSpec(
        name="g", request_json=b'{"kind":"ProvisioningRequest"}', objects_json=[b'{"a":1}', b"no json"]
    ),
)


def test_embedded_json_is_opened_at_any_depth_and_what_is_none_stays() -> None:
    spec = to_opened(REQUESTED)["spec"]
    assert isinstance(spec, dict)
    assert spec["request_json"] == {"kind": "ProvisioningRequest"}
    assert spec["objects_json"] == [{"a": 1}, "bm8ganNvbg=="]


def test_texts_are_found_at_any_depth_and_in_maps() -> None:
    ready = gangs_pb2.GangReadied(
        placements=[plan_pb2.Placement(pod_set="workers", node="n1")], details={"muster.dev/nodes": "n1,n2"}
    )
    assert set(texts_of(ready)) == {"workers", "n1", "muster.dev/nodes", "n1,n2"}
    assert list(texts_of(claims_pb2.GangReleased(gang_id="g-1", cause="consumed"))) == ["g-1", "consumed"]
    assert "x0" in set(texts_of(provisioning_pb2.OrderFilled(nodes=["x0", "x1"])))


def test_an_order_that_gave_back_a_part_keeps_its_word_in_the_status() -> None:
    view = provisioner_pb.OrderView
    cancelled = provisioner_pb.ORDER_STATE_CANCELLED
    stockout = gangs_pb2.SHORTFALL_CLASS_STOCKOUT
    assert order_word(view(state=cancelled)) == "CANCELLED"
    assert order_word(view(state=cancelled, nodes=["x0"], shortfall_class=stockout)) == "SHORT"
    assert order_word(view(state=cancelled, nodes=["x0"])) == "FILLED"
    assert order_word(view(state=provisioner_pb.ORDER_STATE_INTENDED)) == "INTENDED"
