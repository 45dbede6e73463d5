"""One HTML file from parts: styles and scripts written into it, with a content security policy of their hashes."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from .arrays import pack

EARLY = ("theme.js",)  # in the head: before anything is drawn
SHARED_STYLES = ("tokens.css", "base.css", "bar.css", "controls.css", "stack.css", "bars.css", "layer.css")
SHARED_SCRIPTS = (
    "dom.js",
    "format.js",
    "colours.js",
    "data.js",
    "png.js",
    "thumb.js",
    "paint.js",
    "scatter.js",
    "scatter-names.js",
    "scatter-input.js",
    "map-tools.js",
    "tip.js",
    "seg.js",
    "legend.js",
    "mosaic.js",
    "bars.js",
    "curve.js",
    "download.js",
)
"""Scripts that need no others than those before them in the list, for any page with samples."""

POLICY = (
    "default-src 'none'; img-src data: blob:; style-src {styles}; script-src {scripts}; base-uri 'none'; "
    "form-action 'none'"
)


def document(
    body: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    record: Mapping[str, Any],
    *,
    title: str,
    connect: str = "",
) -> str:
    """Return an HTML page that holds all it needs.

    Parameters
    ----------
    body : str
        HTML of the body, without anything that was read from data.
    styles, scripts : sequence of str
        Text of the style sheets, and of the scripts that run at the end of the body, in this order.
    record : mapping
        What the page shows, as for `laminar.report.arrays.pack`; ``unpackPage()`` of data.js returns it.
    title : str
        Title of the page, any text.
    connect : str, default=""
        Where scripts may send requests, as in a content security policy; nowhere by default.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> page = document("<p id=p></p>", [], ['$("#p").textContent = "x";'], {}, title="<a> & b")
    >>> "<title>&lt;a> &amp; b</title>" in page.replace("&gt;", ">"), "default-src 'none'" in page
    (True, True)
    """
    style, script, early = "\n".join(styles), "\n".join(["", *scripts, ""]), read_page(*EARLY)
    policy = POLICY.format(styles=_hash(style), scripts=f"{_hash(early)} {_hash(script)}")
    data, block = pack(record)
    parts = {
        "policy": policy + (f"; connect-src {connect}" if connect else ""),
        "title": html.escape(title),
        "styles": style,
        "early": early,
        "body": body,
        "data": data,
        "bytes": block,
        "scripts": script,
    }
    page, *rest = read_page("template.html").split("{{")
    for piece in rest:  # one pass, so that nothing in a part is taken for a place
        name, after = piece.split("}}", 1)
        page += parts[name] + after
    return page


def read_page(*names: str) -> str:
    """Return the text of files of the folder ``page``, one after the other.

    Parameters
    ----------
    *names : str
        Names of files.

    Returns
    -------
    str
        Their text.

    Examples
    --------
    >>> "class Scatter" in read_page("scatter.js")
    True
    """
    folder = files("laminar.report") / "page"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
