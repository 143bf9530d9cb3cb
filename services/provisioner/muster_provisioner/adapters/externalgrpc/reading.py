"""What the externalgrpc protocol says, as values: instances, and a new node's template."""

from collections.abc import Mapping
from hashlib import sha256

from google.protobuf.message import DecodeError

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2 as pb
from clusterautoscaler.kubernetes.core.v1 import core_pb2
from muster_provisioner.adapters.externalgrpc.provider import is_quota
from muster_provisioner.domain.group import Failure, Instance, InstanceState
from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_types import NodeName

JsonObject = dict[str, object]
_State = pb.InstanceStatus.InstanceState
OUT_OF_RESOURCES = 1
_STATES: Mapping[int, InstanceState] = {
    _State.INSTANCE_STATE_CREATING: InstanceState.CREATING,
    _State.INSTANCE_STATE_DELETING: InstanceState.DELETING,
}


def to_instance(instance: pb.Instance, node: NodeName | None) -> Instance:
    """An instance; without a state it counts as running, without a known node it has no name yet. One with an error
    is not running, whatever its state says."""
    status = instance.status
    state = _STATES.get(status.instance_state, InstanceState.RUNNING)
    failure = None
    if status.instance_state and status.error_info.error_code:
        failure = to_failure(status.error_info)
        if state is InstanceState.RUNNING:
            state = InstanceState.CREATING
    return Instance(InstanceId(instance.id), node or NodeName(""), state, failure=failure)


def to_failure(error: pb.InstanceErrorInfo) -> Failure:
    """Error class 1 is a lack of resources, which quotas are too; its texts tell them apart."""
    text = f"{error.error_code}: {error.error_message}" if error.error_message else error.error_code
    kind = ShortfallClass.OTHER
    if is_quota(text):
        kind = ShortfallClass.QUOTA
    elif error.instance_error_class == OUT_OF_RESOURCES:
        kind = ShortfallClass.STOCKOUT
    return Failure(kind, text)


def to_template(node_bytes: bytes) -> JsonObject | None:
    """`spec.template` of a NodeGroup out of a serialised core/v1 Node; None for bytes that are none. It has no device
    slices: the protocol carries none."""
    node = core_pb2.Node()
    try:
        node.ParseFromString(node_bytes)
    except DecodeError:
        return None
    metadata: JsonObject = {"labels": dict(sorted(node.metadata.labels.items()))}
    if node.metadata.annotations:
        metadata["annotations"] = dict(sorted(node.metadata.annotations.items()))
    taints = [
        {"key": taint.key, "effect": taint.effect, **({"value": taint.value} if taint.value else {})}
        for taint in node.spec.taints
    ]
    status: JsonObject = {}
    for field, amounts in (("capacity", node.status.capacity), ("allocatable", node.status.allocatable)):
        if amounts:
            status[field] = {name: amount.string for name, amount in sorted(amounts.items())}
    return {"metadata": metadata, "spec": {"taints": taints} if taints else {}, "status": status}


def template_hash(node_bytes: bytes) -> str:
    """Names a template in the log, so that a provider that changed its mind is seen."""
    return sha256(node_bytes).hexdigest()[:16]
