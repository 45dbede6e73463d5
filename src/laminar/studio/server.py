"""The application of the studio: one page, its state, and changes of labels."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from .errors import Refused
from .guard import App, Guard
from .requests import fields, texts
from .session import Session


def build(session: Session, page: str, token: str, port: int) -> App:
    """Return the application of ASGI.

    Parameters
    ----------
    session : Session
        What is being labelled.
    page : str
        The page, of `laminar.studio.page`.
    token : str
        What every request must have.
    port : int
        Port that the server listens on.

    Returns
    -------
    callable
        The application.
    """
    routes = [
        Route("/", _page(page), methods=["GET"]),
        Route("/state", _answer(_state, session), methods=["GET"]),
        Route("/labels", _answer(_give, session), methods=["POST"]),
        Route("/undo", _answer(_undo, session), methods=["POST"]),
        Route("/redo", _answer(_redo, session), methods=["POST"]),
        *(Route(f"/{what}", _answer(_writing(what), session), methods=["POST"]) for what in session.writers),
    ]
    handlers: dict[Any, Any] = {Refused: _refused, OSError: _not_written, HTTPException: _not_found, Exception: _failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), token, port)


def _page(page: str) -> Callable:
    async def show(request: Request) -> Response:
        # The page has a policy of its own, with the hashes of its scripts; a policy cannot forbid frames from there.
        return HTMLResponse(page, headers={"content-security-policy": "frame-ancestors 'none'"})

    return show


def _answer(act: Callable[[Session, Request, bytes], dict], session: Session) -> Callable:
    """Return an endpoint that calls a function in a thread, since it may wait for the disk."""

    async def answer(request: Request) -> Response:
        body = await request.body()
        return JSONResponse(await run_in_threadpool(act, session, request, body))

    return answer


def _state(session: Session, request: Request, body: bytes) -> dict:
    version, revision = (_number(request, name) for name in ("version", "revision"))
    return session.state(request.query_params.get("attribute"), version, revision)


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "-1")
    if not text.removeprefix("-").isdecimal() or len(text) > 12:
        raise Refused(f'"{name}" is not a whole number.')
    return int(text)


def _give(session: Session, request: Request, body: bytes) -> dict:
    given = _fields(request, body, version=int, attribute=str, value=(str, type(None)), samples=list)
    samples = texts("samples", given["samples"], len(session.labels.ids))
    session.give(given["version"], given["attribute"], given["value"], samples)
    return {"version": session.labels.version}


def _undo(session: Session, request: Request, body: bytes) -> dict:
    session.undo(_fields(request, body, version=int)["version"])
    return {"version": session.labels.version}


def _redo(session: Session, request: Request, body: bytes) -> dict:
    session.redo(_fields(request, body, version=int)["version"])
    return {"version": session.labels.version}


def _writing(what: str) -> Callable[[Session, Request, bytes], dict]:
    def write(session: Session, request: Request, body: bytes) -> dict:
        given = _fields(request, body, replace=bool)
        return {"path": str(session.write(what, given["replace"]))}

    return write


def _fields(request: Request, body: bytes, **kinds: Any) -> dict[str, Any]:
    return fields(body, request.headers.get("content-type", ""), **kinds)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse({"error": str(error)}, error.status)


async def _not_written(request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = "the disk is full: free some space" if is_full else f"the file could not be written ({error.strerror})"
    return JSONResponse({"error": f"Not saved: {why}, and try again."}, 507 if is_full else 500)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = "There is nothing at this address." if error.status_code == 404 else f"{error.detail}."
    return JSONResponse({"error": sentence}, error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    sentence = f"{type(error).__name__}: {' '.join(str(error).split())}. This should not happen: see the terminal."
    return JSONResponse({"error": sentence}, 500)
