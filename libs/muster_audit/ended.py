"""Outcomes that end a pod's scheduling attempt whatever other nodes offer (dra-semantics §0.1), and their cure."""

from collections.abc import Iterable, Sequence

from muster_audit.causes import FATAL_CAUSES
from muster_audit.expressions import guarded_by, mentions_of
from muster_audit.rows import Row
from muster_audit.scene import Scene
from muster_audit.selector_misses import value_of
from muster_audit.words import Cause, ScaleUp, Word
from muster_dra import ClaimSpec, Device, Fatal, FatalKind
from muster_types import DeviceId


def ended(fatal: Fatal, subject: str, specs: Iterable[ClaimSpec], scene: Scene) -> Row:
    """The row of a subject with claims of these specs."""
    cause = FATAL_CAUSES[fatal.kind]
    word = Word.SELECTOR_ERROR if cause is Cause.SELECTOR_ERROR else Word.INFEASIBLE
    remedy = _mend(fatal, specs, scene)
    return Row(subject, word, cause.value, why=fatal.message, remedy=remedy, scale_up=ScaleUp.NEVER)


def _mend(fatal: Fatal, specs: Iterable[ClaimSpec], scene: Scene) -> str:
    match fatal.kind:
        case FatalKind.CLASS_MISSING:
            return "create the DeviceClass, or name one that exists"
        case FatalKind.EXPRESSION:
            devices = list(scene.published.devices.items())
            tests = [test for each in _expressions(specs) for test in unguarded(each, devices)]
            guard = " && ".join(dict.fromkeys(tests))
            return f"guard it with a presence test: {guard} && ..." if tests else "mend the expression"
        case FatalKind.TOO_MANY_DEVICES:
            return "ask for at most 32 devices in one claim; spread the rest over further claims"
        case _:
            return ""


def _expressions(specs: Iterable[ClaimSpec]) -> list[str]:
    found: list[str] = []
    for spec in specs:
        for request in spec.requests:
            for option in (request.exactly, *request.first_available):
                found += [each for each in (option.selectors if option is not None else ()) if each]
    return found


def unguarded(expression: str, devices: Sequence[tuple[DeviceId, Device]]) -> list[str]:
    """Presence tests that an expression lacks: what it names, does not test, and some device does not publish."""
    guarded = guarded_by(expression)
    return [
        f'"{each.name}" in device.{each.part}["{each.domain}"]'
        for each in mentions_of(expression)
        if each not in guarded and any(not value_of(each, id_.driver, device) for id_, device in devices)
    ]
