from support.audits import row_of
from support.cluster_objects import GPU, Json, a_class, a_group, a_node, a_request, a_waiting, gpus


def group(expression: str, **attributes: object) -> Json:
    return a_group("g", gpus(2, **attributes))


def asked(expression: str) -> list[Json]:
    return [a_node(), a_class(), *a_waiting("p", a_request("g", GPU, expression))]


def test_values_that_a_template_publishes_are_told() -> None:
    model = f'device.attributes["{GPU}"].model == "b"'
    row = row_of("g", *asked(model), group(model, model="a"))
    assert (row.verdict, row.reason) == ("no-scale-up", "selector-mismatch")
    assert row.why == 'template devices do not match either: 0 of 2 devices match model == "b"; published value: a'


def test_an_attribute_that_a_template_lacks_is_told() -> None:
    profile = f'"profile" in device.attributes["{GPU}"] && device.attributes["{GPU}"].profile == "x"'
    assert "template devices do not carry attribute profile" in row_of("p", *asked(profile), group(profile)).why


def test_a_shape_asked_for_by_name_is_a_matter_of_topology() -> None:
    topology = f'device.attributes["{GPU}"].topology == "4x4"'
    assert row_of("p", *asked(topology), group(topology, topology="2x2")).reason == "topology-mismatch"
