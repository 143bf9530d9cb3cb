"""The answer of each node to what waits for devices: yes with allocations, no with reasons, or fatal."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import NAMESPACE_URL, uuid5

from muster_cli.offline.allocate_subjects import Subject
from muster_dra import (
    Allocation,
    ClaimAllocation,
    DeviceClass,
    DeviceResult,
    Fatal,
    NodeError,
    NoFit,
    Reason,
    ResourceClaim,
    Treatment,
    allocate,
    classes_by_resource,
    extended_resource_claim,
    is_candidate,
    treatment,
)
from muster_plan import ClusterNode, Snapshot


class Word(StrEnum):
    YES = "yes"
    NO = "no"
    NODE_ERROR = "node_error"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """`why` are sentences, `reasons` the same for programs where the engine gave them."""

    node: str
    word: Word
    allocations: tuple[tuple[ResourceClaim, ClaimAllocation], ...] = ()
    why: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """About one subject. Without nodes it was refused before any node was looked at."""

    subject: Subject
    nodes: tuple[NodeAnswer, ...]

    @property
    def word(self) -> Word:
        """What the pod gets: fatal if one node ends the attempt, yes if some node can take it."""
        words = {node.word for node in self.nodes}
        return Word.FATAL if Word.FATAL in words else Word.YES if Word.YES in words else Word.NO


def answer(snapshot: Snapshot, subject: Subject, nodes: Sequence[ClusterNode]) -> Answer:
    """What each node says, as things stand: subjects do not compete with each other."""
    if subject.refusal:
        return Answer(subject, ())
    mapped = classes_by_resource(snapshot.tables.classes.values(), strict=snapshot.features.strict)
    return Answer(subject, tuple(_on_node(snapshot, subject, node, mapped) for node in nodes))


def _on_node(snapshot: Snapshot, subject: Subject, node: ClusterNode, mapped: dict[str, DeviceClass]) -> NodeAnswer:
    for claim in subject.held:
        where = claim.allocation.node_selector if claim.allocation is not None else None
        if where is not None and where.matches(node.node) is not True:
            return NodeAnswer(node.name, Word.NO, why=(f"claim {claim.full_name} has devices on other nodes",))
    served: dict[str, DeviceClass] = {}
    for resource in sorted({name for each in subject.containers for name, amount in each.requests.items() if amount}):
        if not is_candidate(resource):
            continue
        match treatment(resource in mapped, node.allocatable.get(resource)):
            case Treatment.DEVICES:
                served[resource] = mapped[resource]
            case Treatment.NO_FIT | Treatment.RESOURCE_FIT:
                text = f"the node has no {resource}, and no device class stands for it"
                return NodeAnswer(node.name, Word.NO, why=(text,))
            case Treatment.DEVICE_PLUGIN:
                pass
    claims = list(subject.claims)
    extended = extended_resource_claim(_namespace(subject), subject.containers, served) if served else None
    if extended is not None:
        claims.append(extended.claim)
    outcome = allocate(node.node, claims, snapshot.catalog, snapshot.held)
    match outcome:
        case Allocation(made):
            return NodeAnswer(node.name, Word.YES, tuple(zip(claims, made, strict=True)))
        case Fatal(_, message):
            return NodeAnswer(node.name, Word.FATAL, why=(message,))
        case NoFit() | NodeError():
            word = Word.NODE_ERROR if isinstance(outcome, NodeError) else Word.NO
            why = tuple(reason.sentence() for reason in outcome.reasons)
            return NodeAnswer(node.name, word, why=why, reasons=outcome.reasons)


def _namespace(subject: Subject) -> str:
    return subject.name.split("/")[1]


def devices_text(answer: NodeAnswer) -> str:
    """The devices of a yes, claim by claim: `claim: request=driver/pool/device`."""
    if not answer.allocations:
        return "nothing is left to allocate"
    return "; ".join(
        f"{claim.name}: {', '.join(map(_device, made.results)) or 'no devices'}" for claim, made in answer.allocations
    )


def _device(result: DeviceResult) -> str:
    text = f"{result.request}={result.device}"
    if result.share:
        taken = ", ".join(f"{name} {amount.text}" for name, amount in result.consumed.items())
        text += f" (a share{': ' + taken if taken else ''})"
    return text + (" (admin access)" if result.admin_access else "")


def answer_json(answer: Answer) -> dict[str, object]:
    """For programs; `allocation` is `status.allocation` as the scheduler writes it, with share ids made up."""
    subject = answer.subject
    found: dict[str, object] = {
        "subject": subject.name,
        "answer": answer.word.value,
        "claims": [claim.full_name for claim in subject.claims],
        "nodes": [_node_json(node) for node in answer.nodes],
    }
    if subject.held:
        found["allocated_already"] = [claim.full_name for claim in subject.held]
    if subject.refusal:
        found["refusal"] = subject.refusal
    if subject.notes:
        found["notes"] = list(subject.notes)
    return found


def _node_json(answer: NodeAnswer) -> dict[str, object]:
    found: dict[str, object] = {"node": answer.node, "answer": answer.word.value}
    if answer.word is Word.YES:
        found["claims"] = [
            {"name": claim.full_name, "allocation": made.to_json(_share_ids(claim, made))}
            for claim, made in answer.allocations
        ]
    if answer.why:
        found["why"] = list(answer.why)
    if answer.reasons:
        found["reasons"] = [reason.to_json() for reason in answer.reasons]
    return found


def _share_ids(claim: ResourceClaim, made: ClaimAllocation) -> list[str]:
    """The scheduler draws them; here they follow from claim and device, so that equal answers are equal."""
    return [
        str(uuid5(NAMESPACE_URL, f"muster.dev/{claim.full_name}/{position}/{result.device}"))
        for position, result in enumerate(made.results)
        if result.share
    ]
