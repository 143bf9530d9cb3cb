"""NodeClaims (karpenter.sh/v1) as the driver writes and reads them: rules N-6.1 to N-6.7 of the capacity notes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha1

from muster_kubeapi import Json, Resource
from muster_provisioner.adapters.karpenter.group_settings import KarpenterGroup
from muster_provisioner.adapters.kube_calls import Condition, at, conditions_of, moment, text, whole
from muster_provisioner.domain.messages import InstanceId
from muster_provisioner.ports import OrderTags
from muster_types import GangId, NodeGroupName, NodeName, OrderId

NODE_CLAIMS = Resource("karpenter.sh", "v1", "nodeclaims", "NodeClaim", namespaced=False)
GANG = "muster.dev/gang"
ORDER = "muster.dev/order"
NODE_GROUP = "muster.dev/node-group"
ORDINAL = "muster.dev/ordinal"
FINALIZER = "muster.dev/node-claim"
KARPENTER_FINALIZER = "karpenter.sh/termination"
# On the first claim of an order alone: how many claims the order has, for as long as not all of them were created.
CREATING = "muster.dev/creating"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
_LONGEST_PREFIX = 40  # with hash and ordinal the name stays a valid label value, which Karpenter makes of it


@dataclass(frozen=True, slots=True)
class Claim:
    """What the driver reads of a NodeClaim. `ours` says that our finalizer still holds it, so that nobody's deletion
    goes unseen; `creating` is the size of an order whose claims were not all created yet, 0 on any other claim."""

    name: InstanceId
    uid: str
    version: str
    order: OrderId | None
    gang: GangId
    ordinal: int
    creating: int
    deleting: bool
    ours: bool
    held_by_karpenter: bool
    node: NodeName
    created_at: datetime | None
    conditions: Mapping[str, Condition]
    body: Json

    @property
    def registered(self) -> bool:
        """Whether its node joined the cluster."""
        found = self.conditions.get("Registered")
        return found is not None and found.holds

    @property
    def initialized(self) -> bool:
        """Whether Karpenter calls its node usable."""
        found = self.conditions.get("Initialized")
        return found is not None and found.holds

    @property
    def failed(self) -> bool:
        """Deleted by somebody else before its node joined: for want of capacity, or of a ready node class (T40)."""
        return self.deleting and self.ours and not self.registered

    @property
    def counts(self) -> bool:
        """Whether it stands for a node of the group's size: also when it failed, until it is given up."""
        return not self.deleting or self.failed


def claim_name(group: NodeGroupName, order: OrderId, ordinal: int) -> InstanceId:
    """The same for the same order, attempt and ordinal: creating it twice creates it once (rule N-6.1)."""
    prefix = group[:_LONGEST_PREFIX].rstrip("-.").replace(".", "-")
    return InstanceId(f"{prefix}-{sha1(order.encode(), usedforsecurity=False).hexdigest()[:10]}-{ordinal}")


def new_claim(name: NodeGroupName, group: KarpenterGroup, tags: OrderTags, ordinal: int, creating: int) -> Json:
    """A claim of an order. Template labels are not copied: Karpenter stamps labels of the claim on the node whatever
    the machine is, and a rack that was only promised would read as one that was found."""
    driver = group.spec.driver
    annotations = {DO_NOT_DISRUPT: "true"}
    if creating:
        annotations[CREATING] = str(creating)
    # Not startupTaints: Karpenter does not call a node initialized while one of those stands (rule N-6.5, trap T42).
    reservation: Json = {"key": GANG, "value": tags.gang, "effect": "NoSchedule"}
    spec: dict[str, object] = {
        "nodeClassRef": driver.node_class_ref.model_dump(),
        "requirements": [
            {"key": each.key, "operator": each.operator, **({"values": list(each.values)} if each.values else {})}
            for each in group.requirements
        ],
        "taints": [*group.spec.template.spec.taints, reservation],
        "expireAfter": "Never",
    }
    if driver.requests:
        spec["resources"] = {"requests": dict(driver.requests)}
    if driver.termination_grace_period:
        spec["terminationGracePeriod"] = driver.termination_grace_period
    return {
        "metadata": {
            "name": claim_name(name, tags.order, ordinal),
            "labels": {
                **driver.labels,
                GANG: tags.gang,
                ORDER: tags.order,
                NODE_GROUP: name,
                ORDINAL: str(ordinal),
            },
            "annotations": annotations,
            "finalizers": [FINALIZER],
        },
        "spec": spec,
    }


def sibling(first: Claim, name: NodeGroupName, group: KarpenterGroup, ordinal: int) -> Json:
    """Another claim of an order, made after its first one: by whoever finds that not all were created. Labels that
    Karpenter wrote on the first one are not copied: they say what that machine is."""
    wanted = (GANG, ORDER, NODE_GROUP, *group.spec.driver.labels)
    has = at(first.body, "metadata", "labels")
    labels = {key: has[key] for key in wanted if key in has}
    metadata = {
        "name": claim_name(name, first.order or OrderId(""), ordinal),
        "labels": {**labels, ORDINAL: str(ordinal)},
        "annotations": {DO_NOT_DISRUPT: "true"},
        "finalizers": [FINALIZER],
    }
    return {"metadata": metadata, "spec": at(first.body, "spec")}


def read_claim(obj: Json) -> Claim:
    """A NodeClaim of one of our groups."""
    metadata, status = at(obj, "metadata"), at(obj, "status")
    labels = at(metadata, "labels")
    finalizers = metadata.get("finalizers")
    held = finalizers if isinstance(finalizers, list) else []
    order = text(labels.get(ORDER))
    return Claim(
        name=InstanceId(text(metadata.get("name"))),
        uid=text(metadata.get("uid")),
        version=text(metadata.get("resourceVersion")),
        order=OrderId(order) if order else None,
        gang=GangId(text(labels.get(GANG))),
        ordinal=whole(labels.get(ORDINAL)),
        creating=whole(at(metadata, "annotations").get(CREATING)),
        deleting=bool(metadata.get("deletionTimestamp")),
        ours=FINALIZER in held,
        held_by_karpenter=KARPENTER_FINALIZER in held,
        node=NodeName(text(status.get("nodeName"))),
        created_at=moment(metadata, "creationTimestamp"),
        conditions=conditions_of(obj),
        body=obj,
    )
