"""What a list tells beyond what is known."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from muster_cluster_watcher.domain.difference import decide, evolve
from muster_cluster_watcher.domain.facts import Digest, Fact, Issue, IssueId, Known, Listed, Origin, Synced, Told
from muster_cluster_watcher.domain.observations import (
    InputMended,
    InputRejected,
    ObjectObserved,
    ObjectRemoved,
    Observation,
    SyncCompleted,
)
from muster_types import ObjectKey

DUMP, NODES = Origin("directory"), Origin("nodes")
KINDS = frozenset(("Node", "Pod"))


def a_fact(name: str = "n1", content: bytes = b"1", kind: str = "Node", uid: str = "u1") -> Fact:
    return Fact(ObjectKey(kind, "", name), "v1", uid, "7", content, Digest(content))


def an_issue(id: str = "i1", **fields: str) -> Issue:
    return replace(Issue(IssueId(id), "a.yaml:3", "Node/n1", "spec", "malformed"), **fields)


def a_list(
    *facts: Fact, issues: tuple[Issue, ...] = (), origin: Origin = DUMP, kinds: frozenset[str] = KINDS
) -> Listed:
    return Listed(origin, kinds, {fact.key: fact for fact in facts}, {issue.id: issue for issue in issues})


def known_after(*observations: Observation) -> Known:
    known = Known()
    for observation in observations:
        evolve(known, observation)
    return known


def test_the_first_list_tells_everything_and_then_that_it_is_whole() -> None:
    second = a_fact("n2")
    assert decide(a_list(second, a_fact()), Known()) == [
        ObjectObserved(a_fact()),
        ObjectObserved(second),
        SyncCompleted(DUMP, 2, 0),
    ]


def test_an_empty_cluster_is_told_to_be_whole_too() -> None:
    assert decide(a_list(), Known()) == [SyncCompleted(DUMP, 0, 0)]


def test_a_list_that_is_known_tells_nothing() -> None:
    known = known_after(ObjectObserved(a_fact()), SyncCompleted(DUMP, 1, 0))
    assert decide(a_list(a_fact()), known) == []


def test_only_what_differs_is_told_after_a_restart() -> None:
    known = known_after(ObjectObserved(a_fact()), ObjectObserved(a_fact("n2")), SyncCompleted(DUMP, 2, 0))
    changed = a_fact("n2", b"2")
    assert decide(a_list(a_fact(), changed), known) == [ObjectObserved(changed)]


def test_what_vanished_while_nobody_looked_is_removed_with_the_uid_it_had() -> None:
    known = known_after(ObjectObserved(a_fact(uid="u9")), SyncCompleted(DUMP, 1, 0))
    assert decide(a_list(), known) == [ObjectRemoved(a_fact().key, "u9"), SyncCompleted(DUMP, 0, 0)]


def test_an_object_that_was_replaced_under_its_name_is_told_anew() -> None:
    known = known_after(ObjectObserved(a_fact(uid="u1")), SyncCompleted(DUMP, 1, 0))
    again = a_fact(uid="u2", content=b"u2")
    assert decide(a_list(again), known) == [ObjectObserved(again)]


def test_an_object_that_comes_back_is_told_anew() -> None:
    known = known_after(ObjectObserved(a_fact()), ObjectRemoved(a_fact().key, "u1"), SyncCompleted(DUMP, 1, 0))
    assert decide(a_list(a_fact()), known) == [ObjectObserved(a_fact())]


def test_a_list_of_one_kind_says_nothing_of_others() -> None:
    pod = a_fact("p", kind="Pod")
    known = known_after(ObjectObserved(pod), SyncCompleted(NODES, 0, 0))
    assert decide(a_list(origin=NODES, kinds=frozenset(("Node",))), known) == []


def test_an_issue_is_told_once_told_again_when_it_changes_and_mended_when_it_is_gone() -> None:
    rejected = InputRejected(DUMP, an_issue())
    assert decide(a_list(issues=(an_issue(),)), Known()) == [rejected, SyncCompleted(DUMP, 0, 1)]
    known = known_after(rejected, SyncCompleted(DUMP, 0, 1))
    assert decide(a_list(issues=(an_issue(),)), known) == []
    moved = an_issue(source="a.yaml:9")
    assert decide(a_list(issues=(moved,)), known) == [InputRejected(DUMP, moved)]
    assert decide(a_list(), known) == [InputMended(DUMP, an_issue()), SyncCompleted(DUMP, 0, 0)]


def test_an_origin_does_not_mend_the_issues_of_another() -> None:
    known = known_after(InputRejected(NODES, an_issue()), SyncCompleted(DUMP, 0, 0))
    assert decide(a_list(), known) == []


def test_a_refused_object_is_removed_after_its_refusal() -> None:
    known = known_after(ObjectObserved(a_fact()), SyncCompleted(DUMP, 1, 0))
    assert decide(a_list(issues=(an_issue(),)), known) == [
        InputRejected(DUMP, an_issue()),
        ObjectRemoved(a_fact().key, "u1"),
        SyncCompleted(DUMP, 0, 1),
    ]


def test_counts_that_changed_are_told_even_if_nothing_else_is() -> None:
    known = Known(syncs={DUMP: Synced(5, 0)})
    assert decide(a_list(), known) == [SyncCompleted(DUMP, 0, 0)]


FACTS = st.dictionaries(st.sampled_from(["n1", "n2", "n3", "n4"]), st.sampled_from([b"1", b"2"]), max_size=4).map(
    lambda found: [a_fact(name, content) for name, content in found.items()]
)
ISSUES = st.sets(st.sampled_from(["i1", "i2"])).map(lambda ids: tuple(an_issue(id) for id in sorted(ids)))
LISTS = st.lists(st.builds(lambda facts, issues: a_list(*facts, issues=issues), FACTS, ISSUES), max_size=6)


@given(LISTS)
def test_after_any_lists_what_is_known_is_the_last_list_and_telling_it_again_is_no_news(lists: list[Listed]) -> None:
    known = Known()
    for listed in lists:
        for observation in decide(listed, known):
            evolve(known, observation)
        assert known.objects == {key: Told(fact.uid, fact.digest) for key, fact in listed.facts.items()}
        assert _of(DUMP, known.issues) == listed.issues
        assert decide(listed, known) == []


@given(LISTS)
def test_the_order_in_which_a_list_comes_decides_nothing(lists: list[Listed]) -> None:
    for listed in lists:
        turned = replace(listed, facts=dict(reversed(list(listed.facts.items()))))
        assert decide(turned, Known()) == decide(listed, Known())


def _of(origin: Origin, issues: Mapping[tuple[Origin, IssueId], Issue]) -> dict[IssueId, Issue]:
    return {id: issue for (each, id), issue in issues.items() if each == origin}
