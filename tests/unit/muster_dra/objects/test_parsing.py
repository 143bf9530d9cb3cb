"""Kubernetes JSON to values: versions, defaults, and what is refused with its field and reason."""

from datetime import date
from typing import Any

import pytest

from muster_dra import (
    Attribute,
    AttributeKind,
    Defaults,
    InvalidObject,
    parse_claim,
    parse_claim_template,
    parse_class,
    parse_node,
    parse_slice,
    parse_taint_rule,
)
from muster_types import DeviceId

V1: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "d.example.com",
        "nodeName": "n1",
        "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2},
        "devices": [
            {
                "name": "d0",
                "attributes": {"numa": {"int": 1}, "v": {"version": "1.0.0"}, "tags": {"strings": ["a", "b"]}, "x": {}},
                "capacity": {"memory": {"value": "80Gi"}},
                "taints": [{"key": "k", "effect": "NoSchedule"}],
            }
        ],
    },
}


def with_spec(**fields: Any) -> dict[str, Any]:
    return V1 | {"spec": V1["spec"] | fields}


def test_a_slice_is_read_with_its_attributes_typed() -> None:
    found = parse_slice(V1)
    (device,) = found.devices
    assert (found.pool.driver, found.pool.name, found.generation, found.slice_count) == ("d.example.com", "p", 3, 2)
    assert device.attributes == {
        "numa": Attribute(AttributeKind.INT, 1),
        "v": Attribute(AttributeKind.VERSION, "1.0.0"),
        "tags": Attribute(AttributeKind.STRINGS, ("a", "b")),
        "x": Attribute(AttributeKind.UNKNOWN, None),
    }
    assert device.capacity["memory"].value.nano == 80 * 2**30 * 10**9


def test_an_object_without_version_and_kind_is_one_of_v1() -> None:
    assert parse_slice({key: V1[key] for key in ("metadata", "spec")}) == parse_slice(V1)


def test_v1beta1_keeps_a_device_under_basic_and_unset_places_as_plain_values() -> None:
    devices = V1["spec"]["devices"]
    old_devices = [{"name": d["name"], "basic": {k: v for k, v in d.items() if k != "name"}} for d in devices]
    old = with_spec(devices=old_devices, allNodes=False) | {"apiVersion": "resource.k8s.io/v1beta1"}
    assert parse_slice(old) == parse_slice(V1)


def test_v1alpha3_has_bare_quantities() -> None:
    old = with_spec(devices=[{"name": "d0", "basic": {"capacity": {"memory": "80Gi"}}}])
    assert (
        parse_slice(old | {"apiVersion": "resource.k8s.io/v1alpha3"}).devices[0].capacity["memory"].value.text == "80Gi"
    )


def test_equal_device_lists_are_one_object() -> None:
    assert parse_slice(V1).devices is parse_slice(with_spec(nodeName="n2")).devices


def test_what_only_looks_equal_as_json_is_not_taken_for_a_list_seen_before() -> None:
    seen = with_spec(devices=[{"name": "d", "attributes": {"since": {"string": "2026-01-01"}}}])
    assert parse_slice(seen).devices[0].attributes["since"].value == "2026-01-01"
    with pytest.raises(InvalidObject):
        parse_slice(with_spec(devices=[{"name": "d", "attributes": {"since": {"string": date(2026, 1, 1)}}}]))
    parse_slice(with_spec(devices=[{"name": "d", "attributes": {"since": {"int": None}}}]))
    with pytest.raises(InvalidObject):
        parse_slice(with_spec(devices=[{"name": "d", "attributes": {"since": {"int": float("nan")}}}]))


def test_a_flat_request_of_v1beta1_is_an_exact_one() -> None:
    def claim(request: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}

    wanted = {"deviceClassName": "gpu", "count": 2, "selectors": [{"cel": {"expression": "true"}}]}
    flat = claim({"name": "r"} | wanted) | {"apiVersion": "resource.k8s.io/v1beta1"}
    assert parse_claim(flat) == parse_claim(claim({"name": "r", "exactly": wanted}))


def test_the_defaults_of_the_api_server_are_filled_unless_the_object_is_taken_as_written() -> None:
    json = {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
    }
    (request,) = parse_claim(json).spec.requests
    assert request.exactly is not None
    assert (request.exactly.mode, request.exactly.count) == ("ExactCount", 1)
    (written,) = parse_claim(json, Defaults.AS_WRITTEN).spec.requests
    assert written.exactly is not None
    assert (written.exactly.mode, written.exactly.count) == ("", 0)


