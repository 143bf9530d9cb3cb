"""What our nodes and their pods carry (the contract between the services)."""

GANG = "muster.dev/gang"
ORDER = "muster.dev/order"
NODE_GROUP = "muster.dev/node-group"
RESERVATION = "muster.dev/gang"
"""Key of the taint that keeps everybody but its gang from a node; its value is the gang's id."""

CONSUME = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)
"""Annotations by which a pod says whose capacity it uses, newest first (group-capacity §1.10)."""


def order_prefix(gang: str, attempt: int) -> str:
    """How the ids of all orders of one attempt of a gang begin."""
    return f"{gang}-a{attempt}-"
