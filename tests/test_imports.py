"""Imports inside the package point downward: the order of packages, no cycles, nobody's private names."""

import ast
from pathlib import Path

import pytest
from benchmarks.structure import Import, Tree, cycles

SOURCE = Path(__file__).parents[1] / "src" / "laminar"

# From the bottom up; a package imports from lines above its own, and from itself. Those on one line are apart.
ORDER = (
    ("_utils",),
    ("_persistence",),
    ("callbacks",),
    ("_engine.linalg",),
    ("_engine.data",),
    ("_engine.terms",),
    ("_engine",),
    ("graphs",),
    ("_base",),
    ("nmf",),
    ("deep",),
    ("multiview",),
    ("ensemble",),
    ("attributes",),
    ("temporal",),
    ("metrics",),
    ("evaluation",),
    ("features", "baselines", "plots", "io"),
    ("datasets",),
    ("recipes",),
    ("",),  # `laminar` itself, the public names
    ("report", "experiments"),
    ("studio",),
    ("testing", "cli"),
    ("__main__",),
)
FLOOR = {package: floor for floor, packages in enumerate(ORDER) for package in packages}


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree.of_folder(SOURCE)


def _package(module: str) -> str | None:
    """The longest entry of the order that a module belongs to, if any."""
    parts = module.split(".")[1:]
    names = [".".join(parts[:i]) for i in range(len(parts), -1, -1)]
    return next((name for name in names if name in FLOOR and (name or not parts)), None)


def _points_upward(found: Import) -> bool:
    source, target = _package(found.source), _package(found.target)
    return None not in (source, target) and source != target and FLOOR[target] >= FLOOR[source]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _takes_private(found: Import) -> bool:
    """A private name of another module, or a private module of another folder; `_engine` and its like are folders."""
    if found.name:
        return _is_private(found.name)
    *folder, last = found.target.split(".")
    return _is_private(last) and len(folder) > 1 and not found.source.startswith(".".join(folder))


def _private_attributes(tree: Tree) -> list[str]:
    """``module._name`` where the module was imported from the package."""
    uses = []
    for module, body in tree.trees.items():
        own = {
            i.target.rsplit(".", 1)[1] for i in tree.imports if i.source == module and not i.name and "." in i.target
        }
        for node in ast.walk(body):
            is_attribute = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            if is_attribute and node.value.id in own and _is_private(node.attr):
                uses.append(f"{module}:{node.lineno} uses {node.value.id}.{node.attr}")
    return uses


def _show(imports: list[Import]) -> list[str]:
    return [f"{i.source}:{i.line} imports {i.target}{'.' * bool(i.name)}{i.name}" for i in imports]


def _none(faults: list) -> None:
    assert not faults, "\n".join(map(str, faults))


def test_every_module_has_a_floor(tree):
    _none([module for module in tree.trees if _package(module) is None])


def test_imports_point_downward(tree):
    _none(_show([found for found in tree.imports if _points_upward(found)]))


def test_modules_form_no_cycle(tree):
    _none(cycles(tree.graph()))


def test_packages_form_no_cycle(tree):
    _none(cycles(tree.graph(through_packages=True)))


def test_private_names_stay_at_home(tree):
    _none(_show([found for found in tree.imports if _takes_private(found)]) + _private_attributes(tree))
