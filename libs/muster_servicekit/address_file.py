"""`<state>/run/<service>.json`: where a running service listens, for the command line and the other services."""

import os
from pathlib import Path

import orjson


class AddressFile:
    """Written when the service is ready, removed when it stops."""

    def __init__(self, state_dir: Path, service: str) -> None:
        self._path = state_dir / "run" / f"{service}.json"

    async def write(self, address: str) -> None:
        """Replace the file at once, so that a reader never sees half of it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(f".{os.getpid()}.tmp")
        new.write_bytes(orjson.dumps({"grpc": address, "pid": os.getpid()}) + b"\n")
        new.replace(self._path)

    async def remove(self) -> None:
        """Nothing happens when it is gone already."""
        self._path.unlink(missing_ok=True)

    def read(self) -> str:
        """host:port of the service; empty while it does not run."""
        try:
            written = orjson.loads(self._path.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return ""
        address = written.get("grpc") if isinstance(written, dict) else None
        return address if isinstance(address, str) else ""
