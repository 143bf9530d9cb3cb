"""A node group: what it declares, and whether its template can be believed.

Each arrival of the group is judged once: the events TemplateTrusted and TemplateMistrusted name the node. A changed
template has been confirmed by no arrival yet, so the judgement starts anew with it.
"""

from dataclasses import dataclass, replace
from enum import Enum

from muster_decider import CorruptHistory, Decider
from muster_plan.shape import ShapeMismatch
from muster_types import NodeGroupName, NodeName


@dataclass(frozen=True, slots=True)
class Declaration:
    """A NodeGroup object as declared. `json` is its canonical JSON, `template` that of its node template.

    `vouched` is what its annotation `muster.dev/template-trusted` says: a person answers for the template.
    """

    name: NodeGroupName
    min_size: int
    max_size: int
    current_size: int
    price_per_node: float
    driver: str
    template: bytes
    json: bytes
    vouched: str = ""


_NOBODY = NodeName("")


class Trust(Enum):
    """What arrivals have shown about a template."""

    UNCONFIRMED = "unconfirmed"
    TRUSTED = "trusted"
    MISTRUSTED = "mistrusted"


@dataclass(frozen=True, slots=True)
class RecordNodeGroup:
    declaration: Declaration


@dataclass(frozen=True, slots=True)
class RecordNodeGroupGone:
    name: NodeGroupName


@dataclass(frozen=True, slots=True)
class RecordArrival:
    """An ordered node of the group arrived in this shape; no mismatch means as promised."""

    name: NodeGroupName
    node: NodeName
    mismatches: tuple[ShapeMismatch, ...]


NodeGroupCommand = RecordNodeGroup | RecordNodeGroupGone | RecordArrival


@dataclass(frozen=True, slots=True)
class NodeGroupDeclared:
    declaration: Declaration


@dataclass(frozen=True, slots=True)
class NodeGroupWithdrawn:
    name: NodeGroupName


@dataclass(frozen=True, slots=True)
class TemplateMistrusted:
    name: NodeGroupName
    node: NodeName
    mismatches: tuple[ShapeMismatch, ...]


@dataclass(frozen=True, slots=True)
class TemplateTrusted:
    """By an arrival in the promised shape, or by the word `vouched` of a person; `node` is empty then."""

    name: NodeGroupName
    node: NodeName
    vouched: str = ""


NodeGroupEvent = NodeGroupDeclared | NodeGroupWithdrawn | TemplateMistrusted | TemplateTrusted


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """`declaration` is None before the first declaration and after a withdrawal; `judged` are arrivals ever judged."""

    declaration: Declaration | None = None
    trust: Trust = Trust.UNCONFIRMED
    evidence: tuple[ShapeMismatch, ...] = ()
    judged: frozenset[NodeName] = frozenset()
    last_template: bytes | None = None
    last_vouched: str = ""


def decide(command: NodeGroupCommand, group: NodeGroup) -> list[NodeGroupEvent]:
    match command:
        case RecordNodeGroup(declaration) if declaration != group.declaration:
            return [NodeGroupDeclared(declaration), *_vouching(declaration, group)]
        case RecordNodeGroupGone(name) if group.declaration is not None:
            return [NodeGroupWithdrawn(name)]
        case RecordArrival(name, node, mismatches) if node not in group.judged and group.declaration is not None:
            return [TemplateMistrusted(name, node, mismatches) if mismatches else TemplateTrusted(name, node)]
        case _:
            return []  # repeated, or about a group that nobody declares


def evolve(group: NodeGroup, event: NodeGroupEvent) -> NodeGroup:
    match event:
        case NodeGroupDeclared(declaration):
            changed = declaration.template != group.last_template
            return replace(
                group,
                declaration=declaration,
                last_template=declaration.template,
                last_vouched=declaration.vouched,
                trust=Trust.UNCONFIRMED if changed else group.trust,
                evidence=() if changed else group.evidence,
            )
        case NodeGroupWithdrawn() if group.declaration is not None:
            return replace(group, declaration=None)
        case TemplateMistrusted(_, node, mismatches) if group.declaration is not None:
            return replace(group, trust=Trust.MISTRUSTED, evidence=mismatches, judged=group.judged | {node})
        case TemplateTrusted(_, node) if group.declaration is not None:
            judged = group.judged | {node} if node else group.judged
            return replace(group, trust=Trust.TRUSTED, evidence=(), judged=judged)
        case _:
            raise CorruptHistory(group, event)


def _vouching(declaration: Declaration, group: NodeGroup) -> list[NodeGroupEvent]:
    """A word that is new, or that is given for a changed template, counts; an old one does not outweigh an arrival."""
    fresh = (declaration.vouched, declaration.template) != (group.last_vouched, group.last_template)
    return [TemplateTrusted(declaration.name, _NOBODY, declaration.vouched)] if declaration.vouched and fresh else []


NODE_GROUP: Decider[NodeGroupCommand, NodeGroup, NodeGroupEvent] = Decider(NodeGroup(), decide, evolve)
