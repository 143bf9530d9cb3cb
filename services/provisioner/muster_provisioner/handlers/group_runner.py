"""Brings the orders of one node group to their end: looks, plans one step, takes it, looks again.

One writer at a time: placing an order and every step share one lock, and while the outcome of a write is unknown no
other write of ours is made in the group, so that what the driver shows can be read (rule N-5.2 of the capacity notes).
"""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import datetime, timedelta

import structlog

from muster_eventstore import Cause, TransientError
from muster_provisioner.domain.group import Sight, attribute
from muster_provisioner.domain.messages import (
    Baseline,
    CancelOrder,
    OrderIntended,
    OrderTerms,
    PlaceOrder,
    RecordAcknowledgement,
    RecordCancellation,
    RecordLaunches,
    RecordShortfall,
    RefuseOrder,
    ShortfallClass,
)
from muster_provisioner.domain.order import Order, Stage
from muster_provisioner.domain.steps import (
    Acknowledge,
    Awareness,
    CallIncrease,
    CloseShort,
    Delete,
    FinishCancel,
    Launch,
    LowerTarget,
    Outlook,
    Step,
    Wait,
    look,
    notice,
    plan_step,
)
from muster_provisioner.handlers.metrics import DRIVER_FAILURES, OVERDUE
from muster_provisioner.handlers.order_desk import GroupKey, OrderDesk
from muster_provisioner.handlers.pace import Pace
from muster_provisioner.handlers.waiting import never, wait_first
from muster_provisioner.ports import DriverError, DriverErrorKind, Drivers, NodeGroupDriver, OrderTags, Unserved
from muster_servicekit.clock import Clock
from muster_types import OrderId

log = structlog.get_logger("muster.orders")

_SHORTFALLS = {
    DriverErrorKind.STOCKOUT: ShortfallClass.STOCKOUT,
    DriverErrorKind.QUOTA: ShortfallClass.QUOTA,
    DriverErrorKind.PERMANENT: ShortfallClass.OTHER,
}


