"""How the ranks of one job agree: each gives a value, rank 0 decides, all get the verdict.

One exchange covers gathering outcomes, committing and telling the result, so that a rank that failed
reports its failure at the place where the others wait for it, and none is stranded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Decide = Callable[[list[Any]], Any]


class Coordinator(Protocol):
    """The ranks of one job. All values are JSON data."""

    def agree(self, value: Any, decide: Decide) -> Any:
        """Gives ``value`` to rank 0 and returns its verdict; every rank calls this in the same order.

        Args:
            value: What this rank has to say.
            decide: Called on rank 0 alone, with the values of all ranks in their order.

        Raises:
            Temporary: A rank is gone, or did not come in time.
        """
