"""Every recorded case from the field, entry by entry (shared/field; `make field` prints them as a table)."""

import pytest

from field.cases import Case, cases, missing
from field.judge import judge

pytestmark = pytest.mark.skipif(
    bool(missing()), reason="the recorded cases of shared/field are not at hand; MUSTER_FIELD names their folder"
)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_the_audit_says_what_the_case_records(case: Case) -> None:
    assert [f"{each.subject}: {each.wrong}" for each in judge(case) if each.wrong] == []
