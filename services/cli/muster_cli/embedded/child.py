"""`muster up` as a child process of the demo."""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from muster_cli.exits import ExitStatus, UserError

_START_SECONDS = 60.0
_STOP_SECONDS = 20.0


class Child:
    """`with Child(state, load)`: up when entered, stopped in order when left. `log` has what it printed."""

    def __init__(self, state: Path, load: Sequence[Path]) -> None:
        self.state = state
        self.load = load
        self.log = state / "up.log"

    def __enter__(self) -> "Child":
        self.state.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "muster_cli", "up", "--state", str(self.state)]
        for path in self.load:
            command += ["--load", str(path)]
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)  # noqa: S603 -- ourselves
        self._await_start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait(self) -> None:
        """Until it ends by itself or the user interrupts."""
        try:
            self._process.wait()
        except KeyboardInterrupt:
            return

    def _await_start(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if b"muster is up" in self.log.read_bytes():
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        else:
            self._process.kill()
        last = " | ".join(self.log.read_text(errors="replace").splitlines()[-5:])
        raise UserError(f"muster up did not start: {last} (all of it: {self.log})", ExitStatus.UNREACHABLE)
