"""What the studio refuses: a sentence, and the status of the answer."""

from __future__ import annotations


class Refused(ValueError):
    """A request that is refused.

    Parameters
    ----------
    sentence : str
        Why, and what to do.
    status : int, default=422
        Status of the answer in HTTP.
    """

    def __init__(self, sentence: str, status: int = 422):
        super().__init__(sentence)
        self.status = status


def stale(sentence: str) -> Refused:
    """Return the refusal of a change of labels that are not the present ones."""
    return Refused(sentence, 409)
