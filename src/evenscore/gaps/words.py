"""What people and outcomes are called: the single place for the wording of people."""

from dataclasses import dataclass
from typing import Literal, get_args

from evenscore.scores import ClassName

SelectedIs = Literal["good", "bad"]


@dataclass(frozen=True)
class Words:
    """The user's own words for people and outcomes, in findings, tables and reports.

    Parameters
    ----------
    people : str
        Who is scored: "applicants".
    positives, negatives : str
        The two classes, in the plural: "people who repaid", "people who defaulted".
    selected : str
        What happens to those above a cut: "granted a loan".
    selected_is : "good", "bad" or None
        Whether that is good for a person (a loan) or bad (a prison term). Findings then say whom a
        gap favours.

    Examples
    --------
    >>> words = Words(negatives="people who defaulted", selected_is="good")
    >>> words.of("negatives"), words.favours("women", "men")
    ('people who defaulted', ' Being selected is good for a person here, so this favours women.')
    """

    people: str = "people"
    positives: str = "positives"
    negatives: str = "negatives"
    selected: str = "selected"
    selected_is: SelectedIs | None = None

    def __post_init__(self) -> None:
        for name in ("people", "positives", "negatives", "selected"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{name} must be a text that is not empty, not {text!r}.")
        if self.selected_is not in (None, *get_args(SelectedIs)):
            raise ValueError(
                f"selected_is must be 'good' or 'bad' (for a person), or None, not "
                f"{self.selected_is!r}."
            )

    def of(self, on: ClassName | None) -> str:
        """What a class is called; everybody if there is none."""
        return {"positives": self.positives, "negatives": self.negatives}.get(on or "", self.people)

    def favours(self, higher: str, lower: str) -> str:
        """Whom it favours that one group ranks higher than another: a sentence, if it is known."""
        if self.selected_is is None:
            return ""
        favoured = higher if self.selected_is == "good" else lower
        return (
            f" Being {self.selected} is {self.selected_is} for a person here, so this favours "
            f"{favoured}."
        )


DEFAULT_WORDS = Words()
