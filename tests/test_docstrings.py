"""Docstrings of the public names: numpydoc's rules, and what a docstring of an estimator must hold."""

import inspect
import re
import warnings

import numpy as np
import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate
from sklearn.base import BaseEstimator

import laminar

IGNORED = {
    "GL01": "the summary stands on the line of the opening quotes, as in PEP 257 and in scikit-learn",
    "GL02": "the closing quotes of a single line stand on it",
    "ES01": "a summary that says everything needs no extended summary",
    "SA01": "See Also is for classes; a method would point to its own class",
    "EX01": "examples are on the class, and run as doctests",
    "RT02": "the value returned is named, as in scikit-learn",
}
# Docstrings of leaves that are not complete yet, and the codes they may raise.
INCOMPLETE = {
    "laminar.graphs.GraphOperator": {"PR01", "RT01"},  # its methods are one-line formulas of H
    "laminar.graphs.Labels.link": {"PR01", "RT01"},  # used by estimators, not by users
}
RECORDS = {  # made by functions: their fields are documented as attributes, not as parameters
    laminar.baselines.BestView,
    laminar.metrics.PairwiseScores,
    laminar.temporal.Phases,
}
ESTIMATORS = sorted(
    name
    for name in laminar.__all__
    if inspect.isclass(getattr(laminar, name)) and issubclass(getattr(laminar, name), BaseEstimator)
)
OWN_MODELS = {"AttributeLayers"}  # published nowhere else
FORBIDDEN = r"\b(told|tells|leap|leaps|rests|silent|price|pull|pulls|at rest|hears|heard)\b"
DOI = r"doi:10\.\d{4,}/\S+|arXiv:\d{4}\.\d{4,5}"


def public_names():
    """Every public class, function and method, by its dotted name, in a fixed order."""
    for name in laminar.__all__:
        found = getattr(laminar, name)
        if inspect.ismodule(found):
            assert found.__all__, f"laminar.{name} has no public names"
            members = {f"laminar.{name}.{member}": getattr(found, member) for member in found.__all__}
        else:
            members = {f"laminar.{name}": found}
        for path, member in members.items():
            yield path
            if inspect.isclass(member):
                yield from (f"{path}.{method}" for method in public_methods(member))


def public_methods(cls):
    """Methods and properties of a class that are Laminar's own and do not just repeat a documented one."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        function = member.fget if isinstance(member, property) else getattr(cls, name)
        own = (getattr(function, "__module__", None) or "").startswith("laminar")
        if name.startswith("_") or not own or not (isinstance(member, property) or callable(function)):
            continue
        if function.__doc__ or not any(getattr(getattr(base, name, None), "__doc__", None) for base in cls.__mro__[1:]):
            yield name


def resolve(path):
    found = laminar
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def sections(name):
    return NumpyDocString(inspect.getdoc(getattr(laminar, name)))


def fitted(name):
    """An estimator fitted to a few samples, with labels where it takes them."""
    rng = np.random.default_rng(0)
    X, y = rng.gamma(1.0, size=(24, 7)), np.array([0, 0, 1, 1, 2, -1] * 4)
    cls = getattr(laminar, name)
    parameters = {"layers": (5, 3), "n_components": 3}
    model = cls(**{key: value for key, value in parameters.items() if key in cls().get_params()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


# numpydoc


@pytest.mark.parametrize("path", list(public_names()))
def test_numpydoc_validation(path):
    allowed = set(IGNORED).union(*(codes for start, codes in INCOMPLETE.items() if path.startswith(start)))
    if resolve(path) in RECORDS:
        allowed |= {"PR01"}
    errors = [f"{code}: {message}" for code, message in validate(path)["errors"] if code not in allowed]
    assert not errors, f"{path}\n" + "\n".join(errors)


@pytest.mark.parametrize("path", list(public_names()))
def test_no_reference_to_another_docstring(path):
    assert "As for" not in (resolve(path).__doc__ or "")


# estimators


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_documented_one_by_one(name):
    signature = inspect.signature(getattr(laminar, name))
    assert [parameter.name for parameter in sections(name)["Parameters"]] == list(signature.parameters)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameter_defaults(name):
    for parameter in sections(name)["Parameters"]:
        default = inspect.signature(getattr(laminar, name)).parameters[parameter.name].default
        text = f'"{default}"' if isinstance(default, str) else f"{default}"
        assert parameter.type.endswith(f"default={text}") or (
            isinstance(default, float) and float(parameter.type.rpartition("default=")[2]) == default
        ), f"{parameter.name} : {parameter.type}"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fitted_attributes_documented(name):
    model = fitted(name)
    public = {attribute for attribute in dir(model) if attribute.endswith("_") and not attribute.startswith("_")}
    documented = [attribute.name for attribute in sections(name)["Attributes"]]
    assert len(documented) == len(set(documented))
    assert set(documented) - {"feature_names_in_"} == public  # names only where X has them


@pytest.mark.parametrize("name", ESTIMATORS)
def test_summary_one_line(name):
    assert len(sections(name)["Summary"]) == 1


@pytest.mark.parametrize("name", ESTIMATORS)
def test_notes_begin_with_algorithm(name):
    assert sections(name)["Notes"][0].startswith("**Algorithm.**")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_equations_numbered_in_order(name):
    numbers = re.findall(r"^ {4,}.*\s{2}\((\d+)\)$", inspect.getdoc(getattr(laminar, name)), re.MULTILINE)
    assert numbers == [str(i + 1) for i in range(len(numbers))]
    assert numbers


@pytest.mark.parametrize("name", ESTIMATORS)
def test_references_cited_with_doi(name):
    doc, references = inspect.getdoc(getattr(laminar, name)), "\n".join(sections(name)["References"])
    listed = re.findall(r"^\.\. \[(\d+)\] ", references, re.MULTILINE)
    assert listed == [str(i + 1) for i in range(len(listed))]
    assert set(re.findall(r"\[(\d+)\]_", doc)) == set(listed)
    assert name in OWN_MODELS or re.search(DOI, references)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_names_of_scikit_learn(name):
    if name == "SlowFeatureAnalysis":
        pytest.skip("not a factorisation")
    text = " ".join(sections(name)["Extended Summary"])
    assert re.search(r"scikit-learn('s NMF)? calls .* W and H|scikit-learn's W", text)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_words_of_the_literature(name):
    cls = getattr(laminar, name)
    for doc in [cls.__doc__, *(getattr(cls, method).__doc__ or "" for method in public_methods(cls))]:
        assert not re.search(FORBIDDEN, doc), re.search(FORBIDDEN, doc).group()
