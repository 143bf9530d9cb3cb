from support.audits import found
from support.cluster_objects import (
    GPU,
    Json,
    a_class,
    a_device,
    a_group,
    a_node,
    a_pod,
    a_request,
    a_slice,
    a_template,
    a_waiting,
    gpus,
)

FLEET = [a_node(), a_class(), a_slice(devices=[a_device("g", model="a", capacity={"memory": "81559Mi"})])]


def names(*objects: Json) -> list[str]:
    return [f"{each.object}: {each.remedy}" for each in found("attribute-unknown", *FLEET, *objects)]


def test_an_attribute_that_nobody_publishes_is_told_with_the_nearest_name() -> None:
    typo = f'"modle" in device.attributes["{GPU}"] && device.attributes["{GPU}"].modle == "a"'
    assert names(*a_waiting("p", a_request("g", GPU, typo))) == [f"ResourceClaim/team-a/p: write {GPU}/model"]


def test_classes_constraints_and_templates_are_looked_at_too() -> None:
    picky = a_class("picky", f'device.attributes["{GPU}"].modell == "a"')
    assert names(picky) == [f"DeviceClass/picky: write {GPU}/model"]
    constraint = [{"matchAttribute": f"{GPU}/Model"}]
    template = [a_template("t", constraints=constraint), a_pod("p", template="t")]
    assert names(*template) == [f"ResourceClaimTemplate/team-a/t: write {GPU}/model"]


def test_templates_that_no_pending_pod_uses_are_left_alone() -> None:
    assert names(a_template("t", constraints=[{"matchAttribute": f"{GPU}/Model"}])) == []


def test_a_driver_that_publishes_nothing_says_nothing_about_names() -> None:
    other = a_request("g", GPU, 'device.attributes["other.example.com"].x == 1')
    assert names(*a_waiting("p", other)) == []


def test_eighty_gibibytes_of_a_board_that_reports_a_little_less() -> None:
    def of(amount: str) -> list[str]:
        expression = f'device.capacity["{GPU}"].memory.compareTo(quantity("{amount}")) >= 0'
        objects = a_waiting("p", a_request("g", GPU, expression))
        return [each.remedy for each in found("amount-just-missed", *FLEET, *objects)]

    assert of("80Gi") == ["ask for at most 81559Mi, or for the decimal amount (80G)"]
    assert of("79Gi") == []
    assert of("160Gi") == []


def test_a_selector_that_matches_nothing_names_what_is_published() -> None:
    wanted = a_request("g", GPU, f'device.attributes["{GPU}"].model == "b"')
    (finding,) = found("selector-matches-nothing", *FLEET, *a_waiting("p", wanted))
    assert finding.why == f'request g of class {GPU}: 0 of 1 device match model == "b"; published value: a'


def test_devices_of_templates_do_not_count_as_published() -> None:
    group = a_group("g", gpus(1, model="b"))
    wanted = a_request("g", GPU, f'device.attributes["{GPU}"].model == "b"')
    assert len(found("selector-matches-nothing", *FLEET, group, *a_waiting("p", wanted))) == 1
