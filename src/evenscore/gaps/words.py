"""What people and outcomes are called: the single place for the wording of people."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from evenscore.scores import ClassName
from evenscore.scores.labels import label_text

ALL_OTHERS = "all others"
"""As a `reference_group`: compare each group with all the others together."""

SelectedIs = Literal["good", "bad"]

# Names may be given as a mapping, and are kept as pairs, which can be compared, hashed and stored.
if TYPE_CHECKING:
    GroupNames = Mapping[Any, str] | tuple[tuple[str, str], ...]
else:
    GroupNames = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Words:
    """The user's own words for people and outcomes, in findings, tables, pictures and reports.

    Parameters
    ----------
    people : str
        Who is scored: "applicants".
    positives, negatives : str
        The two classes, in the plural: "people who repaid", "people who defaulted".
    selected : str
        What happens to those beyond a cut: "granted a loan".
    selected_is : "good", "bad" or None
        Whether that is good for a person (a loan) or bad (a prison term). Findings then say whom a
        gap favours.
    refused : str
        What happens to all others: "refused". By default "not" and what happens to those selected.
    groups : mapping, optional
        What to call the groups, in the plural: {"f": "women", "m": "men"}. Groups that are not
        mentioned keep their labels.

    Examples
    --------
    >>> words = Words(negatives="people who defaulted", selected_is="good", groups={"f": "women"})
    >>> words.of("negatives"), words.favours("women", "m")
    ('people who defaulted', ' Being selected is good for a person here, so this favours women \
over group m.')
    >>> words.named("f"), words.among("women"), words.among("m")
    ('women', 'among women', 'in group m')
    """

    people: str = "people"
    positives: str = "positives"
    negatives: str = "negatives"
    selected: str = "selected"
    selected_is: SelectedIs | None = None
    refused: str = ""
    groups: GroupNames = ()

    def __post_init__(self) -> None:
        for name in ("people", "positives", "negatives", "selected"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{name} must be a text that is not empty, not {text!r}.")
        if not isinstance(self.refused, str):
            raise ValueError(f"refused must be a text, not {self.refused!r}.")
        if self.selected_is not in (None, *get_args(SelectedIs)):
            raise ValueError(
                f"selected_is must be 'good' or 'bad' (for a person), or None, not "
                f"{self.selected_is!r}."
            )
        given: Any = self.groups
        pairs = tuple(given.items()) if isinstance(given, Mapping) else tuple(map(tuple, given))
        pairs = tuple((label_text(label), name) for label, name in pairs)
        names = [name for _, name in pairs]
        if not all(isinstance(name, str) and name.strip() for name in names):
            raise ValueError(f"groups must give every group a name, not {given!r}.")
        if len(set(names)) < len(names) or len(dict(pairs)) < len(pairs):
            raise ValueError(f"groups must give different groups different names, not {given!r}.")
        object.__setattr__(self, "groups", pairs)

    @property
    def _pairs(self) -> tuple[tuple[str, str], ...]:
        """The names of groups as they are kept, whatever they were given as."""
        return self.groups  # type: ignore[return-value]

    def of(self, on: ClassName | None) -> str:
        """What a class is called; everybody if there is none."""
        return {"positives": self.positives, "negatives": self.negatives}.get(on or "", self.people)

    @property
    def not_selected(self) -> str:
        """What happens to people who are not selected."""
        return self.refused or f"not {self.selected}"

    @property
    def classes(self) -> dict[str, str]:
        """What phrases may name: the classes, and what happens to people."""
        return {
            "people": self.people,
            "positives": self.positives,
            "negatives": self.negatives,
            "selected": self.selected,
            "not_selected": self.not_selected,
            "would_not": f"would be {self.refused}"
            if self.refused
            else f"would not be {self.selected}",
        }

    # ------------------------------------------------------------------ groups

    def named(self, label: Hashable) -> Hashable:
        """What a group is called, of an intersection each part; the label, if nobody said."""
        names = dict(self._pairs)
        if isinstance(label, tuple):
            return tuple(names.get(label_text(part), part) for part in label)
        return names.get(label_text(label), label)

    def whom(self, group: str) -> str:
        """A group in a sentence: "women", if that is its name, or "group f"."""
        known = {name for _, name in self._pairs} | {ALL_OTHERS}
        return group if group in known else f"group {group}"

    def among(self, group: str) -> str:
        """Among whom: "among women", or "in group f"."""
        whom = self.whom(group)
        return f"among {whom}" if whom == group else f"in {whom}"

    def favours(self, higher: str, lower: str) -> str:
        """Whom it favours that one group ranks higher than another: a sentence, if it is known."""
        if self.selected_is is None:
            return ""
        sides = (higher, lower) if self.selected_is == "good" else (lower, higher)
        favoured, other = map(self.whom, sides)
        return (
            f" Being {self.selected} is {self.selected_is} for a person here, so this favours "
            f"{favoured} over {other}."
        )

    # ------------------------------------------------------------------ without the user's

    def filled(self, label: str | None, positive: Hashable, negative: Hashable) -> "Words":
        """The same, where classes that have no words are named after the column of labels.

        >>> Words().filled("repaid", "yes", "no").positives
        'people with repaid = yes'
        """
        if label is None:
            return self
        one, two = (f"{self.people} with {label} = {label_text(v)}" for v in (positive, negative))
        return replace(
            self,
            positives=one if self.positives == "positives" else self.positives,
            negatives=two if self.negatives == "negatives" else self.negatives,
        )


DEFAULT_WORDS = Words()
