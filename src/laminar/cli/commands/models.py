"""`laminar models`: which model to pick."""

from __future__ import annotations

from ..options import Debug, Json, Quiet
from ..terminal import session, table


def models(quiet: Quiet = False, as_json: Json = False, debug: Debug = False) -> None:
    """List the models: for which signs, labels, views, time and gaps each of them is.

    \b
    Examples:
      laminar models
      laminar models --json
    """  # noqa: D301 -- click keeps the line breaks of a paragraph after the character \b
    with session(quiet, as_json, debug) as terminal:
        from ..choice import MAX_SAMPLES_WITH_GRAPH, MODELS, command_name

        columns = ["model", "data", "labels", "views", "time", "gaps", "samples", "use it for"]
        rows = [
            [
                command_name(name),
                s.data,
                s.labels or "-",
                *("yes" if has else "-" for has in (s.views, s.time, s.holes)),
                "to 100,000" if s.graph else "any",
                s.use,
            ]
            for name, s in MODELS.items()
        ]
        terminal.show(table("", columns, rows, text=range(len(columns))))
        terminal.show(
            "Without --model: several inputs cluster-ensemble; labels attribute-layers; a video slow-feature-nmf,\n"
            "with negative values slow-feature-analysis; sparse counts nmf; else smoothed-semi-nmf, and for more than\n"
            f"{MAX_SAMPLES_WITH_GRAPH:,} samples nmf, with negative values semi-nmf. Gaps: samples may lack a view."
        )
        terminal.finish({"models": {command_name(name): vars(purpose) for name, purpose in MODELS.items()}})
