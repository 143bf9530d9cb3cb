"""A live cluster as processes: the fake API server with its journal, and the simulated cloud served to it."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from muster_kubeapi import KubeClient, KubeConfig
from support.deployment import MUSTER
from support.kube_api.journal import Write, read_journal
from support.processes import ServiceProcess, wait_for

_TESTS = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class ApiServerProcess:
    """An API server whose objects outlive it; it comes back on its old port."""

    home: Path
    rights: Path | None = None
    _process: ServiceProcess | None = None
    _port: str = "0"

    @property
    def kubeconfig(self) -> Path:
        """Of somebody who may everything."""
        return self.home / "kubeconfig"

    @property
    def url(self) -> str:
        """Where it listens, once started."""
        return f"http://localhost:{self._port}"

    def client(self, agent: str) -> KubeClient:
        """Another client of the server."""
        return KubeClient(KubeConfig(self.kubeconfig), agent=agent)

    def journal(self) -> list[Write]:
        """Every write that the server has taken."""
        return list(read_journal(self.home / "journal"))

    def start(self, *, unrest: float = 0.0) -> None:
        """Listen. With `unrest` the history is compacted and every connection cut each so many seconds."""
        files = ("--journal", str(self.home / "journal"), "--kubeconfig", str(self.kubeconfig))
        rights = ("--rights", str(self.rights)) if self.rights else ()
        ways = ("--port", self._port, "--unrest", str(unrest), *rights)
        command = (sys.executable, "-m", "support.kube_api", *files, *ways)
        self.home.mkdir(exist_ok=True)
        self.kubeconfig.unlink(missing_ok=True)
        self._process = ServiceProcess(
            "kube-api", self.home, {"PYTHONPATH": str(_TESTS)}, self.home / "server.log", command=command
        )
        self._process.start()
        wait_for(self.kubeconfig.exists, "the API server listens")
        config: Mapping[str, list[Mapping[str, Mapping[str, str]]]] = yaml.safe_load(self.kubeconfig.read_text())
        self._port = config["clusters"][0]["cluster"]["server"].rpartition(":")[2]

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None and self._process.pid:
            self._process.kill()


@dataclass(slots=True)
class SimcloudProcess:
    """`muster simcloud` whose machines register in an API server; `config` is what a client needs to reach it."""

    home: Path
    kubeconfig: Path
    groups: Path
    _process: ServiceProcess = field(init=False)

    def __post_init__(self) -> None:
        where = ("--load", str(self.groups), "--state", str(self.home), "--kubeconfig", str(self.kubeconfig))
        command = (MUSTER, "simcloud", "--listen", "127.0.0.1:0", *where)
        self._process = ServiceProcess("simcloud", self.home, {}, self.home / "simcloud.log", command=command)

    @property
    def config(self) -> Path:
        """In the form of the Cluster Autoscaler's cloud config."""
        return self.home / "cloud-config.yaml"

    def start(self) -> None:
        """Serve, and write the config down."""
        self._process.start()
        self._process.wait_serving()
        self.config.write_text(yaml.safe_dump({"address": self._process.address}))

    def log(self) -> str:
        """Everything it printed."""
        return self._process.text()

    def stop(self) -> None:
        """SIGTERM, and wait."""
        if self._process.pid:
            self._process.stop()
