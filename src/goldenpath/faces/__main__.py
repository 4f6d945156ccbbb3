"""``python -m goldenpath.faces``: writes the generated modules beside the components."""

from __future__ import annotations

import sys
from pathlib import Path

import goldenpath.components
from goldenpath.faces.generate import FAMILIES, files


def main() -> None:
    """Writes what differs, and tells it."""
    root = Path(goldenpath.components.__path__[0]).resolve()
    for family in FAMILIES:
        for name, text in files(family).items():
            path = root / family / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
                sys.stdout.write(f"wrote {path.relative_to(root.parent)}\n")


if __name__ == "__main__":
    main()
