"""Every recorded allocation is answered as recorded; `make conformance` also prints the slowest node."""

import pytest

from conformance.dra.corpus import NAMES, missing, score


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_allocation_is_answered_as_recorded(name: str) -> None:
    reason = missing(name)
    if reason is not None:
        pytest.skip(f"the recorded answers of shared/corpus are not at hand: {reason}")
    found = score(name)
    assert found.total > 0
    assert not found.faults, found.faults[:5]
