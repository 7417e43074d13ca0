"""Where things are in the repository."""

import pathlib

ROOT = pathlib.Path(__file__).parent.parent.parent
DATA = ROOT / "tests" / "data"
PLAYTHROUGHS = DATA / "playthroughs"
