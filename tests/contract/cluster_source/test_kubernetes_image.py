"""What several followed resources show together: any lists and changes sum up to the newest of each object."""

from hypothesis import given
from hypothesis import strategies as st

from muster_cluster_watcher.adapters.kubernetes_facts import Unfit, read_object
from muster_cluster_watcher.adapters.kubernetes_image import ORIGIN, ClusterImage
from muster_cluster_watcher.domain.difference import decide, evolve
from muster_cluster_watcher.domain.facts import Digest, Fact, Issue, IssueId, Known, Told
from muster_cluster_watcher.wire.scheduling import in_current_shape
from muster_kubeapi import Resource
from muster_types import ObjectKey

KINDS = ("Node", "Pod")
NAMES = ("a", "b", "c")
SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)
GROUPS = Resource("muster.dev", "v1alpha1", "nodegroups", "NodeGroup", namespaced=False)


def a_fact(kind: str, name: str, content: int = 0) -> Fact:
    json = f"{kind}{name}{content}".encode()
    return Fact(ObjectKey(kind, "", name), "v1", f"u-{name}", str(content), json, Digest(json))


def unfit(kind: str, name: str) -> Unfit:
    key = ObjectKey(kind, "", name)
    return Unfit(key, (Issue(IssueId(f"{kind}-{name}"), "/api", str(key), "spec", "malformed"),))


FOUND = st.builds(
    lambda name, content: (name, content), st.sampled_from(NAMES), st.sampled_from([None, 0, 1, 2])
)  # None: unfit
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("list"), st.sampled_from(KINDS), st.lists(FOUND, unique_by=lambda f: f[0])),
        st.tuples(st.just("change"), st.sampled_from(KINDS), st.lists(FOUND)),
        st.tuples(st.just("gone"), st.sampled_from(KINDS), st.lists(FOUND)),
        st.tuples(st.just("lack"), st.sampled_from(KINDS), st.just([])),
        st.tuples(st.just("take"), st.just("Node"), st.just([])),
    ),
    max_size=25,
)


@given(STEPS, st.integers(1, 3))
def test_what_is_known_after_any_steps_is_what_is_shown(
    steps: list[tuple[str, str, list[tuple[str, int | None]]]], page: int
) -> None:
    known = Known()
    image = ClusterImage(KINDS, known)
    model: dict[ObjectKey, Fact | None] = {}

    def read(kind: str, name: str, content: int | None) -> Fact | Unfit:
        return unfit(kind, name) if content is None else a_fact(kind, name, content)

    def tell() -> None:
        news = image.take()
        assert not news.changed.facts.keys() & news.changed.gone
        for observation in decide(news.changed, known):
            evolve(known, observation)

    for step, kind, found in steps:
        match step:
            case "list":
                model = {key: fact for key, fact in model.items() if key.kind != kind}
                readings = [read(kind, name, content) for name, content in found]
                model |= {each.key: each if isinstance(each, Fact) else None for each in readings}
                parts = [readings[at : at + page] for at in range(0, len(readings), page)] or [[]]
                for number, part in enumerate(parts):
                    last = number == len(parts) - 1
                    image.page(kind, part, first=number == 0, version="7" if last else "")
            case "change":
                readings = [read(kind, name, content) for name, content in found]
                model |= {each.key: each if isinstance(each, Fact) else None for each in readings}
                image.change(kind, readings, "8")
            case "gone":
                keys = [ObjectKey(kind, "", name) for name, _ in found]
                model = {key: fact for key, fact in model.items() if key not in keys}
                image.change(kind, keys, "9")
            case "lack":
                model = {key: fact for key, fact in model.items() if key.kind != kind}
                image.lack(kind)
            case _:
                tell()
    tell()
    facts = {key: fact for key, fact in model.items() if fact is not None}
    assert known.objects == {key: Told(fact.uid, fact.digest) for key, fact in facts.items()}
    assert sorted(id for _, id in known.issues) == sorted(
        f"{key.kind}-{key.name}" for key, fact in model.items() if fact is None
    )
    assert known.syncs[ORIGIN].objects == len(facts)
    assert decide(image.take().changed, known) == []


def test_a_list_that_begins_anew_forgets_its_first_pages() -> None:
    image = ClusterImage(("Node",), Known())
    image.page("Node", [a_fact("Node", "a")], first=True, version="")
    image.page("Node", [a_fact("Node", "b")], first=True, version="7")
    changed = image.take().changed
    assert [key.name for key in changed.facts] == ["b"]
    assert changed.gone == {ObjectKey("Node", "", "a")}
    assert changed.objects == 1


def test_it_is_whole_when_every_kind_was_listed_or_goes_on() -> None:
    image = ClusterImage(("Node", "Pod", "Workload"), Known())
    image.page("Node", [], first=True, version="")
    image.go_on("Pod", "5")
    image.lack("Workload")
    assert not image.whole
    image.page("Node", [], first=False, version="6")
    assert image.whole
    assert image.take().versions == {"Pod": "5", "Node": "6"}


def test_a_kind_that_is_being_listed_has_no_version_to_go_on_from() -> None:
    image = ClusterImage(("Node",), Known())
    image.page("Node", [], first=True, version="6")
    image.page("Node", [], first=True, version="")
    assert image.take().versions == {}


def test_an_object_keeps_fields_that_nobody_knows_and_loses_what_is_not_needed() -> None:
    metadata = {"name": "s", "managedFields": [{}], "resourceVersion": "5", "uid": "u"}
    fact = read_object(SLICES, {"metadata": metadata, "spec": {"x": {"y": [1, 2.50, None]}}}, fact_bytes=1000)
    assert isinstance(fact, Fact)
    assert fact.json == (
        b'{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s","uid":"u"},'
        b'"spec":{"x":{"y":[1,2.5,null]}}}'
    )
    assert (fact.resource_version, fact.uid) == ("5", "u")


def test_a_node_group_that_muster_cannot_read_is_unfit_with_every_fault() -> None:
    found = read_object(GROUPS, {"metadata": {"name": "g"}, "spec": {"maxSize": -1}}, fact_bytes=1000)
    assert isinstance(found, Unfit)
    assert "spec.maxSize" in {issue.field for issue in found.issues}
    assert {issue.object for issue in found.issues} == {"NodeGroup/g"}


def test_workloads_of_kubernetes_1_36_have_the_shape_of_1_37() -> None:
    template = {"name": "w", "schedulingPolicy": {"basic": {}}, "disruptionMode": "Pod"}
    old = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "Workload", "spec": {"podGroupTemplates": [template]}}
    assert in_current_shape(old) == {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "spec": {"podGroupTemplates": [{**template, "disruptionMode": {"single": {}}}]},
    }


def test_conditions_of_old_pod_groups_have_their_new_names() -> None:
    condition = {"type": "PodGroupScheduled", "status": "True"}
    old = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "status": {"conditions": [condition]}}
    shaped = in_current_shape(old)
    assert shaped["status"] == {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]}


def test_other_versions_are_left_as_they_are() -> None:
    for version in ("v1beta1", "v1alpha3"):
        obj = {
            "apiVersion": f"scheduling.k8s.io/{version}",
            "kind": "PodGroup",
            "spec": {"disruptionMode": {"all": {}}},
        }
        assert in_current_shape(obj) is obj
