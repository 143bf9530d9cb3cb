"""`muster cel` tells apart: true somewhere, false everywhere, an expression that fails."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from muster_cli.app import app

PAIR = str(Path(__file__).parents[4] / "examples" / "dra" / "gpu-pair.yaml")
NUMA = 'device.attributes["gpu.example.com"]'


@pytest.mark.parametrize(
    ("expression", "status", "told"),
    [
        (f"{NUMA}.numa == 1", 0, "true"),
        (f"{NUMA}.numa == 7", 1, "false"),
        (f"{NUMA}.none == 1", 2, "the expression fails on 8 of 8 devices, first on gpu.example.com/node-1/gpu-0"),
        (f"{NUMA}.numa == 1 || {NUMA}.none == 1", 0, "the expression fails on 5 of 8 devices"),
    ],
)
def test_the_status_tells_a_failing_expression_from_one_that_matches_nothing(
    expression: str, status: int, told: str
) -> None:
    result = CliRunner().invoke(app, ["cel", expression, PAIR])
    assert result.exit_code == status
    assert told in result.stdout + result.stderr.replace("\n", " ")
    assert ("runtime error" in result.stdout) == ("none" in expression)
