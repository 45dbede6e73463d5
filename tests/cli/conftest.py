import os
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture(scope="session")
def laminar():
    """Run the command in a process of its own and check its exit code; a traceback is an error."""

    def run(*arguments, cwd, code=0, timeout=300, **environment):
        process = subprocess.run(
            [sys.executable, "-m", "laminar", *map(str, arguments)],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "100", **environment},
        )
        assert process.returncode == code, process.stdout + process.stderr
        assert "Traceback" not in process.stderr
        return process

    return run


@pytest.fixture
def run_here(monkeypatch, capsys):
    """Run the command in this process, which takes no seconds to import; return exit code, output and errors."""
    from laminar.cli import app

    def run(*arguments, cwd=None):
        monkeypatch.setattr(sys, "argv", ["laminar", *map(str, arguments)])
        if cwd is not None:
            monkeypatch.chdir(cwd)
        with pytest.raises(SystemExit) as end:
            app.main()
        return (end.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def write_images():
    """Write small images of two classes, named class_number.png; return their names."""

    def write(folder, n=12, size=(8, 6), seed=0):
        image = pytest.importorskip("PIL.Image", reason='needs pillow: pip install "laminar-nmf[images]"')
        folder.mkdir(exist_ok=True)
        rng, names = np.random.default_rng(seed), []
        for i in range(n):
            pixels = rng.integers(0, 80, size)
            pixels[: size[0] // 2] += 150 * (i % 2)
            names.append(f"{('left', 'right')[i % 2]}_{i:02d}")
            image.fromarray(pixels.astype(np.uint8)).save(folder / f"{names[-1]}.png")
        return names

    return write
