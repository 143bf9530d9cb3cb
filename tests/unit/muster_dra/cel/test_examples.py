"""The examples of dra-semantics §4.5, row by row."""

import pytest

from unit.muster_dra.cel.outcomes import outcome

ROWS = [
    ("row 1", 'device.driver == "gpu.example.com" && A.model == "A100"', "true"),
    ("row 2", "A.numa == 0", "runtime error"),
    ("row 3", "has(A.numa) && A.numa == 0", "false"),
    ("row 4", "A.?numa.orValue(-1) == -1", "true"),
    ("row 5", '"nic.example.com" in device.attributes', "false"),
    ("row 6", 'device.attributes["nic.example.com"].mtu > 1500', "runtime error"),
    ("row 7", '"mtu" in device.attributes["nic.example.com"]', "false"),
    ("row 8", 'C.memory.compareTo(quantity("40Gi")) >= 0', "true"),
    ("row 9", 'C.memory >= quantity("40Gi")', "compile error"),
    ("row 10", 'C.memory == "40Gi"', "compile error"),
    ("row 11", 'A.driverVersion.isGreaterThan(semver("v535.0", true))', "true"),
    ("row 12, equal", 'A.driverVersion == "550.54.0"', "runtime error"),
    ("row 12, the other way round", '"550.54.0" == A.driverVersion', "false"),
    ("row 12, unequal", 'A.driverVersion != "550.54.0"', "true"),
    ("row 13", 'A.index == "0"', "false"),
    ("row 14", 'A.index < "5"', "runtime error"),
    ("row 15", "A.ecc", "true"),
    ("row 16", "A.model", "runtime error"),
    ("row 17", 'A.nope || device.driver.startsWith("gpu")', "true"),
    ("row 18, list", "A.links.includes(2)", "true"),
    ("row 18, scalar", 'A.model.includes("A100")', "true"),
    ("row 19, list", "2 in A.links", "true"),
    ("row 19, scalar", '"A100" in A.model', "runtime error"),
    ("row 20", 'A.model.exists(x, x == "A100")', "runtime error"),
    ("row 21", "device.allowMultipleAllocations == false", "true"),
    ("row 22", 'device.attributes["resource.kubernetes.io"].pcieRoot.startsWith("pci")', "true"),
    ("row 23", 'device.name == "gpu-0"', "compile error"),
    ("row 24", "1", "compile error"),
    ("row 25", "cel.bind(a, A, a.ecc && a.index < 4)", "true"),
    ("row 26", 'A.driverVersion in ["550.54.0"]', "runtime error"),
    ("row 27", 'A.model in ["A100", A.brand]', "compile error"),
    ("row 28", 'quantity("1000m").isInteger()', "false"),
]


@pytest.mark.parametrize(("expression", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_example_of_section_4_5_ends_as_told(expression: str, expected: str) -> None:
    assert outcome(expression) == expected
