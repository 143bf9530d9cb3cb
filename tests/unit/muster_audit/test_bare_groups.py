from support.audits import row_of, word_of
from support.cluster_objects import a_claim, a_class, a_gang, a_node, a_slice, gpus


def group(**spec: object) -> dict[str, object]:
    return a_gang("ring", 3, **spec)  # pyright: ignore[reportArgumentType] -- fields of the group's spec


def test_a_group_without_pods_is_judged_by_the_claims_that_it_names_itself() -> None:
    fleet = [a_node(), a_class(), a_slice(devices=gpus(1)), a_claim("c")]
    row = row_of("ring", *fleet, group(resourceClaims=[{"name": "x", "resourceClaimName": "c"}]))
    assert (row.verdict, row.node) == ("feasible", "node-a")
    assert "0 of 3 pods exist" in row.why


def test_a_group_whose_claim_is_absent_names_it() -> None:
    missing = group(resourceClaims=[{"name": "x", "resourceClaimTemplateName": "t"}])
    row = row_of("ring", a_node(), a_class(), missing)
    assert (row.reason, row.why) == ("template-missing", "ResourceClaimTemplate team-a/t not found")


def test_a_group_whose_claim_fits_nowhere_is_infeasible() -> None:
    entry = group(resourceClaims=[{"name": "x", "resourceClaimName": "c"}])
    assert word_of("ring", a_node(), a_class(), a_claim("c"), entry) == "infeasible shortage"
