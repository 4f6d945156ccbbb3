"""Load for a service that has no users: one request, sent on schedule."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

import httpx

from goldenpath.serving.plan import Traffic

_MOST_OPEN = 500
"""Requests that may be unanswered at once; beyond it the schedule is given up for a while."""
_TIMEOUT_S = 60.0
_TICK_S = 0.01


@contextlib.contextmanager
def running(traffic: Traffic, *, url: str, payload: bytes) -> Iterator[None]:
    """Sends a payload to a URL at a rate, from a thread of its own, until the context ends."""
    stop = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(_send(traffic.rps, url, payload, stop)),
        name="goldenpath-traffic",
        daemon=True,
    )
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


async def _send(rps: float, url: str, payload: bytes, stop: threading.Event) -> None:
    limits = httpx.Limits(max_connections=_MOST_OPEN, max_keepalive_connections=_MOST_OPEN)
    async with httpx.AsyncClient(limits=limits, timeout=_TIMEOUT_S) as client:
        open_: set[asyncio.Task[None]] = set()
        due = time.monotonic()
        while not stop.is_set():
            now = time.monotonic()
            # What was missed for long is not made up for: a burst would be judged as if users had sent it.
            due = max(due, now - 1.0)
            while due <= now and len(open_) < _MOST_OPEN:
                task = asyncio.create_task(_post(client, url, payload))
                open_.add(task)
                task.add_done_callback(open_.discard)
                due += 1 / rps
            await asyncio.sleep(_TICK_S)
        for task in open_:
            task.cancel()
        await asyncio.gather(*open_, return_exceptions=True)


async def _post(client: httpx.AsyncClient, url: str, payload: bytes) -> None:
    # How it was answered is the proxy's to count.
    with contextlib.suppress(httpx.HTTPError):
        await client.post(url, content=payload, headers={"content-type": "application/json"})
