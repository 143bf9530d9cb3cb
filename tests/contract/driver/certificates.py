"""An authority of a test's own, and certificates by it, made with openssl."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pair:
    """PEM files of a certificate and its key."""

    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """Issues certificates for localhost."""

    folder: Path
    name: str = "authority"

    @property
    def cert(self) -> Path:
        """PEM file of the authority itself."""
        return self.folder / f"{self.name}.pem"

    def create(self) -> "Authority":
        """Make the authority's own key and certificate."""
        self.folder.mkdir(parents=True, exist_ok=True)
        subject = f"/CN={self.name}"
        _openssl("req", "-x509", *_NEW, "-subj", subject, "-keyout", self._file("key"), "-out", str(self.cert))
        return self

    def issue(self, name: str) -> Pair:
        """A certificate for localhost, for servers and clients."""
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        request = str(self.folder / f"{name}.csr")
        names = self.folder / "names"
        names.write_text("subjectAltName=DNS:localhost\n")
        _openssl("req", *_NEW, "-subj", f"/CN={name}", "-keyout", str(pair.key), "-out", request)
        signer = ("-CA", str(self.cert), "-CAkey", self._file("key"), "-CAcreateserial", "-days", "1")
        _openssl("x509", "-req", "-in", request, *signer, "-extfile", str(names), "-out", str(pair.cert))
        return pair

    def _file(self, ending: str) -> str:
        return str(self.folder / f"{self.name}.{ending}")


_NEW = ("-newkey", "rsa:2048", "-nodes")


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
