"""Parts of an allocation problem asked by themselves: some of its requests, under some of its constraints."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from muster_dra.compiled import CompiledClaims
from muster_dra.outline import Plan
from muster_dra.plan_content import Choice, PlannedRequest, mask_of
from muster_dra.search import search
from muster_dra.situation import Option, Situation

_STEPS = 20_000
"""For all questions about one situation together."""


class Subproblems:
    """Over one situation. Selector errors count as false, and a constraint that refuses one of "all" as a plain no."""

    def __init__(self, whole: Situation, compiled: CompiledClaims) -> None:
        self.whole, self.compiled = whole, compiled
        self.content = whole.plan.content
        self._steps = _STEPS

    def requests_of(self, claim: int) -> list[int]:
        return [number for number, request in enumerate(self.content.requests) if request.claim == claim]

    def constraints_of(self, claim: int) -> list[int]:
        """The numbers of the claim's constraints."""
        return sorted(
            {
                constraint
                for number in self.requests_of(claim)
                for choice in self.content.requests[number].choices
                for constraint in choice.constraints
            }
        )

    def candidates(self, requests: Sequence[int]) -> int:
        """The devices that some option of the requests could take."""
        found = 0
        for number in requests:
            for option in self.whole.options[number]:
                found |= option.candidates | mask_of(option.members)
        return found

    def is_admin(self, request: int) -> bool:
        """Whether an option of the request has admin access."""
        return any(choice.admin for choice in self.content.requests[request].choices)

    def least(self, request: int) -> int:
        """How many devices the request takes at least: the need of the smallest option that could be met alone."""
        options = [_under(option, set()) for option in self.whole.options[request]]
        needs = [option.need for option in options if len(options) == 1 or self._feasible([request], [(option,)])]
        return min(needs, default=0)

    def feasible(self, requests: Sequence[int], constraints: Collection[int]) -> bool:
        """Whether these requests can be satisfied together under these constraints alone.

        When the budget of the explanation is spent, the answer is yes: it must not claim what is not proven.
        """
        kept = set(constraints)
        options = [tuple(_under(option, kept) for option in self.whole.options[number]) for number in requests]
        return self._feasible(requests, options)

    def reach(self, requests: Sequence[int], constraints: Collection[int]) -> int:
        """How many devices can be had for the requests in turn: all of the first ones, and part of the next."""
        kept = set(constraints)
        had = 0
        rows: list[tuple[Option, ...]] = []
        for index, number in enumerate(requests):
            options = tuple(_under(option, kept) for option in self.whole.options[number])
            need = min(option.need for option in options)
            for fewer in range(need, 0, -1):
                row = options if fewer == need else tuple(_of_fewer(option, fewer) for option in options)
                if self._feasible(requests[: index + 1], [*rows, row]):
                    had += fewer
                    rows.append(row)
                    break
            if len(rows) <= index or rows[-1] is not options:
                return had
        return had

    def _feasible(self, requests: Sequence[int], options: list[tuple[Option, ...]]) -> bool:
        planned = tuple(
            PlannedRequest(
                self.content.requests[number].claim,
                index == 0 or self.content.requests[requests[index - 1]].claim != self.content.requests[number].claim,
                tuple(option.choice for option in row),
            )
            for index, (number, row) in enumerate(zip(requests, options, strict=True))
        )
        plan = Plan(replace(self.content, requests=planned, all_ends=False))
        part = replace(self.whole, plan=plan, options=tuple(options), used=dict(self.whole.used))
        found, steps = search(part, self._steps)
        self._steps = max(self._steps - steps, 0)
        return found is not None


def _under(option: Option, constraints: set[int]) -> Option:
    choice: Choice = replace(
        option.choice,
        errors=0,
        constraints=tuple(constraint for constraint in option.choice.constraints if constraint in constraints),
    )
    return replace(option, choice=choice, errors=0)


def _of_fewer(option: Option, need: int) -> Option:
    """The option for fewer devices; "all" becomes any of them."""
    candidates = mask_of(option.members) if option.choice.every else option.candidates
    choice = replace(option.choice, need=need, every=False, candidates=candidates)
    return replace(option, choice=choice, need=need, candidates=candidates)
