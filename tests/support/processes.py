"""Muster as it is deployed: a NATS server and every service as a process of its own, to be killed and started again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import orjson
import uvloop
from grpc_health.v1 import health_pb2, health_pb2_grpc

from muster_eventstore import NatsAddress, apply_streams, connect
from support.deployment import EXAMPLES, MUSTER, containers, plain_environment
from support.nats_server import CrashingNats

SERVICES = ("inventory", "claim-matcher", "gang-coordinator", "provisioner", "cluster-watcher")
SCHEDULER = "simscheduler"
EVENT_STORE = "nats"
DEADLINE = float(os.environ.get("MUSTER_TEST_DEADLINE", "60"))  # seconds; more where many share few cores
_POLL = 0.01
# The child dies with the thread that started it, for prctl's PR_SET_PDEATHSIG outlives execv: a killed test run leaves
# nothing behind.
_DIES_WITH_US = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"


def wait_for(condition: Callable[[], bool], what: str, deadline: float = DEADLINE) -> None:
    """Wait for a named condition; fail with its name after `deadline` seconds."""
    end = time.monotonic() + deadline
    while not condition():
        assert time.monotonic() < end, f"after {deadline:g} s still not: {what}"
        time.sleep(_POLL)


@dataclass(slots=True)
class ServiceProcess:
    """One service as its container would run it, or another program. `log` has what it printed over all its lives."""

    name: str
    state: Path
    environment: Mapping[str, str]
    log: Path
    command: tuple[str, ...] = ()
    credentials: grpc.ChannelCredentials | None = None
    _process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process id; 0 when it does not run."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Begin; `wait_serving` tells when it is there."""
        assert self._process is None, f"{self.name} runs already"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-c", _DIES_WITH_US, *(self.command or containers()[self.name].local_command)],
                env=plain_environment(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def wait_serving(self, deadline: float = DEADLINE) -> None:
        """Until its gRPC health says SERVING; the scheduler serves nothing."""
        if self.name == SCHEDULER:
            return
        end = time.monotonic() + deadline
        wait_for(lambda: self.address != "" or self._ended(), f"{self.name} has written its address", deadline)
        with self._channel() as channel:
            watch = health_pb2_grpc.HealthStub(channel).Watch(  # pyright: ignore[reportAttributeAccessIssue] -- not in the stubs
                health_pb2.HealthCheckRequest(), timeout=max(0.1, end - time.monotonic()), wait_for_ready=True
            )
            for answer in watch:
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    watch.cancel()
                    return
        raise AssertionError(f"{self.name} never said SERVING: {self.last_words()}")

    @property
    def address(self) -> str:
        """host:port of this life of the process; empty until it has written it down."""
        try:
            written = orjson.loads((self.state / "run" / f"{self.name}.json").read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            return ""
        return str(written["grpc"]) if written["pid"] == self.pid else ""

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        assert self._process is not None, f"{self.name} does not run"
        self._process.kill()
        self._process.wait(DEADLINE)
        self._process = None

    def terminate(self) -> None:
        """SIGTERM."""
        assert self._process is not None, f"{self.name} does not run"
        self._process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.terminate()
        return self.wait_stopped()

    def wait_stopped(self) -> int:
        """The exit status after `terminate`."""
        assert self._process is not None, f"{self.name} does not run"
        try:
            return self._process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"{self.name} does not end after SIGTERM: {self.last_words()}") from None
        finally:
            self._process = None

    def wait_exit(self, deadline: float = DEADLINE) -> int:
        """Until it ends by itself; the exit status."""
        assert self._process is not None, f"{self.name} does not run"
        try:
            return self._process.wait(deadline)
        finally:
            if self._process.poll() is not None:
                self._process = None

    def text(self) -> str:
        """Everything it printed."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def last_words(self) -> str:
        """The end of its log, for messages of failed tests."""
        return " | ".join(self.text().splitlines()[-5:])

    def _channel(self) -> grpc.Channel:
        if self.credentials is None:
            return grpc.insecure_channel(self.address)
        return grpc.secure_channel(self.address, self.credentials)

    def _ended(self) -> bool:
        assert self._process is not None
        status = self._process.poll()
        assert status is None, f"{self.name} ended at its start with status {status}: {self.last_words()}"
        return False


@dataclass(slots=True)
class MusterProcesses:
    """`load` is the dump that makes up the cluster; `settings` are further variables for every service.

    Everything lies in `home`: the server's store, the services' state and logs.
    """

    home: Path
    load: Path = EXAMPLES / "fleet"
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    nats: CrashingNats = field(init=False)
    services: dict[str, ServiceProcess] = field(init=False)

    def __post_init__(self) -> None:
        self.nats = self.make_nats()
        self.services = {}

    def make_nats(self) -> CrashingNats:
        """The server, not started yet."""
        return CrashingNats(self.home / "nats")

    @property
    def state(self) -> Path:
        """The state directory that all share."""
        return self.home / "state"

    def start(self, names: Sequence[str] = (*SERVICES, SCHEDULER)) -> "MusterProcesses":
        """The server with its streams, then every service; returns when all of them serve."""
        self.start_nats()
        for name in names:
            self.services[name] = self.service(name)
        self.start_services()
        return self

    def start_services(self) -> None:
        """Every service of this system; returns when all of them serve."""
        for service in self.services.values():
            service.start()
        for service in self.services.values():
            service.wait_serving()

    def start_nats(self) -> None:
        """The server alone, with the system's streams."""
        self.nats.start()

        async def apply() -> None:
            client = await connect(self.operator_address(), "streams")
            try:
                await apply_streams(client)
            finally:
                await client.close()

        uvloop.run(apply())

    def operator_address(self) -> NatsAddress:
        """The server as who may make streams sees it."""
        return NatsAddress(self.nats.url)

    def service(self, name: str) -> ServiceProcess:
        """A process that is not started yet."""
        return ServiceProcess(name, self.state, self.environment(name), self.home / "logs" / f"{name}.log")

    def environment(self, name: str) -> dict[str, str]:
        """What the compose file sets for a service, with the addresses and paths of this machine."""
        here = {
            "nats://nats:4222": self.nats.url,
            "/var/lib/muster": str(self.state),
            "/examples/fleet": str(self.load),
        }
        adapted: dict[str, str] = {}
        for variable, value in containers()[name].environment.items():
            if variable.endswith("_ADDRESS") or variable == "MUSTER_REDIS_URL":
                continue  # names of other containers: here services are found by what they write down
            adapted[variable] = "127.0.0.1:0" if variable == "MUSTER_GRPC_LISTEN" else here.get(value, value)
        return {**adapted, **self.settings}

    def restart(self, name: str) -> None:
        """Start a killed or stopped service again, and wait until it serves."""
        if name == EVENT_STORE:
            self.nats.start()
            return
        self.services[name].start()
        self.services[name].wait_serving()

    def kill(self, name: str) -> None:
        """SIGKILL one service, or the server."""
        if name == EVENT_STORE:
            self.nats.kill()
        else:
            self.services[name].kill()

    def muster(self, *arguments: str | Path, deadline: float = DEADLINE, stdin: bytes = b"") -> "Told":
        """Run the `muster` command against these services."""
        return run_muster(
            *arguments,
            environment=self.command_environment(),
            deadline=deadline,
            stdin=stdin,
        )

    def command_environment(self) -> dict[str, str]:
        """What the command needs to find these services."""
        return {"MUSTER_STATE_DIR": str(self.state), "MUSTER_NATS_URL": self.nats.url}

    def stop_services(self) -> dict[str, int]:
        """SIGTERM to every service that runs, all at once; the exit statuses."""
        running = {name: service for name, service in self.services.items() if service.pid}
        for service in running.values():
            service.terminate()
        return {name: service.wait_stopped() for name, service in running.items()}

    def stop(self) -> None:
        """Stop every service that runs, then the server."""
        try:
            self.stop_services()
        finally:
            for service in self.services.values():
                if service.pid:
                    service.kill()
            self.nats.stop()

    def tracebacks(self) -> list[str]:
        """Names of the services whose logs show a traceback."""
        return [name for name, service in self.services.items() if "Traceback" in service.text()]

    def __enter__(self) -> "MusterProcesses":
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()


@dataclass(frozen=True, slots=True)
class Told:
    """What a command ended with."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> object:
        """Standard output as JSON."""
        return orjson.loads(self.out)


def run_muster(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    deadline: float = DEADLINE,
    stdin: bytes = b"",
    cwd: Path | None = None,
) -> Told:
    """The `muster` command of this environment; it must show no traceback."""
    done = subprocess.run(
        [MUSTER, *map(str, arguments)],
        env=plain_environment({"COLUMNS": "200", **(environment or {})}),
        input=stdin,
        capture_output=True,
        timeout=deadline,
        check=False,
        cwd=cwd,
    )
    told = Told(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in told.out + told.err, told.err
    return told
