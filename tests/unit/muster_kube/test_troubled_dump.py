# ruff: noqa: E501 -- sentences stay whole
"""A dump with every kind of trouble at once: each told in its sentence, everything sound read."""

from pathlib import Path

from muster_kube import Manifest, Rejected, Skipped, read_path

DUMP = Path(__file__).parents[2] / "data" / "dumps" / "troubled"


def test_each_trouble_names_file_object_field_reason_and_remedy() -> None:
    sentences = [
        reading.sentence().removeprefix(f"{DUMP}/") for reading in read_path(DUMP) if isinstance(reading, Rejected)
    ]
    assert sentences == [
        "doubled.json:1: Node/node-f: metadata.name: the key 'name' stands twice; keep one of them",
        "garbage.yaml:1: it is no UTF-8 text (control characters are not allowed); save it as UTF-8 encoded YAML or JSON",
        "invalid-slice.yaml:1: ResourceSlice/node-a-gpu: spec.devices[0].capacity[memory].value: invalid quantity '80GB': "
        "want digits with an optional suffix such as m, k, Gi or e3",
        "invalid-slice.yaml:1: ResourceSlice/node-a-gpu: spec.devices[0].name: 'gpu_0' is no DNS label; use lower case "
        "letters, digits and '-', for example gpu-0",
        "invalid-slice.yaml:1: ResourceSlice/node-a-gpu: spec.devices[0].attributes[driverVersion].version: '580.95' is "
        "not a semantic version; write it as MAJOR.MINOR.PATCH without a leading v",
        "invalid-slice.yaml:1: ResourceSlice/node-a-gpu: spec.devices[1].attributes[model]: exactly one of int, bool, "
        "string, version, ints, bools, strings, versions must be set, got string, int; keep one",
        "malformed.yaml:10 (document 2): Node/node-c labels: malformed YAML (mapping values are not allowed in this "
        "context); mend the indentation or the quotes",
        "unknown-version.yaml:1: ResourceSlice/node-a-old: apiVersion: version 'resource.k8s.io/v1alpha2' of "
        "ResourceSlice is unknown; known: resource.k8s.io/v1, resource.k8s.io/v1beta2, resource.k8s.io/v1beta1. Dump "
        "the object in one of these, for example with kubectl get resourceslices.v1.resource.k8s.io",
    ]


def test_what_is_sound_beside_it_is_read() -> None:
    names = [str(reading.key) for reading in read_path(DUMP) if isinstance(reading, Manifest)]
    assert names == [
        "Node/node-g",
        "Node/node-b",
        "Node/node-d",
        "ProvisioningRequest/team-a/orphaned",
        "Node/node-a",
        "DeviceClass/gpu.example.com",
        "ResourceSlice/node-a-nic",
    ]


def test_an_unknown_field_is_a_warning_on_its_object_and_a_foreign_kind_is_counted() -> None:
    readings = list(read_path(DUMP))
    (warned,) = (each for each in readings if isinstance(each, Manifest) and each.warnings)
    assert [(warning.field, warning.reason) for warning in warned.warnings] == [
        ("spec.devices[0].atributes", "unknown field; did you mean 'attributes'?")
    ]
    (skipped,) = (each for each in readings if isinstance(each, Skipped))
    assert (skipped.kind, skipped.count) == ("DaemonSet", 1)
