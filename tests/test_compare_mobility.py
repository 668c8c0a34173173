"""studies/mobility: its page has the tables that its program prints."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "studies" / "mobility"


def test_the_page_has_the_tables_that_the_program_prints():
    printed = subprocess.run([sys.executable, FOLDER / "compare.py"], capture_output=True, text=True, check=True).stdout
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    between = page.split("<!-- printed by compare.py -->")[1].split("<!-- end of printed -->")[0]
    assert between.strip() == printed.strip()
