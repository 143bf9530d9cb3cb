"""Old form fits ⇔ new form fits, node by node, on generated fleets.

The old form is judged here, by counting integers and reading labels; the new one by the allocator and the planner on
the slices of the same fleet.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from muster_migrate import Evidence, Fit, Migration, Saying, check_migration, migrate_extended, migrate_objects
from muster_plan import CHEAPEST, Gang, Plan, Snapshot, plan
from property.migrate.fleets import CLASSES, LABELS, NodeShape, nodes, pods

Json = Mapping[str, object]
some = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def _part(obj: object, name: str) -> Json:
    found = cast("Json", obj).get(name)
    return cast("Json", found) if isinstance(found, Mapping) else {}


def _items(obj: object, name: str) -> Sequence[Json]:
    found = cast("Json", obj).get(name)
    return cast("Sequence[Json]", found) if isinstance(found, list) else ()


def _matches(term: Json, labels: Mapping[str, str]) -> bool:
    for each in _items(term, "matchExpressions"):
        value, values = labels.get(str(each["key"])), cast("Sequence[str]", each.get("values", ()))
        match each["operator"]:
            case "In":
                holds = value in values
            case "NotIn":
                holds = value not in values
            case "Exists":
                holds = value is not None
            case "DoesNotExist":
                holds = value is None
            case "Gt":
                holds = value is not None and int(value) > int(values[0])
            case _:
                holds = value is not None and int(value) < int(values[0])
        if not holds:
            return False
    return True


def _asked(container: Json, resource: str) -> int:
    resources = _part(container, "resources")
    return int(str(_part(resources, "requests").get(resource, _part(resources, "limits").get(resource, 0))))


def _need(spec: Json, resource: str) -> int:
    """KEP-753, written as a walk through time: who runs, and what an init container adds while it does."""
    running, peak = 0, 0
    for each in _items(spec, "initContainers"):
        if each.get("restartPolicy") == "Always":
            running += _asked(each, resource)
        else:
            peak = max(peak, running + _asked(each, resource))
    return max(peak, running + sum(_asked(each, resource) for each in _items(spec, "containers")))


def _old_fits(pod: Json, node: NodeShape) -> bool:
    spec = _part(pod, "spec")
    if any(node.labels.get(key) != value for key, value in _part(spec, "nodeSelector").items()):
        return False
    required = _part(_part(_part(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution")
    terms = _items(required, "nodeSelectorTerms")
    if terms and not any(_matches(term, node.labels) for term in terms):
        return False
    if _need(spec, "cpu") > node.cpu:
        return False
    names = {
        name
        for part in ("initContainers", "containers")
        for each in _items(spec, part)
        for name in _part(_part(each, "resources"), "limits")
    }
    return all(_need(spec, name) <= node.offers.get(name, 0) for name in names)


def _planned(objects: Sequence[Json], pod: Json) -> bool:
    """Whether the planner finds a place for a gang of this one pod."""
    template: Json = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "pod", "namespace": "a"},
        "template": {"spec": pod["spec"]},
    }
    request: Json = {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": "pod", "namespace": "a"},
        "spec": {
            "provisioningClassName": "atomic.muster.dev",
            "podSets": [{"podTemplateRef": {"name": "pod"}, "count": 1}],
        },
    }
    snapshot = Snapshot.build([*objects, template])
    gang = Gang.from_request(request, snapshot)
    assert isinstance(gang, Gang), gang
    return isinstance(plan(snapshot, gang, CHEAPEST), Plan)


def _hold(pod: Json, fleet: Sequence[NodeShape], migration: Migration, evidence: Evidence) -> None:
    (migrated,) = migration.objects
    assert not migration.says(Saying.NO_EQUIVALENT), migration.remarks
    old = {node.name: _old_fits(pod, node) for node in fleet}
    for check in check_migration(migration, evidence).pods:
        fits = {each.node: each for each in check.nodes}
        for node in fleet:
            wanted = Fit.BOTH if old[node.name] else Fit.NEITHER
            assert fits[node.name].fit is wanted, (fits[node.name], migrated.result, migrated.before)
    for node in fleet:
        found = _planned([*node.objects(), *CLASSES, *migrated.before], migrated.result)
        assert found is old[node.name], (node, migrated.result, migrated.before)


@some
@given(nodes(mixed=True), pods())
def test_with_a_dump_the_new_form_fits_exactly_where_the_old_one_did(fleet: tuple[NodeShape, ...], pod: Json) -> None:
    evidence = Evidence.of(Snapshot.build([*CLASSES, *(each for node in fleet for each in node.objects())]))
    _hold(pod, fleet, migrate_objects([pod], evidence), evidence)


@some
@given(nodes(mixed=True), st.data())
def test_a_node_of_two_products_is_told_by_the_dump_and_keeps_its_condition(
    fleet: tuple[NodeShape, ...], data: st.DataObject
) -> None:
    """Pods here want what one node's label says and all that the node has: it may be more than the label is true of."""
    node = data.draw(st.sampled_from(fleet))
    assume(node.gpus)
    key = data.draw(st.sampled_from(sorted(set(LABELS) & set(node.labels) - {"topology.kubernetes.io/zone"})))
    resource = "amd.com/gpu" if key.startswith("amd") else "nvidia.com/gpu"
    container = {"name": "main", "resources": {"limits": {resource: len(node.gpus)}}}
    spec = {"nodeSelector": {key: node.labels[key]}, "containers": [container]}
    pod: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": "a"}, "spec": spec}
    evidence = Evidence.of(Snapshot.build([*CLASSES, *(each for node in fleet for each in node.objects())]))
    _hold(pod, fleet, migrate_objects([pod], evidence), evidence)


