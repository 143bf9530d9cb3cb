"""Which devices of a plan are interchangeable: equal in everything that any request looks at."""

from collections.abc import Hashable

from muster_dra.plan_content import PlanContent, bits_of, mask_of


def interchangeable(content: PlanContent) -> tuple[int, ...]:
    """For each device the set of devices it can be exchanged with, itself included."""
    keys = device_keys(content)
    members: dict[object, int] = {}
    for device, key in enumerate(keys):
        own = (key, content.draws[device], content.counters_of[device]) if content.drawing >> device & 1 else key
        keys[device] = own
        members[own] = members.get(own, 0) | 1 << device
    return tuple(members[key] for key in keys)


def device_keys(content: PlanContent) -> list[Hashable]:
    """For each device all that the requests look at, but for the counters it draws."""
    totals = dict(content.totals)
    choices = [choice for request in content.requests for choice in request.choices]
    takes = [dict(choice.takes) for choice in choices]
    every = [mask_of(choice.members) for choice in choices]
    # "All" under a constraint is walked in order, and where a walk ends decides whether it is fatal. And where a device
    # of no comparable type is accepted in front only, an exchange may bring another one in front of it.
    single = {member for choice in choices if choice.constraints for member in choice.members}
    single.update(device for table in content.constraints if table.ordered for device in bits_of(table.first))
    return [
        (
            tuple(
                (
                    choice.candidates >> device & 1,
                    choice.over >> device & 1,
                    choice.errors >> device & 1,
                    mask >> device & 1,
                    choice.refused >> device & 1,
                    taken.get(device),
                )
                for choice, mask, taken in zip(choices, every, takes, strict=True)
            ),
            tuple(
                (table.first >> device & 1, table.values[device] if table.values else table.after[device])
                for table in content.constraints
            ),
            content.shared >> device & 1,
            totals.get(device),
            device if device in single else -1,
        )
        for device in range(content.size)
    ]
