"""Names of lease holders that tell, on the same machine, whether the process behind one still runs."""

import os
import socket
import sys
from pathlib import Path
from uuid import uuid4

_PROC = Path("/proc")


def own_name(service: str) -> str:
    """Service, host, and on Linux boot, PID namespace, process id and its start, which together never come twice."""
    return "|".join(
        (service, socket.gethostname(), *_place(), str(os.getpid()), _started(os.getpid()), uuid4().hex[:8])
    )


def is_gone(owner: str) -> bool:
    """Whether the holder was a process of this machine that has ended; False where that cannot be known."""
    parts = owner.split("|")
    here = (socket.gethostname(), *_place())
    if sys.platform != "linux" or len(parts) != len(here) + 4 or tuple(parts[1 : 1 + len(here)]) != here:
        return False
    pid, started = parts[-3], parts[-2]
    return not pid.isdigit() or _started(int(pid)) != started


def _place() -> tuple[str, str]:
    """Two containers may share a host's name, never its boot and their PID namespace."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return boot, str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return "", ""


def _started(pid: int) -> str:
    """In clock ticks since the boot; empty for a process that is not there."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
