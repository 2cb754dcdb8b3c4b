"""``python -m tools.docs.diagrams``: draws the Mermaid diagrams of the pages, whose pictures the site shows.

The site loads no scripts from elsewhere, so diagrams are pictures there; GitHub draws them itself. This needs npx and a
Chromium, and only after a diagram has changed: ``PUPPETEER_EXECUTABLE_PATH`` names the Chromium.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.docs.navigation import DOCS
from tools.docs.pages import digest

CLI = "@mermaid-js/mermaid-cli@11"
LABELS = (
    "#my-svg foreignObject{overflow:visible;}"
    "#my-svg foreignObject>div{display:block!important;width:max-content;margin-left:50%;transform:translateX(-50%);}"
)
UNCUT = ("<style>", f"<style>{LABELS}")
"""Labels have the widths of the font here: in a reader's wider one they would be cut off, or not in the middle."""


def main() -> int:
    """Draws the diagrams that have no picture yet, and removes pictures without a diagram."""
    pictures = DOCS / "pictures"
    pictures.mkdir(exist_ok=True)
    wanted = set()
    for page in DOCS.rglob("*.md"):
        for source in re.findall(r"^```mermaid\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            picture = pictures / f"{digest(source)}.svg"
            wanted.add(picture)
            if not picture.exists():
                _draw(source, picture)
    for picture in set(pictures.glob("*.svg")) - wanted:
        picture.unlink()
    return 0


def _draw(source: str, picture: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        diagram, browser = Path(folder) / "diagram.mmd", Path(folder) / "browser.json"
        diagram.write_text(source)
        options: dict[str, object] = {"args": ["--no-sandbox"]}
        if path := os.environ.get("PUPPETEER_EXECUTABLE_PATH"):
            options["executablePath"] = path
        browser.write_text(json.dumps(options))
        command = ["npx", "--yes", "-p", CLI, "mmdc", "-p", str(browser), "-i", str(diagram), "-o", str(picture)]
        subprocess.run([*command, "-b", "white"], check=True)
    picture.write_text(picture.read_text("utf-8").replace(*UNCUT, 1), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
