"""The served versions of resource.k8s.io and how the older shapes are brought into that of v1 (dra-semantics §1.14)."""

from muster_dra.reading import Fields

GROUP = "resource.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta2", f"{GROUP}/v1beta1", f"{GROUP}/v1alpha3")
"""v1 first: an object that does not name its version is one of v1."""

_FLAT_REQUEST_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)


def device_fields(device: Fields) -> Fields:
    """v1beta1 keeps everything but the name of a device under `basic`."""
    return device.child("basic") if device.has("basic") else device


def exact_request_fields(request: Fields) -> Fields | None:
    """The fields of an exact request: v1 has them under `exactly`, v1beta1 beside the name. None: it is none."""
    if request.has("exactly"):
        return request.child("exactly")
    return request if any(request.json.get(field) for field in _FLAT_REQUEST_FIELDS) else None
