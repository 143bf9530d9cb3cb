"""Commands from the work queue: one after the other for each cluster, whose ledger has one writer."""

import asyncio
from collections.abc import Callable

from muster.commands.claims.v1 import claims_pb2 as pb
from muster_claim_matcher.domain.wishes import BookingAsked, ConfirmationAsked, ReleaseAsked
from muster_claim_matcher.handlers.book import Booker
from muster_claim_matcher.handlers.confirm import Confirmer
from muster_claim_matcher.handlers.release import Releaser
from muster_claim_matcher.wire.commands import from_command
from muster_eventstore import (
    Cause,
    Codec,
    Decoded,
    Delivery,
    InvalidSubject,
    PermanentError,
    decode_or_refuse,
    parse_command,
)
from muster_types import ClusterId

SERVICE = "claims"  # in subjects of commands


class Commands:
    """Decodes a delivery, calls its use case, and returns when the outcome is stored."""

    def __init__(
        self,
        codec: Codec,
        booker: Booker,
        confirmer: Confirmer,
        releaser: Releaser,
        clusters: tuple[str, ...],
        recorded: "LedgerPosition",
    ) -> None:
        self._codec = codec
        self._booker = booker
        self._confirmer = confirmer
        self._releaser = releaser
        self._clusters = frozenset(clusters)
        self._recorded = recorded

    async def handle(self, delivery: Delivery) -> None:
        """Raises PermanentError for what will never be understood, TransientError for what may be tried again."""
        decoded = decode_or_refuse(self._codec, delivery)
        subject = parse_command(delivery.message.subject)
        if isinstance(subject, InvalidSubject):
            raise PermanentError("BAD_SUBJECT", f"{subject.subject}: {subject.reason}")
        if subject.cluster not in self._clusters:
            raise PermanentError("UNKNOWN_CLUSTER", f"cluster {subject.cluster!r} is not kept here")
        cluster, cause = ClusterId(subject.cluster), Cause.of(decoded.meta)
        for message in decoded.batch.events:
            match from_command(message):
                case BookingAsked() as asked:
                    await self._booker.book(cluster, asked, cause)
                case ConfirmationAsked() as asked:
                    await self._confirmer.confirm(cluster, asked, cause)
                case ReleaseAsked() as asked:
                    await self._releaser.release(cluster, asked, cause)
        self._recorded.tell()

    def key(self, delivery: Delivery) -> str:
        """The cluster; but what may have to wait until the cluster shows what a gang's pods hold lets others pass: the
        release of a consumed gang, a repair, a verification."""
        subject = parse_command(delivery.message.subject)
        if isinstance(subject, InvalidSubject):
            return delivery.message.subject
        decoded = self._codec.decode(delivery.message.headers, delivery.message.data)
        if isinstance(decoded, Decoded):
            for message in decoded.batch.events:
                match message:
                    case pb.ReleaseGang(gang_id=gang, cause="consumed") | pb.ConfirmGang(gang_id=gang):
                        return f"{subject.cluster}/{gang}"
                    case pb.BookGang(gang_id=gang) if message.lost_nodes:
                        return f"{subject.cluster}/{gang}"
                    case _:
                        pass
        return subject.cluster


class LedgerPosition:
    """How far the stream `claims` is reflected: callers may wait for it."""

    def __init__(self, position: Callable[[], int]) -> None:
        self._position = position
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def position(self) -> int:
        return self._position()

    def tell(self) -> None:
        """Something may have been recorded."""
        task = asyncio.create_task(self._notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait_for(self, sequence: int, deadline: float) -> bool:
        """Until the ledgers reflect a sequence of `claims`; False after `deadline` seconds."""
        try:
            async with asyncio.timeout(deadline), self._changed:
                await self._changed.wait_for(lambda: self._position() >= sequence)
        except TimeoutError:
            return False
        return True

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
