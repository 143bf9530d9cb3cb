"""The lines of a claim: as many devices as the scheduler counted, and to each container its own."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from muster_migrate.needs import MOST, Asking, Line, Role, lines_for, packed
from muster_plan import parse_pod_template
from muster_types import to_integer

RESOURCE = "example.com/gpu"
counts = st.integers(0, 40).map(lambda number: {RESOURCE: number})
passing = st.builds(Asking, st.just("init"), st.sampled_from((Role.INIT, Role.SIDECAR)), counts)
working = st.builds(Asking, st.just("app"), st.just(Role.APP), counts)
pods = st.builds(lambda inits, apps: [*inits, *apps], st.lists(passing, max_size=4), st.lists(working, min_size=1))
some = settings(max_examples=200, deadline=None)


def _effective(containers: Sequence[Asking]) -> int:
    """What the scheduler counts, as the planner reads it from a pod."""

    def written(each: Asking) -> dict[str, object]:
        always = {"restartPolicy": "Always"} if each.role is Role.SIDECAR else {}
        return {"name": each.name, **always, "resources": {"limits": {RESOURCE: each.counts[RESOURCE]}}}

    spec = {
        "initContainers": [written(each) for each in containers if each.role is not Role.APP],
        "containers": [written(each) for each in containers if each.role is Role.APP],
    }
    template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": {"spec": spec}}
    return to_integer(parse_pod_template(template).spec.requests.get(RESOURCE, 0))


def _seen(lines: Sequence[Line], index: int) -> int:
    return sum(line.count for line in lines if index in line.users)


@some
@given(pods)
def test_a_pod_asks_for_as_many_devices_as_the_scheduler_counted(containers: list[Asking]) -> None:
    assert sum(line.count for line in lines_for(containers, RESOURCE)) == _effective(containers)


@some
@given(pods)
def test_each_container_sees_exactly_its_number(containers: list[Asking]) -> None:
    lines = lines_for(containers, RESOURCE)
    assert [_seen(lines, index) for index in range(len(containers))] == [each.counts[RESOURCE] for each in containers]


@some
@given(pods)
def test_nobody_sees_a_device_of_a_container_that_runs_beside_it(containers: list[Asking]) -> None:
    for line in lines_for(containers, RESOURCE):
        lasting = [index for index in line.users if containers[index].role is not Role.INIT]
        assert len(lasting) <= 1
        for owner in lasting:
            assert all(index <= owner for index in line.users)


@some
@given(pods)
def test_no_claim_holds_more_than_the_api_allows_and_no_line_is_lost(containers: list[Asking]) -> None:
    lines = lines_for(containers, RESOURCE)
    claims = packed(lines)
    assert [line for claim in claims for line in claim] == list(lines)
    assert all(sum(line.count for line in claim) <= MOST for claim in claims)
