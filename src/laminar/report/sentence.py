"""The opening of a report: what was found, beside the best baseline, and what was not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .scores import METRICS, Row, Scores
from .subject import Attribute, Subject

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MAX_SCORES = 4  # attributes with scores in a sentence; the table has all of them
Part = list[Any]  # [text, whether it is the finding]


def title(subject: Subject) -> str:
    """Return the title: "600 faces in four layers".

    Parameters
    ----------
    subject : Subject
        The model and its samples.

    Returns
    -------
    str
        Samples and layers.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import NMF
    >>> from laminar.report.subject import read_subject
    >>> X = np.random.default_rng(0).random((8, 5))
    >>> title(read_subject(NMF(2, random_state=0).fit(X), X, noun="wine"))
    '8 wines in one layer'
    """
    n, k = subject.n_samples, len(subject.places)
    count = COUNTS[k] if k < len(COUNTS) else str(k)
    return f"{n:,} {subject.noun[n != 1]} in {count} {'layer' if k == 1 else 'layers'}"


def lede(subject: Subject, scores: Scores) -> list[Part]:
    """Return the opening sentences, as parts of text and whether each is a finding.

    Parameters
    ----------
    subject : Subject
        The model and its samples.
    scores : Scores
        Scores of the layers and of baselines.

    Returns
    -------
    list of [str, bool]
        What the model was given; for each attribute that a layer finds clearly better than every baseline its score and
        that of the best one; and the attributes for which no layer does, with both scores.
    """
    parts = [[_given(subject), False]]
    if subject.views is None and scores.way != "none":
        parts.append([" The data are not at hand: the only baseline is chance.", False])
    if scores.way == "none":
        return [*parts, [f" {scores.why} " + _variance(scores), False]]
    found = {a.name: finding(scores, a, subject.data.groups) for a in scores.attributes}
    gains = [(a, gain) for a in scores.attributes if (gain := found[a.name]) is not None]
    lost = [a for a in scores.attributes if found[a.name] is None and _is_scored(scores, a)]
    where = " Where it was given nothing, " if subject.given and gains else " " if gains else ""
    parts.append([where, False])
    for i, (attribute, gain) in enumerate(gains):
        if i:
            parts.append([", and " if i == len(gains) - 1 else ", ", False])
        phrase = _phrase(scores, attribute, gain, subject.noun[1])
        if not i and not subject.given:
            phrase[0][0] = phrase[0][0][0].upper() + phrase[0][0][1:]
        parts += phrase
    if gains:
        parts.append([".", False])
    if lost:
        names, word = _losses(scores, lost)
        text = f"For {names}, no layer does {word}" if gains else f"No layer finds {names} {word}"
        parts.append([f" {text} than the baselines{'' if gains else ' do'}.", False])
    if not gains and not lost:
        parts.append([" Too few labels are known to score it.", False])
    return [part for part in parts if part[0]]


def finding(scores: Scores, attribute: Attribute, groups: Any) -> tuple[Row, str] | None:
    """Return the best layer with a clear gain and the metric it is of, clusters first; None where there is none."""
    for metric in METRICS:
        own = [
            row for row in scores.rows if row.method.is_own and scores.value(row, metric, attribute.name) is not None
        ]
        best = max(own, key=lambda row: scores.value(row, metric, attribute.name) or 0.0, default=None)
        if best is not None and scores.gain(best, metric, attribute, groups) is not None:
            return best, metric
    return None


def best_own(scores: Scores, attribute: Attribute) -> tuple[Row, str] | None:
    """Return the layer with the highest score and the metric it is of, clusters if they are scored."""
    for metric in METRICS:
        own = [
            row for row in scores.rows if row.method.is_own and scores.value(row, metric, attribute.name) is not None
        ]
        if own:
            return max(own, key=lambda row: scores.value(row, metric, attribute.name) or 0.0), metric
    return None


def _losses(scores: Scores, lost: Sequence[Attribute]) -> tuple[str, str]:
    """Return the attributes with the scores of the best layer and the best baseline, and in what layers are not."""
    names, word, before = [], "better", None
    for attribute in lost:
        found = best_own(scores, attribute)
        best = None if found is None else scores.best_baseline(found[1], attribute.name)
        if found is None or best is None:
            names.append(attribute.name)
            continue
        value = scores.value(found[0], found[1], attribute.name) or 0.0
        if value > best[1]:
            word = "clearly better"
        base = _percent(best[1]) if best[0] == before else f"{_percent(best[1])} {_with(best[0])}"
        names.append(attribute.name + (f" ({_percent(value)} against {base})" if len(lost) <= MAX_SCORES else ""))
        before = best[0]
    return _listed(names), word


def _given(subject: Subject) -> str:
    counts = {a.name: int(a.given.sum()) for a in subject.attributes if a.given.any()}
    if not counts:
        return "The model was given no labels."
    if len(set(counts.values())) == 1:
        each = f"of {next(iter(counts))}" if len(counts) == 1 else "of each attribute"
        return f"The model was given {next(iter(counts.values())):,} of {subject.n_samples:,} labels {each}."
    low, high = min(counts.values()), max(counts.values())
    return f"The model was given {low:,} to {high:,} of {subject.n_samples:,} labels of {_listed(list(counts), 'and')}."


def _phrase(scores: Scores, attribute: Attribute, gain: tuple[Row, str], noun: str) -> list[Part]:
    row, metric = gain
    value, name = scores.value(row, metric, attribute.name), row.method.name
    layer = "the model itself" if row.method.kind == "own" else name if name[-1:].isdigit() else f"the {name} layer"
    best = scores.best_baseline(metric, attribute.name)
    verb = (
        f"clusters of {layer} match the {attribute.name} of "
        if metric == "clusters"
        else f"{layer} predicts the {attribute.name} of "
        if row.method.kind == "own"
        else f"a linear classifier of {layer} finds the {attribute.name} of "
    )
    beside = "" if best is None else f" ({_percent(best[1])} {_with(best[0])})"
    return [[verb, False], [_percent(value), True], [f" of the {noun}{beside}", False]]


def _with(name: str) -> str:
    """Return a baseline in words, without the number of its components."""
    if name == "chance":
        return "by chance"
    name = re.sub(r" \(\d+\)$", "", name).replace(", same labels", " given the same")
    return f"with the {name} itself" if name.endswith("input") else f"with {name}"


def _variance(scores: Scores) -> str:
    """Return a sentence on the variance that the top layer explains, empty where it is not known."""
    known = [row.method for row in scores.rows if row.method.kind == "layer" and row.method.explained is not None]
    if not known:
        return ""
    top = known[-1]
    k = top.n_components
    parts, directions = ("component", "direction") if k == 1 else (f"{k} components", f"{k} directions")
    return (
        f"The {parts} of {top.name} explain{'s' if k == 1 else ''} {_percent(top.explained)} of the variance; "
        f"the best any {directions} can do is {_percent(top.best)}."
    )


def _is_scored(scores: Scores, attribute: Attribute) -> bool:
    return any(scores.value(row, metric, attribute.name) is not None for row in scores.rows for metric in METRICS)


def _percent(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if 0 < value < 0.0995 else f"{int(100 * value + 0.5)} %"


def _listed(names: Sequence[str], word: str = "or") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
