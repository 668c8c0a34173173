"""Draws the pictures of README, tutorial and gallery: pages of runs as headless Chromium shows them.

    python scripts/pictures.py          all of them
    python scripts/pictures.py map      those whose name has this in it

Needs what the tests of pages need: playwright, Pillow and /usr/bin/chromium.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).resolve().parent.parent / "docs"
WALK = DOCS / "tutorial" / "1-first-run.md"
# Colours of a picture: as many as these pages need, so that files stay small.
COLOURS = 64


@dataclass(frozen=True)
class Picture:
    """A file, the command whose page it shows, and how to come from the page to the picture."""

    file: str
    command: str
    taken: Callable[[Page], bytes]
    width: int = 1100


def top(height: int) -> Callable[[Page], bytes]:
    """Returns the page from its top, at its first handover in close-up."""

    def taken(page: Page) -> bytes:
        close_up(page)
        return page.screenshot(clip={"x": 0, "y": 0, "width": 1100, "height": height}, full_page=True)

    return taken


def diagrams(height: int) -> Callable[[Page], bytes]:
    """Returns the diagrams of the first handover in close-up."""

    def taken(page: Page) -> bytes:
        close_up(page)
        y = page.locator("#figures").bounding_box()["y"]
        return page.screenshot(clip={"x": 0, "y": y, "width": 1100, "height": height}, full_page=True)

    return taken


def close_up(page: Page) -> None:
    """Goes to the first handover."""
    page.locator("#view").select_option(index=1)
    page.wait_for_timeout(1500)
    page.evaluate("document.querySelector('.toolbar').style.position = 'static'; scrollTo(0, 0)")


def part(selector: str) -> Callable[[Page], bytes]:
    """Returns one part of the page."""
    return lambda page: page.locator(selector).first.screenshot()


PICTURES = [
    Picture("report.png", "run wavelan-to-gsm", top(1060)),
    Picture("tutorial/report.png", "run walk.toml", diagrams(1000)),
    Picture("gallery/map.png", "run flight", part("#maps"), width=1280),
    Picture("gallery/ladder.png", "run train-network", part("#signalling details"), width=1280),
    Picture("gallery/recorded.png", "run starlink-like", part(".panel:has(h3:has-text('Goodput'))")),
    Picture(
        "gallery/sweep.png",
        "sweep walk.toml --set flows.download.transport.profile=rfc,linux-6 --seeds 10"
        " --set 'mobiles.laptop.timetable.1.outage=0.2 s,0.5 s,1 s,2 s,3 s'",
        part("#curves"),
    ),
]


def main() -> None:
    """Draws the requested pictures."""
    wanted = [picture for picture in PICTURES if all(word in picture.file for word in sys.argv[1:])]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        for number, picture in enumerate(wanted):
            draw(browser, picture, Path(folder) / str(number))
        browser.close()


def draw(browser: Browser, picture: Picture, folder: Path) -> None:
    """Runs the command in a folder of its own, and keeps what its page shows."""
    folder.mkdir()
    text = re.search(r"```toml\n(.*?)```", WALK.read_text(encoding="utf-8"), re.DOTALL)
    (folder / "walk.toml").write_text(text[1], encoding="utf-8")
    subprocess.run(f"baton {picture.command} --out made", shell=True, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    page = browser.new_page(viewport={"width": picture.width, "height": 1200}, color_scheme="light")
    page.goto((folder / "made" / "report.html").as_uri())
    page.wait_for_timeout(3000)
    image = Image.open(io.BytesIO(picture.taken(page)))
    page.close()
    file = DOCS / picture.file
    file.parent.mkdir(exist_ok=True)
    image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{picture.file}: {image.width} x {image.height}, {file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
