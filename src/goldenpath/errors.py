"""The errors of goldenpath: one tree, and an exit code that tells who must act.

    GoldenPathError            1   our fault, or nobody's yet
    ├── InputError             2   the user's input
    │   ├── RefError           2   a malformed or unfitting reference
    │   ├── ConfigError        2   a path file, a setting, a parameter
    │   └── NotFound           2   what the input names does not exist
    ├── Refused                3   a gate, a quota, a policy
    │   └── StaleChampion      3   another model became champion meanwhile
    ├── RolledBack             4   a canary was taken back
    ├── UserProgramFailed      5   the user's own program failed
    ├── DataDamaged            6   stored bytes differ from their digest
    └── Temporary             75   the same command may succeed later

Every message says what was wrong, with the value; ``next_step`` says what is allowed or what to do.
Messages end up in logs and records, so the credentials of every URL in them are masked here.
"""

from __future__ import annotations

from typing import ClassVar

from goldenpath.masking import masked


class GoldenPathError(Exception):
    """The root of all errors that this library raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, next_step: str = "") -> None:
        self.message = masked(message)
        super().__init__(self.message)
        self.next_step = masked(next_step)

    def __str__(self) -> str:
        if not self.next_step:
            return self.message
        if "\n" in self.message:
            # It ends with lines of a log, or with a log's address.
            return f"{self.message}\n{self.next_step}"
        # Another library's words often end a message, and without a full stop.
        end = "" if self.message.endswith((".", "!", "?", ":")) else "."
        return f"{self.message}{end} {self.next_step}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.next_step)


def _rebuild(kind: type[GoldenPathError], message: str, next_step: str) -> GoldenPathError:
    return kind(message, next_step=next_step)


class InputError(GoldenPathError):
    """The input is wrong, and only its author can mend it."""

    exit_code = 2


class RefError(InputError):
    """A reference is malformed, or names a thing of another kind."""


class ConfigError(InputError):
    """A path file, a setting or a parameter is wrong."""


class NotFound(InputError):
    """Something the input names does not exist."""


class Refused(GoldenPathError):
    """A gate, a quota or a policy said no."""

    exit_code = 3


class StaleChampion(Refused):
    """The champion that a model was judged against is no longer the champion."""


class RolledBack(GoldenPathError):
    """A canary was taken back; the champion serves."""

    exit_code = 4


class UserProgramFailed(GoldenPathError):
    """The user's own program failed: its last lines are in the message."""

    exit_code = 5


class DataDamaged(GoldenPathError):
    """Stored bytes differ from the digest they were stored under."""

    exit_code = 6


class Temporary(GoldenPathError):
    """Something is away or busy; the same command may succeed later."""

    exit_code = 75


BY_NAME: dict[str, type[GoldenPathError]] = {
    kind.__name__: kind
    for kind in (
        GoldenPathError, InputError, RefError, ConfigError, NotFound, Refused, StaleChampion,
        RolledBack, UserProgramFailed, DataDamaged, Temporary,
    )
}  # fmt: skip
"""Every error by its class name, as step records name it."""


def recorded(name: str, code: int, message: str) -> GoldenPathError:
    """The error of a record; one that is not in ``BY_NAME`` becomes the base with its exit code."""
    by_code = {kind.exit_code: kind for kind in reversed(BY_NAME.values())}
    return BY_NAME.get(name, by_code.get(code, GoldenPathError))(message)
