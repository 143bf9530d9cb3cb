"""What somebody should know about a request though it changes nothing of its way."""

from dataclasses import dataclass
from enum import Enum, unique

from muster_types import ObjectKey


@unique
class NoticeCode(Enum):
    """Named as the reason of a Kubernetes Event."""

    TEMPLATE_DRIFT = "TemplateDrift"
    PARAMETERS_CHANGED = "ParametersChanged"
    ORPHAN_CONSUMER = "OrphanConsumer"
    UNMARKED_CONSUMER = "UnmarkedConsumer"
    GANG_API_DISABLED = "GangApiDisabled"


@dataclass(frozen=True, slots=True, order=True)
class About:
    """The object that a notice stands at."""

    key: ObjectKey
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence that says what is and what to do."""

    code: NoticeCode
    about: About
    sentence: str


def template_drift(request: About, changed: ObjectKey) -> Notice:
    """T3: the plan keeps what was accepted."""
    sentence = (
        f"{changed.kind} {changed.namespace}/{changed.name} was changed after the request was accepted; the request "
        "keeps what was accepted: delete it and submit another to use the change"
    )
    return Notice(NoticeCode.TEMPLATE_DRIFT, request, sentence)


def parameters_changed(request: About) -> Notice:
    """T4: the API server does not refuse it."""
    sentence = (
        "spec.parameters were changed after the request was accepted, which has no effect: submit another request"
    )
    return Notice(NoticeCode.PARAMETERS_CHANGED, request, sentence)


def orphan_consumer(pod: About, request: str) -> Notice:
    """T34: the Cluster Autoscaler leaves such a pod alone for ever."""
    sentence = (
        f"the pod waits for capacity of ProvisioningRequest {pod.key.namespace}/{request}, which does not exist: no "
        "autoscaler will make room for it; create the request or take the annotation away"
    )
    return Notice(NoticeCode.ORPHAN_CONSUMER, pod, sentence)


def unmarked_consumer(pod: About, request: str) -> Notice:
    """T32, T35: an autoscaler would make room for it once more."""
    sentence = (
        f"the pod is like those of ProvisioningRequest {pod.key.namespace}/{request} and does not name it: write the "
        "annotation autoscaling.x-k8s.io/consume-provisioning-request on the pod template, not on the job, or an "
        "autoscaler scales for the pod as well"
    )
    return Notice(NoticeCode.UNMARKED_CONSUMER, pod, sentence)


def gang_api_disabled(pod: About, group: str) -> Notice:
    """T38: the API server drops the field where the feature gate is off."""
    sentence = (
        f"spec.schedulingGroup of the pod, PodGroup {group!r} in its template, is gone: the feature gate "
        "GenericWorkload is off, so the scheduler will not place the gang as one; Muster still offers its capacity all "
        "or nothing"
    )
    return Notice(NoticeCode.GANG_API_DISABLED, pod, sentence)


def group_without_pods(group: About) -> Notice:
    """N-3.2: with the gate off the group is there, and its pods do not name it."""
    sentence = (
        "the group asks for capacity and no pod names it: either its pods do not come, or the feature gate "
        "GenericWorkload is off and the API server drops spec.schedulingGroup of pods; switch it on, or use a "
        "ProvisioningRequest"
    )
    return Notice(NoticeCode.GANG_API_DISABLED, group, sentence)
