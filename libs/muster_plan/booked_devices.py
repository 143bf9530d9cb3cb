"""Booked devices in the engine's terms."""

from collections.abc import Iterable

from muster_dra import AllocatedDevice, AllocatedState, DeviceResult
from muster_plan.booking import Booking
from muster_plan.plan_types import ExistingNode, PlannedClaim, PlannedDevice

_PLANNED_SHARE = "planned"


def hold(state: AllocatedState, bookings: Iterable[Booking]) -> AllocatedState:
    """With the devices that bookings hold on existing nodes; a claim that several members share counts once."""
    for booking in bookings:
        seen: set[str] = set()
        devices: list[AllocatedDevice] = []
        for member in booking.pods:
            if not isinstance(member.target, ExistingNode):
                continue
            for claim in member.claims:
                if claim.existing or claim.shared in seen:
                    continue
                if claim.shared:
                    seen.add(claim.shared)
                devices.extend(map(to_allocated, claim.results))
        state = state.plus(devices, f"gang {booking.gang}")
    return state


def devices_of(claims: Iterable[PlannedClaim]) -> tuple[AllocatedDevice, ...]:
    return tuple(to_allocated(device) for claim in claims if not claim.existing for device in claim.results)


def to_allocated(device: PlannedDevice) -> AllocatedDevice:
    """A share gets a placeholder id: the state counts shares, it does not tell them apart."""
    return AllocatedDevice(
        request=device.request,
        device=device.device,
        admin_access=device.admin_access,
        share_id=_PLANNED_SHARE if device.share else None,
        consumed=dict(device.consumed) if device.share else None,
    )


def to_planned(result: DeviceResult) -> PlannedDevice:
    return PlannedDevice(
        request=result.request,
        device=result.device,
        admin_access=result.admin_access,
        share=result.share,
        consumed=tuple(sorted(result.consumed_capacity.items())),
    )


def recorded(result: AllocatedDevice) -> PlannedDevice:
    """A device of an allocation that stands in a claim's status."""
    return PlannedDevice(
        request=result.request,
        device=result.device,
        admin_access=result.admin_access,
        share=result.share_id is not None,
        consumed=tuple(sorted((result.consumed or {}).items())),
    )
