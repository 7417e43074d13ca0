"""Who may talk to the server, and what browsers may do with its answers.

A page of another site must not use a visitor's browser to reach a server on localhost:
the `Host` must be an address of this server (against names that are rebound to it), and
an `Origin`, which browsers send with every socket and every POST, must be the same.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_log = logging.getLogger(__name__)
_REFUSAL: Final = (
    b'{"error":"forbidden","text":"expected a request to this server by its own name"}'
)


def is_loopback(host: str) -> bool:
    """Whether an interface can be reached from this machine only."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class HostGuard:
    """ASGI middleware that refuses requests from elsewhere and adds HEADERS to answers."""

    def __init__(self, app: Any, hosts: Iterable[str], any_address: bool = False) -> None:
        """Wraps an application.

        Args:
          app: the application.
          hosts: names under which it may be called, without port.
          any_address: whether it may be called by any numeric address, too.
        """
        self._app = app
        self._hosts = {host.lower() for host in hosts}
        self._any_address = any_address

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serves or refuses one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if not self._welcome(scope):
            await _refuse(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                extra = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            # A traceback in a log may show a position that somebody is playing.
            _log.error("a request failed: %s", type(error).__name__)

    def _welcome(self, scope: Any) -> bool:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts = headers.get(b"host", [])
        if len(hosts) != 1:
            return False
        host = hosts[0].decode("latin-1").lower()
        if not self._is_ours(_name_of(host)):
            return False
        for origin in headers.get(b"origin", []):
            parts = urlsplit(origin.decode("latin-1").lower())
            if parts.scheme not in ("http", "https") or parts.netloc != host:
                return False
        return True

    def _is_ours(self, name: str) -> bool:
        if name in self._hosts:
            return True
        if not self._any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _name_of(host: str) -> str:
    """A `Host` without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


async def _refuse(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403, "reason": "forbidden"})
        return
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": _REFUSAL})
