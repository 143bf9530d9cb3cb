"""Booking over an in-memory store, with everything else at hand."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest

from muster.events.claims.v1 import claims_pb2
from muster_claim_matcher.domain.ledger import LEDGER, Ledger, LedgerCommand, LedgerEvent
from muster_claim_matcher.domain.seen import ListCompleted, ObjectSeen
from muster_claim_matcher.domain.wishes import BookingAsked, ConfirmationAsked, Wish
from muster_claim_matcher.handlers.book import Booker
from muster_claim_matcher.handlers.cluster import Clusters
from muster_claim_matcher.handlers.confirm import Confirmer
from muster_claim_matcher.handlers.subjects import ledger_subject
from muster_claim_matcher.handlers.wishes import Wishes
from muster_claim_matcher.handlers.world import World
from muster_claim_matcher.wire.events import LedgerWire
from muster_eventstore import Cause, Codec, CommandHandler, MemoryServer, MemoryStore, TransientError
from muster_plan import CHEAPEST
from muster_types import ClusterId, GangId, NodeName, ObjectKey
from unit.muster_claim_matcher.builders import NOON
from unit.muster_claim_matcher.objects import (
    a_claim_template,
    a_class,
    a_group,
    a_node,
    a_pod_template,
    a_request,
    a_slice,
)

HERE = ClusterId("local")
CODEC = Codec.of_modules(claims_pb2)
A, B = GangId("a-111111"), GangId("b-222222")
T = TypeVar("T")


@dataclass
class Level:
    """Everything up to `position` is taken in, nothing more comes."""

    position: int = 10

    async def wait_for(self, sequence: int, deadline: float) -> bool:
        return self.position >= sequence


async def at_once(compute: Callable[[], T]) -> T:
    return compute()


async def newest() -> int:
    return 10


def asked(gang: GangId, *, attempt: int = 1, pods: int = 1, gpus: int = 4, sequence: int = 0) -> BookingAsked:
    name = gang.split("-", maxsplit=1)[0]
    objects = (a_pod_template("w", "c"), a_claim_template("c", gpus))
    wish = Wish("team", name, a_request(name, "w", pods), objects)
    return BookingAsked(gang, attempt, wish, (), (), sequence)


def a_world(*, listed: bool = True) -> World:
    world = World()
    objects = [a_class(), a_node("node-1"), a_slice("node-1", 4), a_group("h100", most=1, devices=4)]
    for obj in objects:
        meta = obj["metadata"]
        assert isinstance(meta, dict)
        world.cluster(HERE).apply(ObjectSeen(ObjectKey(str(obj["kind"]), "", str(meta["name"])), obj))
    if listed:
        world.cluster(HERE).apply(ListCompleted("dump"))
    return world


@dataclass
class Replica:
    """A claim-matcher of its own on a common store."""

    ledgers: CommandHandler[LedgerCommand, Ledger, LedgerEvent]
    booker: Booker

    @property
    def ledger(self) -> Ledger:
        return self.ledgers.state(ledger_subject(HERE))

    async def book(self, request: BookingAsked) -> None:
        await self.booker.book(HERE, request, Cause.first(f"{request.gang}/{request.attempt}"))


def a_replica(server: MemoryServer, *, world: World | None = None) -> Replica:
    ledgers = CommandHandler(
        MemoryStore(server), CODEC, LEDGER, LedgerWire(), stream="claims", source="/test", now=lambda: NOON
    )
    clusters = Clusters(world or a_world(), Level(), newest, 0.0)
    return Replica(ledgers, Booker(clusters, ledgers, Wishes(), at_once, lambda: NOON, CHEAPEST))


def a_server() -> MemoryServer:
    return MemoryServer(lambda: NOON)


async def test_two_replicas_that_race_for_one_node_give_each_gang_a_right_answer_trap_t48() -> None:
    server = a_server()
    first, second = a_replica(server), a_replica(server)
    await asyncio.gather(first.book(asked(A)), second.book(asked(B)))
    reader = a_replica(server)
    await reader.ledgers.load([ledger_subject(HERE)])
    bookings = reader.ledger.bookings()
    assert set(bookings) == {A, B}
    targets = sorted(str(member.target) for booking in bookings.values() for member in booking.members)
    assert targets == ["h100#0", "node-1"]


async def test_f4_a_gang_that_finds_everything_promised_is_told_so_by_the_second_plan() -> None:
    server = a_server()
    replicas = [a_replica(server) for _ in range(3)]
    gangs = [GangId(f"{letter}-333333") for letter in "abc"]
    await asyncio.gather(*(each.book(asked(gang)) for each, gang in zip(replicas, gangs, strict=True)))
    reader = a_replica(server)
    await reader.ledgers.load([ledger_subject(HERE)])
    assert len(reader.ledger.bookings()) == 2
    assert all(reader.ledger.standing(gang).answered == 1 for gang in gangs)


async def test_a_booking_that_comes_again_plans_nothing() -> None:
    replica = a_replica(a_server())
    await replica.book(asked(A))
    before = replica.ledger
    await replica.booker.book(HERE, asked(A), Cause.first("another delivery"))
    assert replica.ledger is before


async def test_a_verification_finds_a_booking_that_was_stored_after_the_ledger_was_read() -> None:
    server = a_server()
    former, successor = a_replica(server), a_replica(server)
    await successor.ledgers.load([ledger_subject(HERE)])
    request = asked(A)
    await former.book(request)
    wishes = Wishes()
    wishes.put(HERE, A, request.wish)
    clusters = Clusters(a_world(), Level(), newest, 0.0)
    confirmer = Confirmer(clusters, successor.ledgers, wishes, at_once)
    await confirmer.confirm(HERE, ConfirmationAsked(A, 1, (), 0), Cause.first("confirm"))
    standing = successor.ledger.standing(A)
    assert (standing.answered, standing.verified) == (1, 1)
    assert standing.booking is not None
    assert standing.booking.confirmed


async def test_a_gang_may_keep_its_own_devices_in_its_next_attempt() -> None:
    replica = a_replica(a_server())
    await replica.book(asked(A))
    await replica.book(asked(A, attempt=2))
    booking = replica.ledger.bookings()[A]
    assert booking.attempt == 2
    assert [str(member.target) for member in booking.members] == ["node-1"]


async def test_a_plan_is_made_on_the_facts_it_must_have_seen_or_not_at_all() -> None:
    replica = a_replica(a_server())
    with pytest.raises(TransientError, match="fact 11 of stream 'observed' is not here"):
        await replica.book(asked(A, sequence=11))
    assert replica.ledger.gangs == {}


async def test_a_cluster_whose_list_is_not_whole_gives_no_plan() -> None:
    replica = a_replica(a_server(), world=a_world(listed=False))
    with pytest.raises(TransientError, match="no source has reported all its objects"):
        await replica.book(asked(A))


async def test_a_template_that_is_missing_is_no_never() -> None:
    replica = a_replica(a_server())
    wish = Wish("team", "a", a_request("a", "w", 1), ())
    await replica.book(BookingAsked(A, 1, wish, (), (), 0))
    assert replica.ledger.standing(A).booking is None
    assert replica.ledger.standing(A).answered == 1


def test_the_world_of_the_tests_has_one_node_of_four_devices() -> None:
    snapshot = a_world().cluster(HERE).snapshot()
    assert snapshot.node(NodeName("node-1")) is not None
    assert not snapshot.problems
