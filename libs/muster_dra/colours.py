"""Which options of a plan's requests cannot be told apart before anything is taken."""

from collections.abc import Hashable, Sequence

from muster_dra.plan_content import PlanContent, PlannedRequest


def option_colours(content: PlanContent, requests: Sequence[PlannedRequest]) -> tuple[list[int], list[int]]:
    """A number for each option, in order, equal for equal devices in equal company; and for each constraint.

    The usual refinement: options are first told apart by themselves and their request, then by the constraints they
    are under, which are told apart by the options under them, until that tells nothing new.
    """
    owner = [number for number, request in enumerate(requests) for _ in request.choices]
    choices = [choice for request in requests for choice in request.choices]
    colours = _numbered(
        [
            (choice.candidates, choice.over, choice.members, choice.refused, choice.need, choice.admin)
            for choice in choices
        ]
    )
    while True:
        by_request: list[list[int]] = [[] for _ in requests]
        for number, colour in zip(owner, colours, strict=True):
            by_request[number].append(colour)
        of_constraint: list[Hashable] = [
            (
                table,
                tuple(
                    sorted(
                        colour for colour, choice in zip(colours, choices, strict=True) if index in choice.constraints
                    )
                ),
            )
            for index, table in enumerate(content.constraints)
        ]
        constraint_colours = _numbered(of_constraint)
        finer = _numbered(
            [
                (
                    colour,
                    tuple(by_request[number]),
                    tuple(sorted(constraint_colours[index] for index in choice.constraints)),
                )
                for colour, number, choice in zip(colours, owner, choices, strict=True)
            ]
        )
        if max(finer, default=0) == max(colours, default=0):
            return finer, constraint_colours
        colours = finer


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
