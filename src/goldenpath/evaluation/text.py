"""Text from rows and names, fit to be shown."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with every control and direction character replaced, but for line breaks.

    Ids and labels come from anywhere: on a terminal they could move the cursor, in a page reverse
    the words around them.
    """
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def shortened(text: str, *, length: int = 60) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "\N{HORIZONTAL ELLIPSIS}"