class GroupRunner:
    """The only writer of one node group in this process."""

    def __init__(self, key: GroupKey, desk: OrderDesk, drivers: Drivers, clock: Clock, pace: Pace) -> None:
        self._key = key
        self._desk = desk
        self._drivers = drivers
        self._clock = clock
        self._pace = pace
        self._turn = asyncio.Condition()
        self._wake = asyncio.Event()
        self._aware: dict[OrderId, Awareness] = {}
        self._undeclared_since: dict[OrderId, datetime] = {}
        self._quiet_until: datetime | None = None
        self._failures = 0

    async def place(self, terms: OrderTerms, cause: Cause) -> None:
        """Record the intent of an order; the increase is sent by `run`. Returns once it is recorded, or is a repeat.

        Raises DomainError (refused), TransientError (try again: the group is not declared yet, its driver is away).
        """
        async with self._turn:
            await self._turn.wait_for(lambda: self._known(terms) or not self._is_uncertain())
            now = self._clock.now()
            known = self._known(terms)
            baseline = Baseline(0, ()) if known else await self._baseline(terms, now)
            command = (
                PlaceOrder(terms, baseline, now)
                if isinstance(baseline, Baseline)
                else RefuseOrder(terms, ShortfallClass.OTHER, baseline.reason, now)
            )
            events = await self._desk.record(self._key.cluster, terms.order, command, cause)
            self._undeclared_since.pop(terms.order, None)
            # A command that was handled before, by whomever, gives the intent of that time: that one may be sent.
            if not known and isinstance(baseline, Baseline) and events == (OrderIntended(terms, baseline, now),):
                self._aware[terms.order] = Awareness(unsent=True)
        self.wake()

    async def cancel(self, command: CancelOrder, cause: Cause) -> None:
        """Record that nodes of an order are to be given back. Raises TransientError."""
        await self._desk.record(self._key.cluster, command.order, command, cause)
        self.wake()

    def wake(self) -> None:
        """Something may have changed: look now."""
        self._wake.set()

    async def run(self) -> None:
        """Bring orders to their end, until cancelled."""
        while True:
            driver = self._drivers.keeper_of(self._key.group)
            change = asyncio.ensure_future(never() if driver is None else driver.wait_change(self._key.group))
            self._wake.clear()
            try:
                pause = await self.run_once()
                waits: list[Awaitable[object]] = [self._wake.wait()]
                if pause is not None:
                    waits.append(self._clock.sleep(pause.total_seconds()))
                await wait_first(*waits, change)
            finally:
                change.cancel()
                await asyncio.gather(change, return_exceptions=True)

    async def run_once(self) -> timedelta | None:
        """Take every step that can be taken now; how long until the next look, None: until something happens.

        Raises Fenced and DomainError; failures of the driver are logged, and looked at again.
        """
        async with self._turn:
            try:
                return await self._steps()
            finally:
                self._turn.notify_all()

    async def _steps(self) -> timedelta | None:
        last: tuple[OrderId, Step] | None = None
        while True:
            now = self._clock.now()
            orders = self._desk.watched(self._key, now, self._pace.late_window)
            self._forget_all_but(orders)
            if not orders:
                return None
            if self._quiet_until is not None and now < self._quiet_until:
                return self._quiet_until - now
            driver = self._drivers.keeper_of(self._key.group)
            if driver is None:
                return self._pace.late_poll
            try:
                sight = await self._look(driver)
            except DriverError as error:
                return self._failed("look", error)
            chosen = self._choose(driver, orders, sight, now)
            if isinstance(chosen, timedelta):
                self._failures = 0
                return chosen
            outlook, step = chosen
            if (outlook.order.terms.order, step) == last:
                return self._pace.poll  # it changed nothing, so it is no use to repeat it at once
            last = (outlook.order.terms.order, step)
            failed = await self._take(driver, outlook, step)
            if failed is not None:
                return failed

    def _choose(
        self, driver: NodeGroupDriver, orders: Sequence[Order], sight: Sight, now: datetime
    ) -> tuple[Outlook, Step] | timedelta:
        """The first step that is more than waiting; else how long to wait."""
        traits = driver.traits(self._key.group)
        tidied = frozenset(order for order, aware in self._aware.items() if aware.tidied)
        attribution = attribute(sight, orders, self._desk.claimed(self._key), tidied)
        unresolved = [order for order in orders if order.unresolved]
        pauses = [self._pace.poll if any(_is_open(order) for order in orders) else self._pace.late_poll]
        for order in unresolved or orders:
            outlook = look(order, sight, attribution, orders)
            id = order.terms.order
            aware = self._aware[id] = notice(self._aware.get(id, Awareness()), outlook, now)
            step = plan_step(outlook, aware, traits, now)
            if not isinstance(step, Wait):
                return outlook, step
            if step.until is not None:
                pauses.append(max(step.until - now, timedelta(0)))
            if step.tidy and not aware.tidied:
                self._aware[id] = Awareness(tidied=True)
        return min(pauses)

    async def _take(self, driver: NodeGroupDriver, outlook: Outlook, step: Step) -> timedelta | None:
        """Take one step; how long to wait after a failure, None when it was taken."""
        order, group = outlook.order.terms.order, self._key.group
        log.info("step", cluster=self._key.cluster, group=group, order=order, step=type(step).__name__)
        try:
            match step:
                case CallIncrease():
                    return await self._send(driver, outlook)
                case Acknowledge(target):
                    await self._record(order, RecordAcknowledgement(target, self._clock.now()))
                case Launch(machines):
                    await self._record(order, RecordLaunches(machines, self._clock.now()))
                case CloseShort(kind, message):
                    await self._record(order, RecordShortfall(kind, message, self._clock.now()))
                case FinishCancel(target):
                    await self._record(order, RecordCancellation(target, self._clock.now()))
                case LowerTarget(by):
                    await driver.decrease_target(group, by)
                case Delete(instances):
                    await driver.delete(group, instances)
                case Wait():
                    pass
        except DriverError as error:
            if error.kind is DriverErrorKind.TRANSIENT:
                self._quiet_until = self._clock.now() + driver.traits(group).settle
            OVERDUE.inc()
            return self._failed(type(step).__name__, error)
        except TransientError as error:
            log.warning("not recorded yet", group=group, order=order, error=str(error))
            return self._pace.poll
        return None

    async def _send(self, driver: NodeGroupDriver, outlook: Outlook) -> timedelta | None:
        terms = outlook.order.terms
        self._aware[terms.order] = Awareness()  # whatever happens from here on, it may have been sent
        tags = OrderTags(terms.order, terms.gang, terms.first_ordinal)
        try:
            await driver.increase(terms.group, terms.count, tags)
        except DriverError as error:
            if error.kind is DriverErrorKind.TRANSIENT:
                self._aware[terms.order] = Awareness(uncertain_since=self._clock.now())
                self._failed("CallIncrease", error)
                return None  # look at once: the answer was lost, perhaps the order was not
            shortfall = RecordShortfall(_SHORTFALLS[error.kind], error.message, self._clock.now())
            await self._record(terms.order, shortfall)
            return None
        target = outlook.target + terms.count
        await self._record(terms.order, RecordAcknowledgement(target, self._clock.now()))
        return None

    async def _record(
        self,
        order: OrderId,
        command: RecordAcknowledgement | RecordLaunches | RecordShortfall | RecordCancellation,
    ) -> None:
        await self._desk.record(self._key.cluster, order, command)

    async def _look(self, driver: NodeGroupDriver) -> Sight:
        group = self._key.group
        instances = await driver.instances(group)
        return Sight(await driver.target_size(group), instances)

    async def _baseline(self, terms: OrderTerms, now: datetime) -> Baseline | Unserved:
        driver = self._drivers.of(terms.group)
        if driver is None:
            since = self._undeclared_since.setdefault(terms.order, now)
            if now - since < self._pace.declaration_wait:
                raise TransientError(f"node group {terms.group} of order {terms.order} is not declared yet")
            return Unserved(f"node group {terms.group} is not declared")
        if isinstance(driver, Unserved):
            return driver
        try:
            sight = await self._look(driver)
        except DriverError as error:
            if error.kind is DriverErrorKind.TRANSIENT:
                raise TransientError(error.message) from error
            return Unserved(error.message)
        return Baseline(sight.target, tuple(sorted(each.id for each in sight.instances)))

    def _known(self, terms: OrderTerms) -> bool:
        return self._desk.get(self._key.cluster, terms.order) is not None

    def _is_uncertain(self) -> bool:
        now = self._clock.now()
        quiet = self._quiet_until is not None and now < self._quiet_until
        return quiet or any(order.unresolved for order in self._desk.watched(self._key, now, self._pace.late_window))

    def _failed(self, what: str, error: DriverError) -> timedelta:
        DRIVER_FAILURES.labels(what, error.kind.value).inc()
        log.warning("driver call failed", group=self._key.group, call=what, kind=error.kind.value, error=error.message)
        return self._pace.poll

    def _forget_all_but(self, orders: Sequence[Order]) -> None:
        kept = {order.terms.order for order in orders}
        self._aware = {id: aware for id, aware in self._aware.items() if id in kept}


def _is_open(order: Order) -> bool:
    return order.stage in (Stage.INTENDED, Stage.ACKNOWLEDGED, Stage.CANCELLING)
