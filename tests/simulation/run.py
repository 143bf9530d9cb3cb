"""One seed from beginning to end, and what was found."""

import asyncio
import gc
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from muster_kube.parts import text
from muster_provisioner.ports import DriverError
from muster_types import ObjectKey
from simulation import objects
from simulation.faults import Fault
from simulation.incidents import play
from simulation.invariants import Checks, Violation
from simulation.loop import Stuck
from simulation.noise import quiet
from simulation.scenario import Scenario, make_scenario
from simulation.system import System

_LONGEST = 900.0  # virtual seconds after the last fault in which everything must come to an end
_WINDOW = 70.0  # longer than the provisioner looks for late nodes


@dataclass(slots=True)
class Result:
    """`violations` are empty for a clean run; `digest` is the same for the same seed and faults, wherever it runs."""

    seed: int
    violations: list[Violation]
    faults: list[Fault]
    ends: Counter[str]
    longest: int
    messages: int
    steps: int
    virtual: float
    digest: str
    story: list[str] = field(default_factory=list[str])
    by_gang: dict[str, str] = field(default_factory=dict[str, str])


@lru_cache(1)
def state_dir() -> Path:
    """Where services of a simulation write what nobody reads."""
    memory = Path("/dev/shm")  # noqa: S108 -- a directory of its own is made in it; a disk would take longer than the run
    return Path(tempfile.mkdtemp(prefix="muster-simulation-", dir=memory if memory.is_dir() else None))


def run_seed(seed: int, only: Collection[str] | None = None, *, story: bool = False) -> Result:
    """Run the scenario of a seed."""
    return run_whole(make_scenario(seed), only, story=story)


def run_whole(scenario: Scenario, only: Collection[str] | None = None, *, story: bool = False) -> Result:
    """Run a scenario; a benign one also without faults, to compare how its gangs end."""
    result = run_scenario(scenario, only, story=story)
    if scenario.benign and not result.violations:
        kept = None if only is None else [key for key in only if key.startswith("INCIDENT")]
        calm = run_scenario(scenario, kept, kind_network=True)
        if calm.violations:
            return calm
        if calm.by_gang != result.by_gang:
            told = f"with faults {result.by_gang}, without {calm.by_gang}"
            result.violations.append(Violation("4 same end", result.virtual, told))
    return result


def run_scenario(
    scenario: Scenario, only: Collection[str] | None = None, *, story: bool = False, kind_network: bool = False
) -> Result:
    """Run a scenario, with the faults of its seed, or only the named ones, or none (`kind_network`)."""
    with quiet() as bugs, _undisturbed():
        return _run(scenario, only, bugs, story=story, kind_network=kind_network)


def _run(
    scenario: Scenario, only: Collection[str] | None, bugs: list[str], *, story: bool, kind_network: bool
) -> Result:
    system = System(scenario, state_dir(), only, kind_network=kind_network)
    checks = Checks(system, bugs)
    loop = system.loop
    loop.set_exception_handler(lambda _, context: _unhandled(checks, context))
    try:
        loop.run_until_complete(loop.create_task(_drive(system, checks), context=loop.world.context.copy()))
    except Stuck as stuck:
        checks.report("liveness", str(stuck))
    finally:
        result = _result(system, checks, story=story)
        system.close()
    return result


async def _drive(system: System, checks: Checks) -> None:
    loop, scenario = system.loop, system.scenario
    system.start()
    for incident in scenario.incidents:
        loop.spawn(system.people, play(system, incident))
    await asyncio.sleep(max(gang.at for gang in scenario.gangs) + 1.0)
    quiet_since = await _settled(system, checks)
    system.faults.end = loop.time()
    system.note(f"faults end; quiet since {quiet_since:.1f} s")
    for process in system.processes.values():
        process.clock.ahead = 0.0
    if not await _wait(checks.decided, _LONGEST):
        checks.report("liveness", f"not decided {_LONGEST:g} s after the last fault: {checks.undecided()}")
        return
    await _ask_back(system)
    if not await _wait(lambda: checks.all_over() and checks.idle() is None, _LONGEST):
        checks.report("liveness", f"not over {_LONGEST:g} s after: {checks.undecided()}; {checks.idle()}")
        return
    await asyncio.sleep(_WINDOW)
    if not await _wait(lambda: checks.all_over() and checks.idle() is None, _LONGEST):
        checks.report("liveness", f"at work again after the end: {checks.undecided()}; {checks.idle()}")
        return
    await checks.at_end()
    if not checks.violations:
        await _restart_all(system, checks)


