"""Names of attributes and of their values: what a CSV of labels can hold, and `laminar fit --labels` reads again."""

from __future__ import annotations

import re
import unicodedata

from laminar.io.labels import ID_COLUMNS, UNKNOWN, WHOLE_NUMBER

from .errors import Refused

MAX_LENGTH = 100  # of a name, in characters
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def attribute_name(name: object) -> str:
    """Return the name of an attribute without spaces around it.

    Examples
    --------
    >>> attribute_name(" pose ")
    'pose'
    >>> attribute_name("a;b")
    Traceback (most recent call last):
    laminar.studio.errors.Refused: the attribute 'a;b' has a semicolon, which separates columns of tables: leave it out.
    """
    text = _text(name, "attribute")
    if ";" in text:
        raise Refused(f"the attribute {text!r} has a semicolon, which separates columns of tables: leave it out.")
    if text.lower() in (*ID_COLUMNS, "rest"):
        raise Refused(f"the attribute {text!r} has the name of a column of ids, or of the last layer: take another.")
    return text


def label_value(value: object) -> str:
    """Return a value of an attribute without spaces around it, whole numbers as "2".

    Examples
    --------
    >>> label_value("2.0"), label_value("-3"), label_value(" anna, or ben ")
    ('2', '-3', 'anna, or ben')
    """
    text = _text(value, "value")
    if WHOLE_NUMBER.fullmatch(text):
        text = text.partition(".")[0]
    if text in UNKNOWN or text == "-1":
        raise Refused(f"the value {text!r} stands for an unknown label: take another, or remove the label.")
    return text


def _text(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise Refused(f"the {what} is {type(name).__name__} and not text.")
    text = name.strip()
    if not text:
        raise Refused(f"the {what} has no name: type one.")
    if len(text) > MAX_LENGTH:
        raise Refused(f"the {what} has {len(text)} characters, more than {MAX_LENGTH}: shorten it.")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        raise Refused(f"the {what} has a line break or a control character: leave it out.")
    if text[0] in "=@" or (text[0] in "+-" and len(text) > 1 and not NUMBER.fullmatch(text)):
        raise Refused(f"the {what} begins with {text[0]}, and spreadsheets would compute it: begin with a letter.")
    return text
