"""Where services listen: a setting, what a running `muster up` wrote down, or the default port."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import orjson

DEFAULT_STATE = Path(".muster")


class ServiceName(StrEnum):
    """The deployables that answer gRPC."""

    INVENTORY = "inventory"
    CLAIM_MATCHER = "claim-matcher"
    GANG_COORDINATOR = "gang-coordinator"
    PROVISIONER = "provisioner"
    CLUSTER_WATCHER = "cluster-watcher"


DEFAULT_PORT = {
    ServiceName.INVENTORY: 7401,
    ServiceName.CLAIM_MATCHER: 7402,
    ServiceName.GANG_COORDINATOR: 7403,
    ServiceName.PROVISIONER: 7404,
    ServiceName.CLUSTER_WATCHER: 7405,
}


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of one Muster; `state` is the directory that `muster up` keeps its state in."""

    state: Path

    def grpc(self, service: ServiceName) -> str:
        """host:port of a service."""
        setting = f"MUSTER_{service.value.replace('-', '_').upper()}_ADDRESS"
        written = self._written(service.value).get("grpc")
        return os.environ.get(setting) or str(written or f"127.0.0.1:{DEFAULT_PORT[service]}")

    def nats(self) -> str:
        """URL of the NATS server."""
        return os.environ.get("MUSTER_NATS_URL") or str(self._written("nats").get("url") or "nats://127.0.0.1:4222")

    def _written(self, name: str) -> dict[str, object]:
        path = self.state / "run" / f"{name}.json"
        try:
            content = orjson.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (orjson.JSONDecodeError, OSError):
            return {}  # being written right now, or another user's: the default port is the next best guess
        return content if isinstance(content, dict) else {}


def default_state() -> Path:
    """The state directory: MUSTER_STATE_DIR, or `.muster` here."""
    return Path(os.environ.get("MUSTER_STATE_DIR") or DEFAULT_STATE)