def test_a_claim_template_gives_the_spec_of_its_claims() -> None:
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x", "allocationMode": "All"}}]}}
    template = {"metadata": {"name": "t", "namespace": "a"}, "spec": {"spec": spec}}
    assert parse_claim_template(template) == parse_claim({"metadata": {"name": "c"}, "spec": spec}).spec


def test_an_allocation_is_read_with_shares_and_amounts() -> None:
    results = [
        {
            "request": "r",
            "driver": "d",
            "pool": "p",
            "device": "d0",
            "shareID": "id",
            "consumedCapacity": {"m": "1500m"},
        },
        {"request": "s/x", "driver": "d", "pool": "p", "device": "d1", "adminAccess": True},
    ]
    json = {"metadata": {"name": "c"}, "status": {"allocation": {"devices": {"results": results}}}}
    allocation = parse_claim(json).allocation
    assert allocation is not None
    first, second = allocation.devices
    assert (first.device, first.is_share, first.consumed) == (DeviceId("d", "p", "d0"), True, {"m": 1_500_000_000})
    assert (second.is_share, second.admin_access, second.consumed) == (False, True, None)


def test_taint_rules_tell_an_absent_selector_from_an_empty_one() -> None:
    taint = {"taint": {"key": "k", "effect": "NoExecute"}}
    absent = parse_taint_rule({"metadata": {"name": "r"}, "spec": taint})
    empty = parse_taint_rule({"metadata": {"name": "r"}, "spec": taint | {"deviceSelector": {}}})
    assert (absent.selects, empty.selects) == (False, True)


@pytest.mark.parametrize(
    ("json", "field", "reason"),
    [
        ([], "(document)", "want a mapping, got a list"),
        ({"metadata": {}}, "metadata.name", "required"),
        (V1 | {"kind": "Pod"}, "kind", "want ResourceSlice, got 'Pod'"),
        (V1 | {"apiVersion": "resource.k8s.io/v9"}, "apiVersion", "'resource.k8s.io/v9' is not one of"),
        (with_spec(driver=""), "spec.driver", "required"),
        (with_spec(pool={"name": "p", "generation": -1}), "spec.pool.generation", "want 0 or more, got -1"),
        (with_spec(pool={"name": "p", "generation": "1"}), "spec.pool.generation", "want an integer, got a string"),
        (with_spec(devices={}), "spec.devices", "want a list, got a mapping"),
        (with_spec(devices=[7]), "spec.devices[0]", "want a mapping, got the number 7"),
        (
            with_spec(devices=[{"name": "d", "attributes": {"a": {"int": 2**63}}}]),
            "spec.devices[0].attributes.a.int",
            "does not fit 64 bits",
        ),
        (
            with_spec(devices=[{"name": "d", "capacity": {"m": {"value": "80GB"}}}]),
            "spec.devices[0].capacity.m.value",
            "invalid quantity '80GB'",
        ),
        (with_spec(devices=[{"name": "d", "capacity": {"m": {}}}]), "spec.devices[0].capacity.m.value", "required"),
        (with_spec(allNodes="yes"), "spec.allNodes", "want true or false, got a string"),
    ],
)
def test_what_cannot_be_read_is_refused_with_field_and_reason(json: object, field: str, reason: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        parse_slice(json)
    assert caught.value.field == field
    assert reason in caught.value.reason
    assert field in str(caught.value)


def test_the_error_names_kind_namespace_and_name() -> None:
    json = {"metadata": {"name": "c", "namespace": "team"}, "spec": {"devices": {"requests": [{"exactly": {}}]}}}
    with pytest.raises(InvalidObject, match=r"ResourceClaim/team/c: spec\.devices\.requests\[0\]\.name: required"):
        parse_claim(json)


def test_a_class_and_a_node_are_read() -> None:
    found = parse_class(
        {
            "metadata": {"name": "gpu", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"selectors": [{"cel": {"expression": "true"}}, {}], "extendedResourceName": "example.com/gpu"},
        }
    )
    assert found.selectors == ("true", None)
    assert found.extended_resource_name == "example.com/gpu"
    assert parse_node({"metadata": {"name": "n", "labels": {"zone": "z"}}}).labels == {"zone": "z"}
