import pytest

from muster_audit.causes import FATAL_CAUSES, judged
from muster_audit.words import Cause
from muster_dra import FatalKind, Reason, ReasonCode


@pytest.mark.parametrize("code", [each for each in ReasonCode if each is not ReasonCode.ALL_IN_USE])
def test_every_reason_of_the_engine_has_a_word(code: ReasonCode) -> None:
    causes = (Reason(ReasonCode.HELD, "c", "r", wanted=2, found=1),) if code is ReasonCode.NO_ALTERNATIVE else ()
    found = judged((Reason(code, "c", "r", wanted=2, found=1, causes=causes),), {})
    assert isinstance(found.cause, Cause)
    assert found.text


def test_every_end_of_an_attempt_has_a_word() -> None:
    assert set(FATAL_CAUSES) == set(FatalKind)


def test_what_is_hardest_to_cure_decides_for_a_node() -> None:
    held = Reason(ReasonCode.HELD, "c", "a", wanted=2, found=1)
    nothing = Reason(ReasonCode.CLASS_MATCHES_NOTHING, "c", "b")
    assert judged((held, nothing), {}).cause is Cause.NO_INVENTORY


def test_of_alternatives_the_nearest_gives_the_word() -> None:
    far = Reason(ReasonCode.CLASS_MATCHES_NOTHING, "c", "r/a")
    near = Reason(ReasonCode.TAINTED, "c", "r/b", wanted=1)
    both = Reason(ReasonCode.NO_ALTERNATIVE, "c", "r", causes=(far, near))
    assert judged((both,), {}).cause is Cause.TAINT


def test_a_share_of_what_is_missing_orders_misses_of_one_kind() -> None:
    one = judged((Reason(ReasonCode.HELD, "c", "r", wanted=4, found=3),), {}).nearness
    more = judged((Reason(ReasonCode.HELD, "c", "r", wanted=4, found=1),), {}).nearness
    assert one < more
