"""Invariant 1 over random histories: nothing is promised twice, whatever plans come, in whatever order, however often.

The plans are arbitrary: most of them conflict with what is promised. The count at the end is made from the events
alone, apart from the ledger's own arithmetic.
"""

from collections import Counter as Tally
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from muster_claim_matcher.domain.demand import Counter, Room, Share, Supply
from muster_claim_matcher.domain.ledger import (
    LEDGER,
    BookGang,
    ConfirmGang,
    GangBooked,
    GangConfirmed,
    GangReleased,
    LedgerCommand,
    LedgerEvent,
    PlanConflicts,
    ReleaseGang,
    Unfit,
)
from muster_claim_matcher.domain.plans import Member
from muster_types import GangId, NodeGroupName, NodeName, parse_quantity
from unit.muster_claim_matcher.builders import GPU, NOON, a_claim, a_device, a_member, a_plan, a_refusal, on

NODES = ("node-1", "node-2")
GANGS = tuple(GangId(f"gang-{letter}") for letter in "abc")
MOST_NEW_NODES = 3
CPU_OF_NODE, MEMORY_OF_SHARED, MEMORY_OF_BOARD = parse_quantity("16"), parse_quantity("80Gi"), parse_quantity("60Gi")


def board(node: str) -> Counter:
    return Counter(GPU, node, "board", "memory")


SUPPLY = Supply(
    room={Room(NodeName(node), "cpu"): CPU_OF_NODE for node in NODES},
    nodes={NodeGroupName("h100"): MOST_NEW_NODES},
    shares={Share(a_device("gpu-shared", node), "memory"): MEMORY_OF_SHARED for node in NODES},
    counters={board(node): MEMORY_OF_BOARD for node in NODES},
    draws={
        a_device(f"mig-{size}", node): ((board(node), parse_quantity(f"{size}Gi")),)
        for node in NODES
        for size in (20, 40)
    },
)


@st.composite
def members(draw: st.DrawFn) -> tuple[Member, ...]:
    found: list[Member] = []
    for index in range(draw(st.integers(1, 3))):
        node = draw(st.sampled_from(NODES))
        whole = draw(st.lists(st.sampled_from(("gpu-0", "gpu-1", "mig-20", "mig-40")), unique=True, max_size=2))
        claims = [a_claim(*(a_device(name, node) for name in whole))] if whole else []
        if draw(st.booleans()):
            amount = draw(st.sampled_from(("20Gi", "50Gi")))
            claims.append(a_claim(a_device("gpu-shared", node), name="share", share_of={"memory": amount}))
        if draw(st.booleans()):
            claims.append(a_claim(a_device("nic-0", node), name="nic", shared="claim/team/nic"))
        found.append(a_member(on(node), *claims, index=index, resources={"cpu": draw(st.sampled_from(("2", "7")))}))
    return tuple(found)


@st.composite
def commands(draw: st.DrawFn) -> LedgerCommand:
    gang, attempt = draw(st.sampled_from(GANGS)), draw(st.integers(1, 4))
    match draw(st.integers(0, 9)):
        case 0:
            return ReleaseGang(gang, draw(st.sampled_from(("cancelled", "expired"))))
        case 1:
            return BookGang(gang, attempt, a_refusal(), SUPPLY, 1, NOON)
        case 2:
            return ConfirmGang(gang, attempt, Unfit(()), SUPPLY, 1)
        case 3 | 4:
            return ConfirmGang(gang, attempt, draw(members()), SUPPLY, 1)
        case _:
            orders = [("h100", draw(st.integers(1, 2)))] if draw(st.booleans()) else []
            return BookGang(gang, attempt, a_plan(*draw(members()), orders=orders), SUPPLY, 1, NOON)


def run(history: Sequence[LedgerCommand]) -> list[LedgerEvent]:
    ledger, events = LEDGER.initial, list[LedgerEvent]()
    for command in history:
        try:
            decided = LEDGER.decide(command, ledger)
        except PlanConflicts:
            continue
        ledger = LEDGER.fold(decided, ledger)
        events.extend(decided)
        check(events)
    return events


def check(events: Sequence[LedgerEvent]) -> None:
    """Adds up what stands after `events` and compares it with what there is."""
    standing: dict[GangId, tuple[Member, ...]] = {}
    ordered: dict[GangId, int] = {}
    for event in events:
        match event:
            case GangBooked(gang, _, plan):
                standing[gang] = plan.members
                ordered[gang] = plan.new_nodes
            case GangConfirmed(gang, _, confirmed):
                standing[gang] = confirmed
            case GangReleased(gang):
                standing.pop(gang, None)
                ordered.pop(gang, None)
            case _:
                pass
    holders, used = Tally[str](), Tally[str]()
    for gang, its in standing.items():
        once: set[tuple[GangId, str, str]] = set()
        for member in its:
            node = str(member.target)
            used[f"cpu {node}"] += dict(member.resources)["cpu"]
            for claim in member.claims:
                for result in claim.results:
                    key = (gang, claim.shared, str(result.device))
                    if claim.shared and key in once:
                        continue
                    once.add(key)
                    if result.share:
                        used[f"share {node}"] += dict(result.consumed)["memory"]
                    else:
                        holders[str(result.device)] += 1
                    if result.device.device.startswith("mig-"):
                        used[f"board {node}"] += parse_quantity(f"{result.device.device[4:]}Gi")
    assert sum(ordered.values()) <= MOST_NEW_NODES
    assert all(count == 1 for count in holders.values()), f"held twice: {holders}"
    for node in NODES:
        assert used[f"cpu {node}"] <= CPU_OF_NODE
        assert used[f"share {node}"] <= MEMORY_OF_SHARED
        assert used[f"board {node}"] <= MEMORY_OF_BOARD


@settings(max_examples=300, deadline=None)
@given(st.lists(commands(), max_size=25))
def test_nothing_is_promised_twice_at_any_moment(history: list[LedgerCommand]) -> None:
    run(history)


@settings(max_examples=150, deadline=None)
@given(st.lists(commands(), max_size=15), st.data())
def test_commands_that_come_again_later_add_no_event_of_their_attempt(
    history: list[LedgerCommand], data: st.DataObject
) -> None:
    events = run(history)
    ledger = LEDGER.fold(events)
    answered = {(event.gang, event.attempt) for event in events if isinstance(event, GangBooked | GangConfirmed)}
    for command in data.draw(st.permutations(history)):
        if isinstance(command, BookGang) and (command.gang, command.attempt) in answered:
            assert LEDGER.decide(command, ledger) == []


@settings(max_examples=150, deadline=None)
@given(st.lists(commands(), max_size=20))
def test_once_released_a_gang_holds_nothing_for_ever(history: list[LedgerCommand]) -> None:
    events = run([*history, *(ReleaseGang(gang, "failed") for gang in GANGS), *history])
    ledger = LEDGER.fold(events)
    assert ledger.bookings() == {}
    assert sum(isinstance(event, GangReleased) for event in events) == len(GANGS)


def test_the_check_finds_a_device_that_is_promised_twice() -> None:
    plan = a_plan(a_member(on("node-1"), a_claim(a_device("gpu-0")), resources={"cpu": "2"}))
    try:
        check([GangBooked(gang, 1, plan, 1, NOON) for gang in GANGS[:2]])
    except AssertionError:
        return
    raise AssertionError("the double promise went unnoticed")
