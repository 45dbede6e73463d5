"""How the package is built, in numbers: ``python -m benchmarks.structure [COMMIT ...]``.

One column for the working tree, or for each commit given. Every row is a count by the rule in its docstring; rules are
heuristics on the syntax tree, the same for every commit, so that differences mean more than values.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PACKAGE = "laminar"

# The optimisation core before it had a folder of its own.
FLAT_CORE = {
    "terms",
    "problem",
    "penalties",
    "constraints",
    "updates",
    "solve",
    "masked",
    "coupled",
    "pulled",
    "concepts",
}
# What masked, coupled, pulled and concepts became.
OWN_PROBLEMS = {
    "deep.coupled",
    "deep.products",
    "multiview.missing",
    "multiview.multinmf_problem",
    "nmf.concept_problem",
}
BASES = {"Factorizer"}


@dataclass(frozen=True)
class Import:
    """One name imported by a module: ``from target import name``, or ``import target`` with an empty name."""

    source: str
    target: str  # dotted, a module of the package
    name: str  # "" where a module itself is imported
    line: int


class Tree:
    """Modules of the package by dotted name, parsed.

    Parameters
    ----------
    sources : dict
        Text of every file, by its path below the folder of the package.
    """

    def __init__(self, sources: dict[PurePosixPath, str]):
        self.packages = {_dotted(path) for path in sources if path.name == "__init__.py"}
        self.texts = {_dotted(path): text for path, text in sorted(sources.items())}
        self.trees = {name: ast.parse(text) for name, text in self.texts.items()}

    @classmethod
    def of_folder(cls, folder: Path) -> Tree:
        """The modules in a folder."""
        files = {PurePosixPath(path.relative_to(folder).as_posix()): path for path in folder.rglob("*.py")}
        return cls({name: path.read_text(encoding="utf-8") for name, path in files.items()})

    @classmethod
    def of_commit(cls, commit: str) -> Tree:
        """The modules at a commit, read from git without a checkout."""
        folder = f"src/{PACKAGE}"
        command = ["git", "archive", commit, folder]
        archive = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        sources = {}
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            for member in files.getmembers():
                if member.isfile() and member.name.endswith(".py"):
                    text = files.extractfile(member).read().decode("utf-8")
                    sources[PurePosixPath(member.name).relative_to(folder)] = text
        return cls(sources)

    def is_package(self, name: str) -> bool:
        return name in self.packages

    def classes(self) -> Iterator[tuple[str, ast.ClassDef]]:
        for module, tree in self.trees.items():
            yield from ((module, node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))

    @cached_property
    def imports(self) -> list[Import]:
        """Every import of the package's own modules, wherever in a module it stands."""
        return [found for module, tree in self.trees.items() for found in self._imports_of(module, tree)]

    def _imports_of(self, module: str, tree: ast.AST) -> Iterator[Import]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in self.trees:
                        yield Import(module, alias.name, "", node.lineno)
            elif isinstance(node, ast.ImportFrom):
                base = self._base(module, node)
                for alias in node.names if base in self.trees else ():
                    inner = f"{base}.{alias.name}"
                    target, name = (inner, "") if inner in self.trees else (base, alias.name)
                    yield Import(module, target, name, node.lineno)

    def _base(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        parts = parts[: len(parts) - node.level + self.is_package(module)]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def graph(self, *, through_packages: bool = False) -> dict[str, set[str]]:
        """Which modules a module imports; with ``through_packages`` also the ``__init__`` Python runs on the way."""
        edges: dict[str, set[str]] = {name: set() for name in self.trees}
        for found in self.imports:
            targets = {found.target}
            if through_packages:
                targets |= set(_ancestors(found.target)) - set(_ancestors(found.source))
            edges[found.source] |= targets - {found.source}
        return edges


def _dotted(path: PurePosixPath) -> str:
    parts = path.with_suffix("").parts
    return ".".join([PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)])


