"""Older API versions in the shape of v1 (§1.14), what the API server fills in (§1.9), and taint rules (§1.13)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]
_FLAT = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")


def slice_v1(json: Json) -> Json:
    """A slice with the fields of its devices beside their names."""
    spec = dict(json["spec"])
    spec["devices"] = [
        {"name": device["name"], **device["basic"]} if "basic" in device else device
        for device in spec.get("devices") or []
    ]
    return {"metadata": json["metadata"], "spec": spec}


def claim_v1(json: Json, *, filled: bool) -> Json:
    """A claim whose requests have `exactly` or `firstAvailable`; `filled`: with the defaults of the API server."""
    devices = (json.get("spec") or {}).get("devices") or {}
    requests = [_request_v1(request, filled=filled) for request in devices.get("requests") or []]
    return {"metadata": json["metadata"], "devices": {**devices, "requests": requests}}


def _request_v1(json: Json, *, filled: bool) -> Json:
    flat = {field: json[field] for field in _FLAT if json.get(field)}
    request: dict[str, Any] = {"name": json["name"]}
    if json.get("firstAvailable"):
        request["firstAvailable"] = [_filled(sub) if filled else sub for sub in json["firstAvailable"]]
    else:
        exactly = json.get("exactly") or flat
        request["exactly"] = _filled(exactly) if filled else exactly
    return request


def _filled(request: Json) -> Json:
    mode = request.get("allocationMode") or "ExactCount"
    if mode != "ExactCount":
        return {**request, "allocationMode": mode}
    return {**request, "allocationMode": mode, "count": request.get("count") or 1}


def tainted(slices: Iterable[Json], rules: Sequence[Json]) -> list[Json]:
    """Every rule adds its taint to the devices it selects; one without a selector means all (D11)."""
    return [
        {
            "metadata": each["metadata"],
            "spec": {
                **each["spec"],
                "devices": [_tainted(each["spec"], one, rules) for one in each["spec"]["devices"]],
            },
        }
        for each in slices
    ]


def _tainted(spec: Json, device: Json, rules: Sequence[Json]) -> Json:
    taints = list(device.get("taints") or [])
    for rule in rules:
        wanted = rule["spec"].get("deviceSelector") or {}
        own = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
        if all(wanted.get(part) in (None, own[part]) for part in own):
            taints.append(rule["spec"]["taint"])
    return {**device, "taints": taints}
