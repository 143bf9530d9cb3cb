from dataclasses import replace

import pytest

from muster_decider import CorruptHistory
from muster_decider.testing import given
from muster_inventory.domain.node_group import (
    NODE_GROUP,
    Declaration,
    NodeGroupDeclared,
    NodeGroupWithdrawn,
    RecordArrival,
    RecordNodeGroup,
    RecordNodeGroupGone,
    TemplateMistrusted,
    TemplateTrusted,
    Trust,
)
from muster_plan.shape import ShapeMismatch
from muster_types import NodeGroupName, NodeName

H100 = NodeGroupName("h100-r7")
FIRST, SECOND = NodeName("h100-r7-a-0"), NodeName("h100-r7-a-1")
DECLARATION = Declaration(H100, 0, 16, 2, 98.32, "simulated", b'{"resourceSlices":[]}', b"{}")
BIGGER = replace(DECLARATION, max_size=32)
OTHER_SHAPE = replace(DECLARATION, template=b'{"resourceSlices":[1]}')
MISSING = ShapeMismatch("C2", "8 devices", "7 devices", "gpu-7 is missing")


def test_a_group_is_declared_once() -> None:
    given(NODE_GROUP).when(RecordNodeGroup(DECLARATION)).then(NodeGroupDeclared(DECLARATION))
    given(NODE_GROUP, NodeGroupDeclared(DECLARATION)).when(RecordNodeGroup(DECLARATION)).then_nothing()


def test_changed_content_is_declared_again() -> None:
    given(NODE_GROUP, NodeGroupDeclared(DECLARATION)).when(RecordNodeGroup(BIGGER)).then(NodeGroupDeclared(BIGGER))


def test_a_group_that_is_gone_is_withdrawn_once() -> None:
    gone = RecordNodeGroupGone(H100)
    given(NODE_GROUP, NodeGroupDeclared(DECLARATION)).when(gone).then(NodeGroupWithdrawn(H100))
    given(NODE_GROUP, NodeGroupDeclared(DECLARATION), NodeGroupWithdrawn(H100)).when(gone).then_nothing()
    given(NODE_GROUP).when(gone).then_nothing()


def test_an_arrival_in_another_shape_mistrusts_the_template_with_its_evidence() -> None:
    decided = given(NODE_GROUP, NodeGroupDeclared(DECLARATION)).when(RecordArrival(H100, FIRST, (MISSING,)))
    decided.then(TemplateMistrusted(H100, FIRST, (MISSING,)))
    assert (decided.state.trust, decided.state.evidence) == (Trust.MISTRUSTED, (MISSING,))


def test_a_good_arrival_clears_a_mistrusted_template() -> None:
    decided = given(NODE_GROUP, NodeGroupDeclared(DECLARATION), TemplateMistrusted(H100, FIRST, (MISSING,))).when(
        RecordArrival(H100, SECOND, ())
    )
    decided.then(TemplateTrusted(H100, SECOND))
    assert (decided.state.trust, decided.state.evidence) == (Trust.TRUSTED, ())


def test_a_persons_word_trusts_the_template_without_an_arrival() -> None:
    vouched = replace(DECLARATION, vouched="measured in the lab")
    decided = given(NODE_GROUP).when(RecordNodeGroup(vouched))
    decided.then(NodeGroupDeclared(vouched), TemplateTrusted(H100, NodeName(""), "measured in the lab"))
    assert decided.state.trust is Trust.TRUSTED


def test_an_old_word_does_not_outweigh_a_wrong_arrival_and_a_new_one_does() -> None:
    vouched = replace(DECLARATION, vouched="measured in the lab")
    told = TemplateTrusted(H100, NodeName(""), "measured in the lab")
    story = given(NODE_GROUP, NodeGroupDeclared(vouched), told, TemplateMistrusted(H100, FIRST, (MISSING,)))
    bigger = replace(vouched, max_size=64)
    story.when(RecordNodeGroup(bigger)).then(NodeGroupDeclared(bigger))
    again = replace(vouched, vouched="seven is right, ann, 4 May")
    decided = story.when(RecordNodeGroup(again))
    decided.then(NodeGroupDeclared(again), TemplateTrusted(H100, NodeName(""), "seven is right, ann, 4 May"))


def test_a_word_for_whatever_the_template_says_holds_for_a_changed_one() -> None:
    vouched, other = replace(DECLARATION, vouched="true"), replace(OTHER_SHAPE, vouched="true")
    told = TemplateTrusted(H100, NodeName(""), "true")
    decided = given(NODE_GROUP, NodeGroupDeclared(vouched), told).when(RecordNodeGroup(other))
    decided.then(NodeGroupDeclared(other), TemplateTrusted(H100, NodeName(""), "true"))


def test_an_arrival_told_again_after_a_later_one_changes_nothing() -> None:
    given(
        NODE_GROUP,
        NodeGroupDeclared(DECLARATION),
        TemplateTrusted(H100, FIRST),
        TemplateMistrusted(H100, SECOND, (MISSING,)),
    ).when(RecordArrival(H100, FIRST, ())).then_nothing()


def test_an_arrival_of_a_group_that_nobody_declares_is_not_judged() -> None:
    given(NODE_GROUP).when(RecordArrival(H100, FIRST, (MISSING,))).then_nothing()


def test_a_new_template_has_been_confirmed_by_nobody() -> None:
    mistrusted = (NodeGroupDeclared(DECLARATION), TemplateMistrusted(H100, FIRST, (MISSING,)))
    assert NODE_GROUP.fold([*mistrusted, NodeGroupDeclared(OTHER_SHAPE)]).trust is Trust.UNCONFIRMED
    assert NODE_GROUP.fold([*mistrusted, NodeGroupDeclared(BIGGER)]).trust is Trust.MISTRUSTED


def test_withdrawing_and_declaring_the_same_template_keeps_the_mistrust() -> None:
    history = (
        NodeGroupDeclared(DECLARATION),
        TemplateMistrusted(H100, FIRST, (MISSING,)),
        NodeGroupWithdrawn(H100),
        NodeGroupDeclared(DECLARATION),
    )
    assert NODE_GROUP.fold(history).trust is Trust.MISTRUSTED


def test_a_history_that_no_decision_gives_is_corrupt() -> None:
    with pytest.raises(CorruptHistory):
        NODE_GROUP.fold([TemplateTrusted(H100, FIRST)])
