"""The packages of laminar and the direction of their imports: ``python -m benchmarks.package_picture``.

Writes docs/images/packages.svg from the source tree. A line goes from a package down to one it imports; lines that
follow from others (A to C where A imports B and B imports C) are left out.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.structure import ROOT, Tree

PICTURE = ROOT / "docs" / "images" / "packages.svg"
ROOMS = {  # one line each; packages that are not listed fail the test
    "_utils": "threads, labels, views",
    "_persistence": "model files",
    "callbacks": "of a fit",
    "_engine": "data, terms, the loop",
    "graphs": "samples linked, as operators",
    "_base": "the scikit-learn half",
    "nmf": "one layer",
    "deep": "several layers",
    "multiview": "several views",
    "ensemble": "clusters by agreement",
    "attributes": "several attributes",
    "temporal": "sequences",
    "metrics": "scores",
    "evaluation": "tables, choosing layers",
    "datasets": "made and read",
    "features": "of images",
    "baselines": "what papers compare with",
    "plots": "figures",
    "io": "files people have",
    "recipes": "papers' settings",
    "report": "a model as one page",
    "studio": "labelling on a page",
    "experiments": "papers' tables",
    "testing": "contracts",
    "cli": "the command",
}
WIDTH, HEIGHT, GAP_X, GAP_Y = 176, 46, 20, 44  # of a box and between boxes, in pixels


def package_imports(tree: Tree) -> dict[str, set[str]]:
    """Return the packages that each package imports; ``__main__`` is none."""
    edges: dict[str, set[str]] = {name: set() for name in ROOMS}
    for found in tree.imports:
        source, target = ([*name.split("."), "", ""][1] for name in (found.source, found.target))
        if source and target and source != target and source != "__main__":
            edges.setdefault(source, set()).add(target)
            edges.setdefault(target, set())
    return edges


def reduced(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the edges without those that follow from others."""

    def reached(name: str) -> set[str]:
        return edges[name].union(*(reached(below) for below in edges[name]))

    return {
        name: {below for below in targets if not any(below in reached(other) for other in targets - {below})}
        for name, targets in edges.items()
    }


def levels(edges: dict[str, set[str]]) -> dict[str, int]:
    """Return the longest path from each package down."""

    def level(name: str) -> int:
        return 1 + max((level(below) for below in edges[name]), default=-1)

    return {name: level(name) for name in edges}


def draw(edges: dict[str, set[str]]) -> str:
    """Return the picture as SVG."""
    rows: dict[int, list[str]] = {}
    for name, level in levels(edges).items():
        rows.setdefault(level, []).append(name)
    most = max(map(len, rows.values()))
    width, height = most * (WIDTH + GAP_X) + GAP_X, len(rows) * (HEIGHT + GAP_Y) + GAP_Y
    place = {}
    for level, names in rows.items():
        left = (width - len(names) * (WIDTH + GAP_X) + GAP_X) / 2
        for i, name in enumerate(sorted(names)):
            place[name] = left + i * (WIDTH + GAP_X), height - GAP_Y - HEIGHT - level * (HEIGHT + GAP_Y)
    lines = [
        f'<line x1="{place[name][0] + WIDTH / 2:.0f}" y1="{place[name][1] + HEIGHT:.0f}" '
        f'x2="{place[below][0] + WIDTH / 2:.0f}" y2="{place[below][1]:.0f}" stroke="#8a94a6" stroke-width="1.2"/>'
        for name, targets in sorted(reduced(edges).items())
        for below in sorted(targets)
    ]
    boxes = []
    for name, (x, y) in sorted(place.items()):
        fill = "#eef1f6" if name.startswith("_") else "#ffffff"
        boxes.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="#3b4a63"/>'
            f'<text x="{x + WIDTH / 2:.0f}" y="{y + 19:.0f}" class="name">{name}</text>'
            f'<text x="{x + WIDTH / 2:.0f}" y="{y + 36:.0f}" class="room">{ROOMS[name]}</text>'
        )
    style = (
        "<style>text{text-anchor:middle;font-family:sans-serif;fill:#1d2738}"
        ".name{font-size:14px;font-weight:600}.room{font-size:11px}</style>"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join(
        [head, style, f'<rect width="{width}" height="{height}" fill="#ffffff"/>', *lines, *boxes, "</svg>\n"]
    )


def current() -> str:
    """Return the picture of the working tree."""
    return draw(package_imports(Tree.of_folder(ROOT / "src" / "laminar")))


if __name__ == "__main__":
    Path(PICTURE).write_text(current())
    print(PICTURE)
