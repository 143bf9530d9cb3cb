"""Plans as plain JSON, so that events and messages can carry them: from_json(to_json(plan)) == plan."""

from collections.abc import Mapping

from muster_plan.plan_types import (
    Alternative,
    ChosenDomain,
    ExistingNode,
    GroupOrder,
    Lost,
    NewNode,
    Pin,
    PinKind,
    Placement,
    Plan,
    PlannedClaim,
    PlannedDevice,
    Spare,
    Survival,
    Target,
)
from muster_plan.reading import Reader
from muster_types import DeviceId, GangId, NodeGroupName, NodeName, PodSetName, format_quantity

Object = dict[str, object]


def to_json(plan: Plan) -> Object:
    return {
        "gang": plan.gang,
        "placements": [placement_json(each) for each in plan.placements],
        "orders": [_order(each) for each in plan.orders],
        "cost": plan.cost,
        "newNodes": plan.new_nodes,
        "domains": [
            {"podSets": list(each.pod_sets), "key": each.key, "value": each.value, "known": each.known}
            for each in plan.domains
        ],
        "alternatives": [
            {
                "label": each.label,
                "orders": [_order(order) for order in each.orders],
                "cost": each.cost,
                "newNodes": each.new_nodes,
                "lost": each.lost.value,
                "why": each.why,
            }
            for each in plan.alternatives
        ],
        "bound": plan.bound,
        "optimal": plan.optimal,
        "spare": [
            {
                **target_json(each.target),
                "resources": {name: format_quantity(amount) for name, amount in each.resources},
                "devices": dict(each.devices),
            }
            for each in plan.spare
        ],
        "pins": [
            {
                "kind": each.kind.value,
                "podSet": each.pod_set,
                "index": each.index,
                **target_json(each.target),
                "position": each.position,
                "why": each.why,
            }
            for each in plan.pins
        ],
        "survival": plan.survival.value,
        "unplaced": [{"podSet": name, "index": index} for name, index in plan.unplaced],
        "assumptions": list(plan.assumptions),
    }


def placement_json(placement: Placement) -> Object:
    return {
        "podSet": placement.pod_set,
        "index": placement.index,
        **target_json(placement.target),
        "claims": [claim_json(claim) for claim in placement.claims],
    }


def target_json(target: Target) -> Object:
    match target:
        case ExistingNode(name):
            return {"node": name}
        case NewNode(group, ordinal):
            return {"group": group, "ordinal": ordinal}


def claim_json(claim: PlannedClaim) -> Object:
    json: Object = {"name": claim.name, "results": [_device(device) for device in claim.results]}
    if claim.shared:
        json["shared"] = claim.shared
    if claim.existing:
        json["existing"] = True
    return json


def _device(device: PlannedDevice) -> Object:
    json: Object = {
        "request": device.request,
        "driver": device.device.driver,
        "pool": device.device.pool,
        "device": device.device.device,
    }
    if device.admin_access:
        json["adminAccess"] = True
    if device.share:
        json["shared"] = True
        json["consumedCapacity"] = {name: f"{int(amount)}n" for name, amount in device.consumed}
    return json


def _order(order: GroupOrder) -> Object:
    return {"group": order.group, "count": order.count}


def from_json(body: Mapping[str, object]) -> Plan:
    """The plan that `to_json` wrote. Raises InvalidObject."""
    plan = Reader(body, "Plan", "", str(body.get("gang", "")))
    return Plan(
        gang=GangId(plan.text("gang", "")),
        placements=tuple(
            Placement(PodSetName(each.text("podSet")), each.count("index"), _target(each), _claims(each))
            for each in plan.each("placements")
        ),
        orders=_orders(plan),
        cost=plan.number("cost", 0),
        new_nodes=plan.count("newNodes", 0),
        domains=tuple(
            ChosenDomain(
                tuple(map(PodSetName, each.strings("podSets"))),
                each.text("key"),
                each.text("value", ""),
                each.flag("known"),
            )
            for each in plan.each("domains")
        ),
        alternatives=tuple(
            Alternative(
                each.text("label"),
                _orders(each),
                each.number("cost", 0),
                each.count("newNodes", 0),
                Lost(each.text("lost")),
                each.text("why", ""),
            )
            for each in plan.each("alternatives")
        ),
        bound=plan.number("bound", 0),
        optimal=plan.flag("optimal"),
        spare=tuple(_spare(each) for each in plan.each("spare")),
        pins=tuple(
            Pin(
                PinKind(each.text("kind")),
                PodSetName(each.text("podSet")),
                each.count("index"),
                _target(each),
                each.text("why", ""),
                each.count("position", 0),
            )
            for each in plan.each("pins")
        ),
        survival=Survival(plan.text("survival", Survival.UNKNOWN.value)),
        unplaced=tuple((PodSetName(each.text("podSet")), each.count("index")) for each in plan.each("unplaced")),
        assumptions=plan.strings("assumptions"),
    )


def _target(reader: Reader) -> Target:
    if reader.has("node"):
        return ExistingNode(NodeName(reader.text("node")))
    return NewNode(NodeGroupName(reader.text("group")), reader.count("ordinal"))


def _claims(reader: Reader) -> tuple[PlannedClaim, ...]:
    return tuple(
        PlannedClaim(each.text("name"), each.text("shared", ""), each.flag("existing"), _results(each))
        for each in reader.each("claims")
    )


def _results(reader: Reader) -> tuple[PlannedDevice, ...]:
    found: list[PlannedDevice] = []
    for each in reader.each("results"):
        consumed = tuple(sorted(each.quantities("consumedCapacity").items()))
        device = DeviceId(each.text("driver"), each.text("pool"), each.text("device"))
        found.append(
            PlannedDevice(each.text("request"), device, each.flag("adminAccess"), each.flag("shared"), consumed)
        )
    return tuple(found)


def _orders(reader: Reader) -> tuple[GroupOrder, ...]:
    return tuple(GroupOrder(NodeGroupName(each.text("group")), each.count("count")) for each in reader.each("orders"))


def _spare(reader: Reader) -> Spare:
    target = _target(reader)
    if not isinstance(target, NewNode):
        raise reader.fault("node", "only new nodes have spare capacity")
    devices = reader.at("devices")
    return Spare(
        target,
        tuple(sorted(reader.quantities("resources").items())),
        tuple(sorted((name, devices.count(name)) for name in devices.body)),
    )
