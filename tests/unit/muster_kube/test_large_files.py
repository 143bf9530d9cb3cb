"""A dump of 50 MB is read object by object: in bounded memory, and without waiting for its end."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from unit.muster_kube.builders import a_device, a_slice

READER = """
import sys
from pathlib import Path
from muster_kube import Manifest, read_path
objects = 0
for reading in read_path(sys.argv[1]):
    assert isinstance(reading, Manifest), reading
    objects += 1
# Not getrusage: its peak is that of the process before exec too.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(objects, int(peak.split()[1]) // 1024)
"""


def _write_dump(file: Path, size: int) -> int:
    """A List of ResourceSlices as kubectl prints it; the number of its items."""
    devices = [
        a_device(f"gpu-{index}", attributes={f"attribute{n}": {"string": f"value of {n}"} for n in range(12)})
        for index in range(8)
    ]
    item = yaml.dump([a_slice(*devices, name="slice-0")], Dumper=yaml.CSafeDumper, width=200)
    count = size // len(item) + 1
    with file.open("w") as stream:
        stream.write("apiVersion: v1\nitems:\n")
        for index in range(count):
            stream.write(item.replace("slice-0", f"slice-{index}"))
        stream.write("kind: List\n")
    return count


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_fifty_megabytes_of_one_list_are_read_in_under_100_mib_of_memory(tmp_path: Path) -> None:
    file = tmp_path / "dump.yaml"
    count = _write_dump(file, 50_000_000)
    assert file.stat().st_size >= 50_000_000
    run = subprocess.run([sys.executable, "-c", READER, str(file)], capture_output=True, check=True, timeout=100)
    objects, memory = map(int, run.stdout.split())
    assert objects == count
    assert memory < 100
