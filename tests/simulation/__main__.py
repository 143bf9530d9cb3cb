"""`python -m tests.simulation`: explores seeds, and tells of each that fails."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from simulation.command import main

if __name__ == "__main__":
    main()