def _ancestors(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def components(edges: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components in topological order, what is imported first (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            cut = stack.index(node)
            found.append(sorted(stack[cut:]))
            del stack[cut:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other."""
    return [group for group in components(edges) if len(group) > 1]


# Rows: a function of a tree each; its docstring says by which rule.


def top_floor(tree: Tree) -> int:
    """Modules directly in src/laminar, without ``__init__``; folders are not counted."""
    return sum(name.count(".") == 1 and not tree.is_package(name) for name in tree.trees)


def n_modules(tree: Tree) -> int:
    """Python files with more than a docstring."""
    return sum(any(not isinstance(node, ast.Expr) for node in body.body) for body in tree.trees.values())


def longest_chain(tree: Tree) -> int:
    """Most modules in a row that import each the next; modules of one cycle count as one."""
    edges, length = tree.graph(), {}
    for group in components(edges):
        below = {length[other] for node in group for other in edges[node] if other not in group}
        length.update(dict.fromkeys(group, 1 + max(below, default=0)))
    return max(length.values())


def module_cycles(tree: Tree) -> int:
    """Groups of modules that import each other, imports inside functions included."""
    return len(cycles(tree.graph()))


def package_cycles(tree: Tree) -> int:
    """The same where importing ``a.b.c`` also counts as importing ``a`` and ``a.b``, which Python runs first."""
    return len(cycles(tree.graph(through_packages=True)))


def n_classes(tree: Tree) -> int:
    """Class statements, private ones and nested ones too."""
    return sum(1 for _ in tree.classes())


def core_kinds(tree: Tree) -> int:
    """Kinds of class in the optimisation core: classes that share a base, or three public methods, are of one kind.

    Protocols, which describe a kind, and records without a public method do not count. The core is ``_engine`` without
    its data and linear algebra, and the models' own problems; where there is no ``_engine``, the flat modules that were
    the core.
    """
    classes = [node for module, node in tree.classes() if _is_core(module) and _behaves(node)]
    methods = [{name for name in _members(node) if not name.startswith("_")} for node in classes]
    kind = list(range(len(classes)))
    for a, one in enumerate(classes):
        for b, other in enumerate(classes):
            related = one.name in {_name(base) for base in other.bases} or len(methods[a] & methods[b]) >= 3
            if a < b and related:
                kind = [kind[a] if k == kind[b] else k for k in kind]
    return len(set(kind))


def _behaves(node: ast.ClassDef) -> bool:
    methods = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
    is_protocol = "Protocol" in {_name(base) for base in node.bases}
    return not is_protocol and any(not name.startswith("_") or name == "__call__" for name in methods)


def _is_core(module: str) -> bool:
    parts = module.split(".")[1:]
    if parts and parts[0] == "_engine":
        return not {"data", "linalg"} & set(parts)
    return ".".join(parts) in FLAT_CORE | OWN_PROBLEMS


def own_loops(tree: Tree) -> int:
    """Functions with a ``for`` or ``while`` whose body appends to, or adds to, something called history."""
    functions = (node for body in tree.trees.values() for node in ast.walk(body) if isinstance(node, ast.FunctionDef))
    return sum(any(_keeps_history(loop) for loop in _own_loops(function)) for function in functions)


def _own_loops(function: ast.FunctionDef) -> Iterator[ast.AST]:
    return (node for node in ast.walk(function) if isinstance(node, ast.For | ast.While))


def _keeps_history(loop: ast.AST) -> bool:
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            target: ast.AST = node.func.value
        elif isinstance(node, ast.AugAssign):
            target = node.target
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.Tuple):
            target = ast.Tuple(elts=node.targets)
        else:
            continue
        if re.search(r"\b_?histor(y|ies)\b", ast.unparse(target)):
            return True
    return False


def template_hooks(tree: Tree) -> int:
    """Private methods and attributes of the base estimator that a class derived from it defines again."""
    bases = {node.name: {_name(base) for base in node.bases} for _, node in tree.classes()}
    members = {node.name: set(_members(node)) for _, node in tree.classes()}
    own = {name for base in BASES for name in members.get(base, ()) if re.match(r"_[a-z]", name)}
    derived = [name for name in bases if name not in BASES and _derives(name, bases)]
    overridden = {member for name in derived for member in members[name]}
    return len((own & overridden) - {"_parameter_constraints"})


def _name(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""


def _members(node: ast.ClassDef) -> Iterable[str]:
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            yield item.name
        elif isinstance(item, ast.Assign):
            yield from (target.id for target in item.targets if isinstance(target, ast.Name))
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id


def _derives(name: str, bases: dict[str, set[str]]) -> bool:
    return any(base in BASES or (base != name and _derives(base, bases)) for base in bases.get(name, ()))


def constants(tree: Tree) -> int:
    """Upper-case names assigned at the top level of a module; ``A, B = ...`` counts twice."""
    return sum(len(list(_constants(body))) for body in tree.trees.values())


def _constants(body: ast.Module) -> Iterator[str]:
    for node in body.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if _annotated(node) else []
        names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
        yield from (name.id for name in names if re.fullmatch(r"_?[A-Z][A-Z0-9_]+", name.id))


def _annotated(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and node.value is not None


def cited_equations(tree: Tree) -> int:
    """Places in the source that cite an equation by number: "eq. 5", "eq. (5)", "Eqs. 4 and 5", "equation 5"."""
    pattern = re.compile(r"\b(?:eqs?\.|equations?)\s*\(?\d+", re.I)
    return sum(len(pattern.findall(text)) for text in tree.texts.values())


ROWS = {
    "modules on the top floor": top_floor,
    "modules": n_modules,
    "longest chain of imports": longest_chain,
    "cycles of modules": module_cycles,
    "cycles through packages": package_cycles,
    "classes": n_classes,
    "kinds in the optimisation core": core_kinds,
    "loops with a history of their own": own_loops,
    "template hooks of the base estimator": template_hooks,
    "module constants": constants,
    "equation numbers cited": cited_equations,
}


def measure(commit: str | None) -> list[int]:
    """The column of a commit, or of the working tree."""
    tree = Tree.of_folder(ROOT / "src" / PACKAGE) if commit is None else Tree.of_commit(commit)
    return [row(tree) for row in ROWS.values()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="anything git knows; the working tree by default")
    parser.add_argument("--rules", action="store_true", help="say how each row is counted")
    arguments = parser.parse_args()
    if arguments.rules:
        for name, row in ROWS.items():
            print(f"{name}: {row.__doc__}")
        return 0
    commits: list[str | None] = [*arguments.commits] or [None]
    columns = [measure(commit) for commit in commits]
    print("| |" + "".join(f" {commit or 'working tree'} |" for commit in commits))
    print("|---|" + "---|" * len(commits))
    for i, name in enumerate(ROWS):
        print(f"| {name} |" + "".join(f" {column[i]} |" for column in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
