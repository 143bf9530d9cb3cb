"""What the served cloud answers: groups and instances of the simulated cloud as messages of the protocol."""

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2 as pb
from clusterautoscaler.kubernetes.core.v1 import core_pb2
from muster_provisioner.domain.group import Failure, Instance, InstanceState
from muster_provisioner.domain.messages import ShortfallClass
from muster_provisioner.domain.offer import Offer
from muster_types import NodeGroupName, parse_quantity

_OUT_OF_RESOURCES, _OTHER = 1, 99
_CLASSES = {
    ShortfallClass.STOCKOUT: ("OUT_OF_STOCK", _OUT_OF_RESOURCES),
    ShortfallClass.QUOTA: ("QUOTA_EXCEEDED", _OUT_OF_RESOURCES),
    ShortfallClass.TIMEOUT: ("TIMED_OUT", _OTHER),
    ShortfallClass.OTHER: ("FAILED", _OTHER),
}
_State = pb.InstanceStatus.InstanceState
_STATES = {
    InstanceState.CREATING: _State.INSTANCE_STATE_CREATING,
    InstanceState.RUNNING: _State.INSTANCE_STATE_RUNNING,
    InstanceState.DELETING: _State.INSTANCE_STATE_DELETING,
}


def template_node(offer: Offer, group: NodeGroupName, cluster: str) -> core_pb2.Node:
    """A new node of a group as it would register, ready and empty (core/v1)."""
    name = f"{group}-template"
    return core_pb2.Node(
        metadata=core_pb2.ObjectMeta(
            name=name, labels={**offer.labels, "kubernetes.io/hostname": name}, annotations=offer.annotations
        ),
        spec=core_pb2.NodeSpec(
            provider_id=f"simulated://{cluster}/{group}/template",
            taints=[core_pb2.Taint(key=each.key, value=each.value, effect=each.effect) for each in offer.taints],
        ),
        status=core_pb2.NodeStatus(
            capacity={key: core_pb2.Quantity(string=amount) for key, amount in offer.capacity.items()},
            allocatable={key: core_pb2.Quantity(string=amount) for key, amount in offer.allocatable.items()},
            conditions=[core_pb2.NodeCondition(type="Ready", status="True", reason="KubeletReady")],
        ),
    )


def requests_of(pod: core_pb2.Pod) -> dict[str, int]:
    """What a pod asks of its node, in nano-units: containers together, or the largest of those that run before them.

    Raises InvalidQuantity.
    """
    asked: dict[str, int] = {}
    for container in pod.spec.containers:
        for resource, amount in container.resources.requests.items():
            asked[resource] = asked.get(resource, 0) + parse_quantity(amount.string)
    for container in pod.spec.init_containers:
        for resource, amount in container.resources.requests.items():
            asked[resource] = max(asked.get(resource, 0), parse_quantity(amount.string))
    for resource, amount in pod.spec.overhead.items():
        asked[resource] = asked.get(resource, 0) + parse_quantity(amount.string)
    return asked


def to_status(instance: Instance) -> pb.InstanceStatus:
    error = None if instance.failure is None else _error(instance.failure)
    return pb.InstanceStatus(instance_state=_STATES[instance.state], error_info=error)


def _error(failure: Failure) -> pb.InstanceErrorInfo:
    code, error_class = _CLASSES[failure.kind]
    return pb.InstanceErrorInfo(error_code=code, error_message=failure.message, instance_error_class=error_class)
