import pytest

from muster_audit import Dump, Refused, audit
from muster_types import ObjectKey
from support.audits import pick, row_of
from support.cluster_objects import Json, a_class, a_node, a_pod, a_slice, a_template, a_waiting, gpus

FLEET = [a_node(), a_class(), a_slice(devices=gpus(1))]


def test_what_is_absent_is_named() -> None:
    row = row_of("p", *FLEET, a_pod("p", template="nowhere"))
    assert (row.reason, row.remedy) == ("template-missing", "create ResourceClaimTemplate team-a/nowhere")


def test_what_was_refused_is_told_with_its_fault() -> None:
    key = ObjectKey("ResourceClaim", "team-a", "c")
    for reason, word in (("at most 32 are allowed", "api-limit"), ("is missing", "invalid-object")):
        report = audit([Dump((*FLEET, a_pod("p", "c")), (Refused(key, "spec.devices", reason),))])
        row = pick(report, "p")
        assert (row.reason, reason in row.why) == (word, True)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"schedulingGates": [{"name": "queue/gate"}]}, "it waits for its scheduling gate queue/gate"),
        ({"schedulerName": "other"}, "its scheduler is other"),
        ({"status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1"}]}}, "backs off"),
        ({}, "the scheduler has not placed it yet"),
    ],
)
def test_why_a_pod_that_fits_has_not_been_placed(spec: Json, words: str) -> None:
    assert words in row_of("p", *FLEET, *a_waiting("p", **spec)).why


def test_a_claim_that_is_still_to_be_made_is_told() -> None:
    pod = a_pod("p", template="t", status={"resourceClaimStatuses": [{"name": "other", "resourceClaimName": "x"}]})
    assert "claim g of its template is not created yet" in row_of("p", *FLEET, a_template("t"), pod).why
