"""The model CONTRIBUTING.md adds is a real one."""

import doctest
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from laminar.testing import check_model

GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"


def test_the_example_model_works_and_is_short(monkeypatch):
    if not GUIDE.exists():
        pytest.skip("CONTRIBUTING.md is not part of an installed package")
    source = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.S).group(1)
    assert source.count("\n") < 60
    module = ModuleType("signed")
    monkeypatch.setitem(sys.modules, "signed", module)  # where pickle looks for the class
    exec(source.replace("from ..", "from laminar."), vars(module))
    model = module.SignedCodes
    tests = doctest.DocTestFinder(recurse=False).find(model, "SignedCodes", globs=vars(module))
    results = doctest.DocTestRunner().run(tests[0])
    assert results.attempted
    assert not results.failed
    X = np.random.default_rng(0).normal(size=(20, 8))
    assert (model(n_components=2, random_state=0).fit(X).transform(X) < 0).any()
    check_model(model(3), X)  # as the guide says tests/test_common.py will
