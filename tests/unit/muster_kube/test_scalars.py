"""Unquoted scalars as Kubernetes reads them."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster_kube.scalars import plain_scalar


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("off", False),
        ("y", "y"),
        ("n", "n"),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("9223372036854775807", 9223372036854775807),
        ("0x1F", 31),
        ("-0b101", -5),
        ("0755", 493),
        ("0o17", 15),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("08", 8.0),
        ("1e999", "1e999"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("12:30", "12:30"),
        ("2026-11-30", "2026-11-30"),
        ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z"),
        ("1_000", "1_000"),
        ("9.0.0", "9.0.0"),
        ("80Gi", "80Gi"),
        ("-", "-"),
        ("..", ".."),
    ],
)
def test_a_scalar_has_its_json_value(written: str, value: object) -> None:
    found = plain_scalar(written)
    assert (found, type(found)) == (value, type(value))


@given(st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False))
def test_what_yaml_writes_is_read_back(value: object) -> None:
    assert plain_scalar(yaml.safe_dump(value).splitlines()[0]) == value