async def _settled(system: System, checks: Checks) -> float:
    """Until faults have their end, or nothing has moved for so long that no more is to be expected."""
    loop, seen, since = system.loop, -1, system.loop.time()
    while loop.time() < system.scenario.faults_end:
        count = len(system.record.messages)
        if count != seen or not checks.decided():
            seen, since = count, loop.time()
        elif loop.time() - since > 12.0:
            break
        await asyncio.sleep(1.0)
    return since


async def _ask_back(system: System) -> None:
    """Nobody waits any more for gangs that wait for capacity."""
    for gang in list(system.record.gangs.values()):
        if not gang.over:
            system.note(f"request {gang.name} is given up")
            system.cluster.delete(ObjectKey("ProvisioningRequest", objects.NAMESPACE, gang.name))


async def _restart_all(system: System, checks: Checks) -> None:
    """Everything that is recorded is read again, and nothing is sent (invariant 5)."""
    before = len(system.record.messages)
    calls = len(system.driver_calls)
    for process in system.processes.values():
        process.crash("the last restart", 0.1)
    await asyncio.sleep(8.0)
    sent = system.record.messages[before:]
    if sent or system.driver_calls[calls:]:
        told = ", ".join(f"{m.stream}/{m.sequence} {m.subject}" for m in sent[:5])
        checks.report("5 replay", f"a restart sent {told} {system.driver_calls[calls:]}")
    if (why := checks.idle()) is not None:
        checks.report("5 replay", f"a restart did not settle: {why}")


async def _wait(condition: Callable[[], bool], longest: float) -> bool:
    loop = asyncio.get_running_loop()
    end = loop.time() + longest
    while not condition():
        if loop.time() >= end:
            return False
        await asyncio.sleep(0.5)
    return True


def _unhandled(checks: Checks, context: dict[str, object]) -> None:
    error = context.get("exception")
    if isinstance(error, DriverError):
        return  # the caller of the driver is dead
    if error is None:
        return  # a task that was pending when its loop ended
    checks.report("bug", f"{text(context.get('message'))}: {type(error).__name__}: {error}")


def _result(system: System, checks: Checks, *, story: bool) -> Result:
    record = system.record
    digest = sha256()
    for message in record.messages:
        digest.update(f"{message.stream}/{message.sequence} {message.subject} {message.time} ".encode())
        digest.update(message.data)
    return Result(
        seed=system.scenario.seed,
        violations=checks.violations,
        faults=list(system.faults.struck),
        ends=Counter(gang.state for gang in record.gangs.values()),
        longest=max((gang.events for gang in record.gangs.values()), default=0),
        messages=len(record.messages),
        steps=system.loop.steps,
        virtual=system.loop.time(),
        digest=digest.hexdigest()[:16],
        story=checks.story() if story or checks.violations else [],
        by_gang={gang.name: gang.state for gang in sorted(record.gangs.values(), key=lambda g: g.id)},
    )


@lru_cache(1)
def _freeze() -> None:
    """Once: what the modules hold need not be looked through again. Later it would keep the garbage of a run."""
    gc.collect()
    gc.freeze()


@contextmanager
def _undisturbed() -> Generator[None]:
    """Garbage is collected between runs only; what was pending in dead processes may complain to nobody."""
    hook, old = sys.unraisablehook, gc.isenabled()
    # A `finally` block of what is collected may ask for a loop: without this it would get a new one, and keep the run.
    asyncio.set_event_loop(None)
    gc.disable()
    _freeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            sys.unraisablehook = lambda _: None
            gc.collect()
            sys.unraisablehook = hook
            if old:
                gc.enable()
