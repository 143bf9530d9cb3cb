from muster_audit.changed_specs import tolerant, with_attribute, with_literal, with_selector
from muster_audit.expressions import comparisons_of
from muster_dra import ClaimSpec, DeviceToleration, parse_claim
from support.cluster_objects import GPU, a_claim, a_request

MODEL = f'device.attributes["{GPU}"].model == "h200"'


def spec() -> ClaimSpec:
    requests = [a_request("a", GPU, MODEL), a_request("b")]
    return parse_claim(a_claim("c", *requests, constraints=[{"matchAttribute": f"{GPU}/numa"}])).spec


def test_a_literal_keeps_its_type_or_is_refused() -> None:
    (text,), (number,) = comparisons_of(MODEL), comparisons_of(f'device.attributes["{GPU}"].numa == 1')
    assert with_literal(text, "h100") is not None
    assert with_literal(number, "two") is None
    changed = with_literal(number, "2")
    assert changed is not None
    assert changed.literal == 2


def test_a_selector_is_changed_where_it_holds_the_literal() -> None:
    (old,) = comparisons_of(MODEL)
    new = with_literal(old, "h100")
    assert new is not None
    first, second = with_selector(spec(), old, new).requests
    assert first.exactly is not None
    assert second.exactly is not None
    assert first.exactly.selectors == (MODEL.replace("h200", "h100"),)
    assert second.exactly.selectors == ()


def test_a_toleration_is_added_to_its_request_alone() -> None:
    extra = (DeviceToleration("sick", "Exists", "", "", None),)
    first, second = tolerant(spec(), "b", extra).requests
    assert first.exactly is not None
    assert second.exactly is not None
    assert (first.exactly.tolerations, second.exactly.tolerations) == ((), extra)


def test_a_constraint_gets_another_attribute() -> None:
    (constraint,) = with_attribute(spec(), f"{GPU}/numa", "resource.kubernetes.io/numaNode").constraints
    assert constraint.match_attribute == "resource.kubernetes.io/numaNode"
