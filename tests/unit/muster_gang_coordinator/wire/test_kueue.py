"""Kueue's handshake with the objects of examples/kueue, against the details that an offer writes."""

from collections.abc import Mapping
from typing import cast

import pytest
import yaml

from muster_gang_coordinator.domain.details import is_detail, offer_details, reservation_taint
from muster_gang_coordinator.settings import Settings
from muster_gang_coordinator.wire.kueue import config_problems
from muster_kube.parts import at, mapping, sequence, text
from support.deployment import EXAMPLES
from unit.muster_gang_coordinator.builders import GANG, on

Json = Mapping[str, object]
CLASSES = Settings().provisioning_classes
RACK = "topology.kubernetes.io/rack"


def example(kind: str) -> Json:
    files = sorted((EXAMPLES / "kueue").glob("*.yaml"))
    found = [obj for file in files for obj in yaml.safe_load_all(file.read_text()) if obj["kind"] == kind]
    (obj,) = found
    return cast("Json", obj)


def pod_set_update(config: Json, details: Mapping[str, str]) -> dict[str, str]:
    """The node selector that Kueue stores when the check becomes Ready (group-capacity §2.4)."""
    wanted = map(mapping, sequence(at(config, "spec", "podSetUpdates", "nodeSelector")))
    found = ((text(each["key"]), details.get(text(each["valueFromProvisioningClassDetail"]))) for each in wanted)
    return {key: value for key, value in found if value is not None}


def test_the_example_is_sound() -> None:
    config = example("ProvisioningRequestConfig")
    assert config_problems(config, CLASSES) == ()
    assert at(config, "spec", "provisioningClassName") in CLASSES
    check = example("AdmissionCheck")
    assert at(check, "spec", "controllerName") == "kueue.x-k8s.io/provisioning-request"
    assert at(check, "spec", "parameters", "name") == at(config, "metadata", "name")
    job = example("Job")
    assert at(job, "spec", "template", "metadata", "annotations", "kueue.x-k8s.io/podset-required-topology") == RACK


def test_the_flavor_of_the_example_has_the_level_that_its_job_requires() -> None:
    flavor, topology = example("ResourceFlavor"), example("Topology")
    assert at(flavor, "spec", "topologyName") == at(topology, "metadata", "name"), "else Kueue admits no such pod set"
    assert mapping(at(flavor, "spec", "nodeLabels")), "a flavor with a topology needs one"
    levels = [text(mapping(each).get("nodeLabel")) for each in sequence(at(topology, "spec", "levels"))]
    assert levels == [RACK, "kubernetes.io/hostname"]


def test_the_selector_of_the_example_is_the_domain_that_the_offer_names() -> None:
    config = example("ProvisioningRequestConfig")
    details = dict(offer_details(GANG, on("n1", "n2"), f"{RACK}=r7"))
    assert pod_set_update(config, details) == {RACK: "r7"}
    assert pod_set_update(config, dict(offer_details(GANG, on("n1"), ""))) == {}


def test_the_flavor_and_the_claims_of_the_example_tolerate_what_holds_the_capacity() -> None:
    key, _, effect = reservation_taint(GANG).partition("=")[0], "", reservation_taint(GANG).rpartition(":")[2]
    tolerated = {"key": key, "operator": "Exists", "effect": effect}
    assert sequence(at(example("ResourceFlavor"), "spec", "tolerations")) == [tolerated]
    (request,) = map(mapping, sequence(at(example("ResourceClaimTemplate"), "spec", "spec", "devices", "requests")))
    assert sequence(at(request, "exactly", "tolerations")) == [tolerated]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"managedResources": ["nvidia.com/gpu"]}, "spec.managedResources lists nvidia.com/gpu"),
        (
            {"podSetUpdates": {"nodeSelector": [{"key": RACK, "valueFromProvisioningClassDetail": "Rack"}]}},
            "the detail 'Rack', which Muster never writes",
        ),
        ({"parameters": {"maxRunDurationSeconds": "60"}}, "spec.parameters[maxRunDurationSeconds]"),
    ],
    ids=["t33", "detail", "parameter"],
)
def test_t33_a_config_that_does_not_work_is_told_with_its_field(change: Json, sentence: str) -> None:
    config = example("ProvisioningRequestConfig")
    changed = {**config, "spec": {**mapping(config["spec"]), **change}}
    (problem,) = config_problems(changed, CLASSES)
    assert sentence in problem
    other = {**changed, "spec": {**changed["spec"], "provisioningClassName": "other.example.com"}}
    assert config_problems(other, CLASSES) == ()


@pytest.mark.parametrize(
    ("domain", "named"),
    [
        ("", {}),
        (f"{RACK}=r7", {"TopologyDomain": "r7", f"TopologyDomain/{RACK}": "r7"}),
        (f"{RACK}=r7, zone=a", {f"TopologyDomain/{RACK}": "r7", "TopologyDomain/zone": "a"}),
        (f"{RACK}=r7, {RACK}=r8", {}),
        (f"{RACK}=a new unit of h100", {}),
    ],
)
def test_n_2_7_domains_are_given_as_label_values_or_not_at_all(domain: str, named: Mapping[str, str]) -> None:
    details = dict(offer_details(GANG, on("n1"), domain))
    assert {key: value for key, value in details.items() if key.startswith("TopologyDomain")} == named
    assert all(map(is_detail, details))
