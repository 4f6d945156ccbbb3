"""The variables that a user may give to a job."""

from __future__ import annotations

import re
from collections.abc import Mapping

from goldenpath.jobs.contract import RESERVED_PREFIXES
from goldenpath.masking import masked

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CREDENTIAL = re.compile(r".*(?:_|^)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS|ACCESS_KEY|API_KEY)", re.I)


def check_variables(env: Mapping[str, str]) -> None:
    """Raises ValueError for a name that is none or is reserved, and for what looks like a credential."""
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a variable")
        if name.startswith(RESERVED_PREFIXES):
            raise ValueError(f"{name} is reserved: variables with {', '.join(RESERVED_PREFIXES)} are set")
        if _CREDENTIAL.fullmatch(name):
            raise ValueError(
                f"{name} looks like a credential, and a configuration is kept in records; give it by "
                "the environment's own means"
            )
        if masked(value) != value:
            raise ValueError(
                f"{name} is {masked(value)!r}: the credentials in it would be kept in records; give it by "
                "the environment's own means"
            )
