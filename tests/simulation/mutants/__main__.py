"""`python -m tests.simulation.mutants`: which seed finds each hand-made bug; exit status 1 if one is missed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from simulation.mutants.hunt import main

if __name__ == "__main__":
    main()
