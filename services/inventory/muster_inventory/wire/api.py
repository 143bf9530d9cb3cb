"""Answers of the gRPC service: views -> protobuf."""

from muster.api.inventory.v1 import inventory_service_pb2 as api
from muster.events.observed.v1 import observed_pb2
from muster.type.v1 import plan_pb2
from muster_inventory.domain.node import Unready
from muster_inventory.domain.node_group import Trust
from muster_inventory.domain.pool import Pool
from muster_inventory.domain.seen import Problem, Severity
from muster_inventory.domain.views import DeviceView, NodeGroupView, NodeView
from muster_inventory.wire.events import to_flaw, to_pool_state

_TO_SEVERITY = {Severity.ERROR: observed_pb2.SEVERITY_ERROR, Severity.WARNING: observed_pb2.SEVERITY_WARNING}


def to_node(view: NodeView) -> api.NodeView:
    match view.readiness:
        case Unready(reason):
            ready = False
        case _:
            ready, reason = True, ""
    return api.NodeView(
        name=view.name,
        node_group=view.group or "",
        ready=ready,
        reason=reason,
        labels=dict(view.labels),
        device_count=view.device_count,
        gang_id="" if view.purpose is None else view.purpose.gang,
        order_id="" if view.purpose is None else view.purpose.order,
    )


def to_pool(pool: Pool) -> api.PoolView:
    return api.PoolView(
        driver=pool.id.driver,
        pool=pool.id.name,
        node=pool.node or "",
        state=to_pool_state(pool.state),
        generation=pool.generation,
        device_count=pool.device_count,
        reason=to_flaw(pool.flaw),
    )


def to_device(view: DeviceView) -> api.DeviceView:
    device = view.device
    return api.DeviceView(
        device=plan_pb2.DeviceRef(driver=device.driver, pool=device.pool, device=device.device),
        node=view.node or "",
        held_by=", ".join(view.held_by),
        attributes=dict(view.attributes),
    )


def to_node_group(view: NodeGroupView) -> api.NodeGroupView:
    declared = view.declaration
    return api.NodeGroupView(
        name=declared.name,
        min_size=declared.min_size,
        max_size=declared.max_size,
        current_size=declared.current_size,
        price_per_node=declared.price_per_node,
        driver=declared.driver,
        template_trusted=view.trust is not Trust.MISTRUSTED,
        device_count_per_node=view.devices_per_node,
        registered_nodes=view.registered_nodes,
    )


def to_problem(problem: Problem) -> api.ProblemView:
    return api.ProblemView(
        source=problem.source,
        object=problem.object,
        field=problem.field,
        reason=problem.reason,
        severity=_TO_SEVERITY[problem.severity],
    )
