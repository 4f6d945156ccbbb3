"""Masking: what people, logs and records see of a URL has no credentials in it."""

from __future__ import annotations

import re

_USER = re.compile(r"(?<=://)[^/\s?#]*@")
# What a query may carry: a database's password, a signed URL's token.
_SECRET = re.compile(
    r"(?i)([?&;][^=&;\s]*(?:password|token|secret|signature|credential)[^=&;\s]*=)[^&;\s'\"]+"
)


def masked(text: str) -> str:
    """A text with ``***`` in place of the user and the secret parameters of every URL in it.

    The digest of a reference stands after '@' too, but in the path, where a URL has no user: it stays.
    """
    return _SECRET.sub(r"\1***", _USER.sub("***@", text))


def without_user(url: str) -> str:
    """A URL without its user and password."""
    return _USER.sub("", url)
