from muster_audit.words import CURABLE, Cause, ScaleUp, Word

README = (
    "shortage fragmentation topology-mismatch selector-mismatch attribute-missing counters-exhausted "
    "capacity-exhausted policy-violation taint pool-incomplete pool-inconsistent pool-invalid no-inventory "
    "class-missing template-missing quota gang-partial held-for-gang-repair limit api-limit"
)


def test_the_reasons_are_those_of_the_field_cases() -> None:
    assert set(README.split()) <= {each.value for each in Cause}


def test_what_other_capacity_could_cure_is_no_fault_of_an_object() -> None:
    assert {Cause.SHORTAGE, Cause.FRAGMENTATION} <= CURABLE
    assert not {Cause.QUOTA, Cause.CLASS_MISSING, Cause.SELECTOR_ERROR, Cause.API_LIMIT} & CURABLE


def test_words_are_written_as_people_read_them() -> None:
    assert f"{Word.SCALE_UP} {ScaleUp.UNKNOWN}" == "scale-up unknown: no device template"
