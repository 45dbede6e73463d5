"""Check files before a commit: ``python -m benchmarks.files PATH ...``.

Text ends with exactly one newline and has none but line feeds, no file is larger than a megabyte, and TOML can be
read. Prints a line for every fault; the exit code is 1 if there is one.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

MOST = 1024 * 1024  # bytes; docs/images/demo.png, the largest file, has 0.9 of it


def faults(path: Path) -> list[str]:
    """What is wrong with a file, a sentence each."""
    content, found = path.read_bytes(), []
    if len(content) > MOST:
        found.append(f"has {len(content)} bytes, more than {MOST}: data belong elsewhere")
    if b"\0" in content or not content:  # binary, or empty as py.typed is
        return found
    if not content.endswith(b"\n") or content.endswith(b"\n\n"):
        found.append("must end with one newline")
    if b"\r" in content:
        found.append("has carriage returns: use line feeds alone")
    if path.suffix == ".toml":
        try:
            tomllib.loads(content.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            found.append(f"is no TOML: {error}")
    return found


def main() -> int:
    lines = [f"{name}: {fault}" for name in sys.argv[1:] for fault in faults(Path(name))]
    print("\n".join(lines), end="\n" * bool(lines))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
