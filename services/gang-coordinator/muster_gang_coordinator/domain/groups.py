"""PodGroups that ask for their capacity themselves, by the annotation `muster.dev/capacity: atomic`: each is served as
a ProvisioningRequest is, whose name follows from the group's."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from muster_types import ObjectKey

OPT_IN = ("muster.dev/capacity", "atomic")
# A pod that carries this scheduling gate waits until the capacity of its group is there.
GATE = "muster.dev/capacity"
_SUFFIX = ".podgroup"
_ATTEMPT = re.compile(r".+-[0-9a-f]{8}")  # no UID of a server: the last part of a UUID has twelve digits


@dataclass(frozen=True, slots=True)
class GroupAttempt:
    """One try for the pods that a group has: other pods, or another minimum, make another one."""

    request: ObjectKey
    uid: str
    request_id: str


def request_of_group(namespace: str, group: str) -> ObjectKey:
    """The request that stands for a group; the cluster has no such object."""
    return ObjectKey("ProvisioningRequest", namespace, f"{group}{_SUFFIX}")


def group_of_request(request: ObjectKey, uid: str) -> ObjectKey | None:
    """The inverse; None for a request that is one, whatever its name."""
    group = request.name.removesuffix(_SUFFIX)
    stands = group != request.name and _ATTEMPT.fullmatch(uid)
    return ObjectKey("PodGroup", request.namespace, group) if stands else None


def attempt_of(group: ObjectKey, uid: str, least: int, pod_uids: Iterable[str]) -> GroupAttempt:
    """The same for the same group with the same pods."""
    digest = sha256("/".join([str(least), *sorted(pod_uids)]).encode()).hexdigest()[:8]
    return GroupAttempt(request_of_group(group.namespace, group.name), f"{uid}-{digest}", f"podgroup/{uid}/{digest}")


def is_of_group(request_uid: str, group_uid: str) -> bool:
    """Whether a request stands for the group of that uid, and not for another one of its name."""
    return bool(group_uid) and request_uid.rpartition("-")[0] == group_uid
