from muster_audit.parts import items, key_of, mapping, part, parts, text, texts, whole
from muster_types import ObjectKey


def test_what_is_absent_or_of_another_type_reads_as_empty() -> None:
    odd = {"a": [1], "b": {"c": "x"}, "d": "text", "e": True}
    assert (mapping(odd["a"]), items(odd["b"]), text(odd["a"]), whole(odd["e"], 7)) == ({}, (), "", 7)
    assert part(odd, "b") == {"c": "x"}
    assert part(odd, "d", "c") == {}
    assert parts(odd, "a") == [{}]
    assert texts({"l": {"x": "y", "n": 1}}, "l") == {"x": "y"}
    assert whole(3) == 3


def test_a_key_names_the_default_namespace_for_namespaced_kinds_alone() -> None:
    assert key_of({"kind": "Pod", "metadata": {"name": "p"}}) == ObjectKey("Pod", "default", "p")
    assert key_of({"kind": "Node", "metadata": {"name": "n", "namespace": "x"}}) == ObjectKey("Node", "", "n")
