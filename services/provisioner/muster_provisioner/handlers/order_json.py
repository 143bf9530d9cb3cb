"""Orders as canonical JSON: equal orders give equal bytes; what snapshots and exports are made of."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import cast

import orjson

from muster_provisioner.domain.messages import Baseline, InstanceId, OrderTerms, ShortfallClass
from muster_provisioner.domain.order import Launched, Order, Shortfall, Stage
from muster_types import GangId, NodeGroupName, NodeName, OrderId

Json = Mapping[str, object]


def export_orders(orders: Iterable[Order]) -> bytes:
    """`{"orders": {<order id>: …}}` with sorted keys; no time of reading and no stream sequence in it."""
    body = {"orders": {order.terms.order: to_json(order) for order in orders}}
    return orjson.dumps(body, option=orjson.OPT_SORT_KEYS)


def to_json(order: Order) -> dict[str, object]:
    """One order; times as ISO 8601."""
    terms, short = order.terms, order.shortfall
    return {
        "order": terms.order,
        "gang": terms.gang,
        "node_group": terms.group,
        "count": terms.count,
        "first_ordinal": terms.first_ordinal,
        "baseline": {"target": order.baseline.target, "instances": list(order.baseline.instances)},
        "stage": order.stage.value,
        "acknowledged": order.acknowledged,
        "intended_at": order.intended_at.isoformat(),
        "progressed_at": order.progressed_at.isoformat(),
        "closed_at": None if order.closed_at is None else order.closed_at.isoformat(),
        "launched": [[each.instance, each.node, each.ordinal] for each in order.launched],
        "served": list(order.served),
        "kept": sorted(order.kept),
        "shortfall": None if short is None else [short.kind.value, short.message, short.missing],
    }


def from_json(body: Json) -> Order:
    """The inverse of `to_json`; what it did not write raises KeyError, TypeError or ValueError."""
    baseline = cast("Json", body["baseline"])
    short = cast("tuple[str, str, int] | None", body["shortfall"])
    return Order(
        terms=OrderTerms(
            OrderId(str(body["order"])),
            GangId(str(body["gang"])),
            NodeGroupName(str(body["node_group"])),
            int(str(body["count"])),
            int(str(body["first_ordinal"])),
        ),
        baseline=Baseline(
            int(str(baseline["target"])), tuple(InstanceId(each) for each in cast("list[str]", baseline["instances"]))
        ),
        stage=Stage(body["stage"]),
        intended_at=datetime.fromisoformat(str(body["intended_at"])),
        progressed_at=datetime.fromisoformat(str(body["progressed_at"])),
        acknowledged=body["acknowledged"] is True,
        launched=tuple(
            Launched(InstanceId(instance), NodeName(node), ordinal)
            for instance, node, ordinal in cast("list[tuple[str, str, int]]", body["launched"])
        ),
        served=tuple(NodeName(each) for each in cast("list[str]", body["served"])),
        kept=frozenset(NodeName(each) for each in cast("list[str]", body["kept"])),
        shortfall=None if short is None else Shortfall(ShortfallClass(short[0]), short[1], short[2]),
        closed_at=None if body["closed_at"] is None else datetime.fromisoformat(str(body["closed_at"])),
    )
