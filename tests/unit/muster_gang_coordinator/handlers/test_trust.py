"""Which templates can be believed."""

from muster_gang_coordinator.domain.trust import Mistrusted, Unconfirmed
from muster_gang_coordinator.handlers.trust import TrustView
from muster_types import ClusterId, NodeGroupName, NodeName

HERE = ClusterId("local")
H100 = NodeGroupName("h100-r7")


def test_a_declared_group_is_unconfirmed_until_an_arrival_or_a_word() -> None:
    view = TrustView()
    view.declare(HERE, H100, b"{}", 4)
    assert view.trust_of(HERE).unconfirmed == (Unconfirmed(H100, 4),)
    view.trust(HERE, H100)
    assert view.trust_of(HERE).unconfirmed == ()


def test_a_wrong_arrival_is_kept_with_its_evidence_until_the_template_changes() -> None:
    view = TrustView()
    view.declare(HERE, H100, b"{}", 1)
    view.trust(HERE, H100)
    view.mistrust(HERE, H100, NodeName("x0"), "C5 other NUMA nodes")
    assert view.trust_of(HERE).mistrusted == (Mistrusted(H100, NodeName("x0"), "C5 other NUMA nodes"),)
    view.declare(HERE, H100, b"{}", 2)
    assert view.trust_of(HERE).mistrusted, "another size is no other template"
    view.declare(HERE, H100, b'{"a":1}', 1)
    assert view.trust_of(HERE).mistrusted == ()
    assert view.trust_of(HERE).unconfirmed == (Unconfirmed(H100),)


def test_t3_a_changed_template_takes_the_trust_away() -> None:
    view = TrustView()
    view.declare(HERE, H100, b"{}", 1)
    view.trust(HERE, H100)
    assert view.declare(HERE, H100, b'{"a":1}', 1)
    assert view.trust_of(HERE).unconfirmed == (Unconfirmed(H100),)


def test_groups_of_another_cluster_do_not_matter() -> None:
    view = TrustView()
    view.declare(ClusterId("far"), H100, b"{}", 1)
    assert view.trust_of(HERE).unconfirmed == ()
