from muster_audit import Cluster, Dump
from muster_audit.wording import asked_devices, counted, device_names, holders_text, listed, nodes_text
from muster_dra import parse_claim
from muster_types import DeviceId
from support.cluster_objects import GPU, a_claim, a_request


def test_lists_name_the_first_and_count_the_rest() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed("abcde") == "a, b, c and 2 more"
    assert (counted(1, "node"), counted(2, "node")) == ("1 node", "2 nodes")
    assert (nodes_text(["a"]), nodes_text(["a", "b", "c"])) == ("a", "a and 2 like it")
    assert device_names([DeviceId("d", "p", "x")]) == "x"


def test_holders_are_claims_with_their_pods_or_whatever_they_are_called() -> None:
    cluster = Cluster.from_dumps([Dump((a_claim("c", held=["x"], by="p"), a_claim("free", held=["y"])))])
    assert holders_text(["team-a/c", "team-a/free", "pending"], cluster) == (
        "claim team-a/c (pod p), claim team-a/free, pending"
    )


def test_devices_asked_for_are_counted_by_class() -> None:
    spec = parse_claim(a_claim("c", a_request("a", count=2), a_request("b"), a_request("n", "nic"))).spec
    assert asked_devices([spec]) == {GPU: 3, "nic": 1}
