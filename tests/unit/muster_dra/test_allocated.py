"""What is allocated: from claims, and with results added and taken back."""

from muster_dra import AllocatedState, Allocation, PoolId, parse_claim
from muster_types import DeviceId
from unit.muster_dra.problem_building import A, claim, exact, held, names, outcome, said, shared, slice_of

POOL = PoolId(A, "p")


def state(*claims: dict[str, object]) -> AllocatedState:
    return AllocatedState.from_claims(map(parse_claim, claims))


def test_admin_results_never_count() -> None:
    assert not state(held("d0", adminAccess=True)).use(POOL).is_allocated("d0")


def test_shares_add_up_by_device_and_capacity() -> None:
    found = state(
        held("d0", by="x", shareID="1", consumedCapacity={"c": "1"}),
        held("d0", by="y", shareID="2", consumedCapacity={"c": "2"}),
    ).use(POOL)
    assert found.shared["d0"].shares == 2
    assert found.shared["d0"].amounts == {"c": 3 * 10**9}
    assert found.holders("d0") == ("default/x", "default/y")


def test_a_share_without_amount_is_known_as_such() -> None:
    assert state(held("d0", shareID="1")).use(POOL).shared["d0"].amounts is None
    assert state(held("d0", shareID="1", consumedCapacity={})).use(POOL).shared["d0"].amounts == {}


def test_minus_takes_back_what_plus_added_and_nothing_else() -> None:
    start = state(held("d0", by="x"), held("d1", by="y", shareID="1", consumedCapacity={"c": "1"}))
    more = [parse_claim(held("d2", by="z")), parse_claim(held("d1", by="z", shareID="2", consumedCapacity={"c": "2"}))]
    devices = [device for each in more if each.allocation is not None for device in each.allocation.devices]
    grown = start.plus(devices, "default/z")
    assert grown.holders(DeviceId(A, "p", "d2")) == ("default/z",)
    assert grown.use(POOL).shared["d1"].amounts == {"c": 3 * 10**9}
    back = grown.minus(devices, "default/z")
    assert not back.use(POOL).is_allocated("d2")
    assert back.use(POOL).shared["d1"].amounts == {"c": 10**9}
    assert back.use(POOL).is_allocated("d0")
    stranger = grown.minus(devices, "default/nobody")
    assert stranger.use(POOL).is_allocated("d2"), "only its holder gives a device back"
    assert not start.use(POOL).is_allocated("d2"), "the state before is untouched"


def test_the_results_of_an_allocation_can_be_added_as_they_are() -> None:
    slices, asked = [slice_of(shared("d0", "2"))], claim(exact(needs={"c": "1"}))
    found = outcome(slices, asked)
    assert isinstance(found, Allocation)
    after = AllocatedState.empty().plus(found.claims[0].results, "default/c0")
    assert after.use(POOL).shared["d0"].amounts == {"c": 10**9}
    taken = held("d0", shareID="x", consumedCapacity={"c": "1"})
    assert names(outcome(slices, asked, allocated=[taken])) == ["d0"]
    assert (
        said(outcome(slices, asked, allocated=[taken, held("d0", by="b", shareID="y", consumedCapacity={"c": "1"})]))
        == "none"
    )
