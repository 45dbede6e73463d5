"""The model CONTRIBUTING.md adds is a real one."""

import doctest
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"


def test_the_example_model_works_and_is_short():
    if not GUIDE.exists():
        pytest.skip("CONTRIBUTING.md is not part of an installed package")
    source = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.S).group(1)
    assert source.count("\n") < 60
    space: dict = {}
    exec(source.replace("from ..", "from laminar."), space)
    model = space["SignedCodes"]
    tests = doctest.DocTestFinder(recurse=False).find(model, "SignedCodes", globs=space)
    results = doctest.DocTestRunner().run(tests[0])
    assert results.attempted
    assert not results.failed
    X = [[1.0, 2.0, 0.5], [-1.0, -2.0, 0.0], [0.0, 1.0, 1.0], [3.0, 0.0, -1.0]]
    codes = model(n_components=2, random_state=0).fit(X).transform(X)
    assert (codes < 0).any()
