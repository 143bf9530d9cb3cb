"""Commands from the work queue: in order for each node group, side by side across groups."""

from muster_eventstore import (
    Cause,
    Codec,
    CommandSubject,
    ConsumerSpec,
    Decoded,
    Delivery,
    EventStore,
    PermanentError,
    Worker,
    command_filter,
    decode_or_refuse,
    parse_command,
)
from muster_provisioner.handlers.runners import Runners
from muster_provisioner.wire.commands import Wanted, from_command, group_of
from muster_servicekit.clock import Clock
from muster_types import ClusterId

DURABLE = "provisioner"


def order_worker(store: EventStore, codec: Codec, runners: Runners, clock: Clock) -> Worker:
    """The consumer of PlaceOrder and CancelOrder; a command is acknowledged once what it asks for is recorded."""

    async def handle(delivery: Delivery) -> None:
        decoded = decode_or_refuse(codec, delivery)
        subject = parse_command(delivery.message.subject)
        if not isinstance(subject, CommandSubject):
            raise PermanentError("UNKNOWN_SUBJECT", f"{subject.subject}: {subject.reason}")
        cluster, cause = ClusterId(subject.cluster), Cause.of(decoded.meta)
        for message in decoded.batch.events:
            wanted = from_command(message, clock.now())
            if isinstance(wanted, Wanted):
                await runners.place(cluster, wanted.terms, cause)
            else:
                await runners.cancel(cluster, wanted, cause)

    def key(delivery: Delivery) -> str:
        decoded = codec.decode(delivery.message.headers, delivery.message.data)
        subject = parse_command(delivery.message.subject)
        if not isinstance(decoded, Decoded) or not isinstance(subject, CommandSubject):
            return delivery.message.subject  # it will be refused
        return f"{subject.cluster}/{','.join(map(group_of, decoded.batch.events))}"

    spec = ConsumerSpec("commands", DURABLE, (command_filter("provisioning"),))
    return Worker(store, spec, handle, now=clock.now, key=key, concurrency=64)
