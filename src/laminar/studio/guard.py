"""Who may send requests, and how large they may be.

The server answers requests from its own page alone. Another user of the machine and a page of another site lack the
token; a site whose name was made to point to this machine (DNS rebinding) has its own name in the header Host; a form
or an image of another site has its own Origin, or no token.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

TOKEN_HEADER = b"x-laminar-token"
MAX_BODY = 4_000_000  # bytes, enough for the names of all samples of a large data set
MAX_DROPPED = 10 * MAX_BODY  # bytes that are received of a request that is refused
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),  # the address has the token
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
API_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


class Guard:
    """Application that passes on requests with the token, from the page itself, of a bounded size.

    Parameters
    ----------
    app : callable
        Application of ASGI.
    token : str
        The token: in the address of the page, in a header of all other requests.
    port : int
        Port that the server listens on.
    """

    def __init__(self, app: App, token: str, port: int):
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # a websocket: there are none
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = dict(scope["headers"])
        reason = self._refusal(scope, headers)
        if reason is not None:
            await refuse(send, 403, reason)
            return
        body = await _body(headers, receive)
        if body is None:
            await refuse(send, 413, f"The request is larger than {MAX_BODY // 1_000_000} MB.")
            return
        await self.app(scope, _replay(body, receive), _with_headers(send))

    def _refusal(self, scope: MutableMapping[str, Any], headers: dict[bytes, bytes]) -> str | None:
        host = headers.get(b"host", b"")
        if host not in self.hosts:
            return "This server answers at 127.0.0.1 alone: open the address that laminar studio printed."
        if headers.get(b"origin", b"http://" + host) != b"http://" + host:
            return "This request comes from another site."
        if headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
            return "This request comes from another site."
        if not self._has_token(scope, headers):
            return "The token is missing or wrong: open the whole address that laminar studio printed."
        return None

    def _has_token(self, scope: MutableMapping[str, Any], headers: dict[bytes, bytes]) -> bool:
        given = headers.get(TOKEN_HEADER, b"")
        if scope["path"] == "/" and not given:
            given = parse_qs(scope["query_string"]).get(b"token", [b""])[0]
        return secrets.compare_digest(given, self.token.encode())


async def refuse(send: Send, status: int, sentence: str) -> None:
    """Send a refusal: a status and a sentence."""
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": status, "headers": [*headers, *HEADERS, API_POLICY]}
    await send(start)
    await send({"type": "http.response.body", "body": body})


async def _body(headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
    """Return the body of a request, or None where it is too large.

    One that is too large is received and dropped, up to a limit: a sender that is cut off does not see the refusal.
    """
    length = headers.get(b"content-length", b"0")
    is_too_large = not length.isdigit() or int(length) > MAX_BODY
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""  # the other side has gone
        part = message.get("body", b"")
        size += len(part)
        is_too_large = is_too_large or size > MAX_BODY
        parts = [] if is_too_large else [*parts, part]
        if not message.get("more_body") or size > MAX_DROPPED:
            return None if is_too_large else b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    rest = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return rest.pop() if rest else await receive()

    return replayed


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            more = [*HEADERS] + ([] if API_POLICY[0] in present else [API_POLICY])
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending
