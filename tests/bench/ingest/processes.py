"""Processes whose use of the machine is looked at."""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]


class Measured:
    """A Python process: its CPU time, its memory, and a line of answer for each line that it is asked."""

    def __init__(
        self, stack: ExitStack, *command: str, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *command],
            env={**os.environ, "PYTHONPATH": str(TESTS), **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("ab"),
        )
        stack.callback(self.kill)

    def kill(self) -> None:
        """SIGKILL; nothing when it has ended."""
        self._process.kill()
        self._process.wait()

    def ask(self, wish: str) -> list[str]:
        """A line to it, and the words of its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{wish}\n".encode())
        self._process.stdin.flush()
        return self._process.stdout.readline().decode().split()

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mib(self) -> float:
        """The largest resident set so far."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