@some
@given(nodes(mixed=False), pods())
def test_documented_mappings_alone_keep_the_meaning_on_nodes_of_one_product(
    fleet: tuple[NodeShape, ...], pod: Json
) -> None:
    evidence = Evidence.of(Snapshot.build([*CLASSES, *(each for node in fleet for each in node.objects())]))
    _hold(pod, fleet, migrate_objects([pod], Evidence.none()), evidence)


@some
@given(nodes(mixed=True), pods())
def test_classes_for_extended_resources_serve_the_unchanged_pod_where_the_integers_are_gone(
    fleet: tuple[NodeShape, ...], pod: Json
) -> None:
    evidence = Evidence.of(Snapshot.build([*CLASSES, *(each for node in fleet for each in node.objects())]))
    migration = migrate_extended([pod], evidence)
    names = {str(_part(each, "metadata")["name"]) for each in migration.classes}
    kept = [each for each in CLASSES if _part(each, "metadata")["name"] not in names]
    for check in check_migration(migration, evidence).pods:
        for each, node in zip(check.nodes, fleet, strict=True):
            assert each.fit is (Fit.BOTH if _old_fits(pod, node) else Fit.NEITHER), each
    for node in fleet:
        switched = node.objects(integers=False)
        assert _planned([*switched, *kept, *migration.classes], pod) is _old_fits(pod, node)


@some
@given(pods())
def test_migrating_the_new_form_again_changes_nothing(pod: Json) -> None:
    (migrated,) = migrate_objects([pod], Evidence.none()).objects
    again = migrate_objects([*migrated.before, migrated.result], Evidence.none())
    assert not [edit for each in again.objects for edit in each.edits]
    assert not [new for each in again.objects for new in each.before]


@some
@given(nodes(mixed=True), st.data())
def test_a_node_that_offers_a_device_in_both_forms_is_named(fleet: tuple[NodeShape, ...], data: st.DataObject) -> None:
    """Both forms of every node are on sale here, so each pair of node and resource that a pod asks for is told."""
    pod = data.draw(pods())
    evidence = Evidence.of(Snapshot.build([*CLASSES, *(each for node in fleet for each in node.objects())]))
    migration = migrate_objects([pod], evidence)
    asked = {name for each in migration.objects for name in each.queries}
    told = {(each.node, each.resource) for each in check_migration(migration, evidence).sold_twice}
    for node in fleet:
        for name in asked & set(node.offers):
            assert (node.name, name) in told
