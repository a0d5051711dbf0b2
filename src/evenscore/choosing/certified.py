"""A certified choice: which candidates were tested, which passed, and what that proves."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, final

from evenscore.auditing.frames import Backend, data_frame
from evenscore.auditing.plain import from_plain, to_plain
from evenscore.auditing.showable import Showable
from evenscore.auditing.stored import from_file
from evenscore.files.atomic import write_atomically
from evenscore.inference.estimate import Estimate, percent
from evenscore.inference.gap_certificates import GapCertificate

Outcome = Literal["passed", "failed", "not tested"]

FORMAT, VERSION = "evenscore.certified_choice", "1.0"

UNREASONABLE, UNHEARD_OF = 100.0, 1e6
"""If so many times the people would be needed, and so many more, it is said that none would do."""


@final
@dataclass(frozen=True)
class CandidateTest:
    """What became of one candidate on people held out.

    `certificates` has one certificate for each constraint: it passed if all of them are certified,
    which is one statement at the stated confidence, whatever their number (intersection-union). One
    that was not tested has neither AUC nor gaps.
    """

    name: str
    outcome: Outcome
    auc: Estimate | None = None
    gaps: tuple[Estimate, ...] = ()
    certificates: tuple[GapCertificate, ...] = ()

    @property
    def decisive(self) -> GapCertificate | None:
        """The certificate that misses its tolerance most, or comes nearest to it."""
        return max(
            self.certificates,
            key=lambda one: math.inf if math.isnan(one.reach) else one.reach - one.tolerance,
            default=None,
        )

    @property
    def missed_by(self) -> float:
        """By how much the tolerance is missed: 0 if it passed, NaN if that cannot be told."""
        decisive = self.decisive
        if self.outcome == "passed":
            return 0.0
        return math.nan if decisive is None else decisive.missed_by

    def times(self) -> tuple[float, str]:
        """How many times the people would decide, and what they would do: "certify" or "refute".

        One constraint refuted is enough to refuse a candidate, and all are needed to certify it.
        """
        failed = [one for one in self.certificates if not one.certified]
        refuted = [one.times for one in failed if one.decision == "refute"]
        if refuted:
            return min(refuted), "refute"
        return max((one.times for one in failed), default=math.nan), "certify"


@final
@dataclass(frozen=True, eq=False, repr=False)
class CertifiedChoice(Showable):
    """The best candidate that is fair with a stated confidence; made by `certified_choice`.

    The candidates are tested in the order given, on people none of them has learned from, and
    testing stops at the first that fails (fixed-sequence testing). The probability that *any*
    candidate that passed is less fair than the tolerance allows is at most one minus the confidence
    level, so that the one of largest AUC among them may be taken.

    Parameters
    ----------
    scorer : scorer, Repair or None
        The one chosen, fitted; None if none was certified, or if the choice was read from a file.
    chosen : int or None
        Its place among `tests`.
    tests : tuple of CandidateTest
        What became of every candidate, in the order of testing.
    constraints : tuple of str
        What was certified.
    tolerance, confidence_level : float
        What the statement says; a constraint's own tolerance comes first.
    n_held_out : int
        How many rows were tested on.
    n_fitted : int or None
        How many rows the candidates learned from, if they were split off here.
    words : str
        The result in a sentence or two.
    ended : str
        How many passed, and which candidate ended the testing, by how much it failed.
    cost : str
        What it cost to split the rows, if they were.

    Examples
    --------
    >>> choice = CertifiedChoice(
    ...     None, None, (CandidateTest("fair", "not tested"),), ("bnsp",), 0.05, 0.95, 100, None,
    ...     "None is certified.")
    >>> print(choice)
    None is certified.
    """

    scorer: Any
    chosen: int | None
    tests: tuple[CandidateTest, ...]
    constraints: tuple[str, ...]
    tolerance: float
    confidence_level: float
    n_held_out: int
    n_fitted: int | None
    words: str
    ended: str = ""
    cost: str = ""

    shown_as: ClassVar[str] = "certified"

    def __str__(self) -> str:
        return " ".join(filter(None, (self.words, self.ended, self.cost)))

    def __repr__(self) -> str:
        found = "none" if self.chosen is None else self.tests[self.chosen].name
        passed = sum(test.outcome == "passed" for test in self.tests)
        return f"<CertifiedChoice: {found}; {passed} of {len(self.tests)} candidates passed>"

    @property
    def certified(self) -> bool:
        """Whether there is a candidate that is fair with the stated confidence."""
        return self.chosen is not None

    @property
    def test(self) -> CandidateTest:
        """That of the one chosen; if there is none, that of the first candidate, which failed."""
        return self.tests[0 if self.chosen is None else self.chosen]

    @property
    def meaning(self) -> str:
        """What has to be said wherever the choice is shown: how it was made and what it proves."""
        return (
            "The candidates were tested on people whom none of them has learned from, one after "
            "the other, in an order fixed beforehand, until the first that failed. The probability "
            "that any that passed is less fair than the tolerance allows is at most "
            f"{percent(round(1.0 - self.confidence_level, 12))}."
        )

    # ------------------------------------------------------------------ out

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per candidate, in the order of testing.

        `backend` is "pandas", "polars" or "pyarrow"; None takes the first that is installed.
        """
        decisive = [test.decisive for test in self.tests]
        columns: dict[str, list[Any]] = {
            "candidate": [test.name for test in self.tests],
            "outcome": [test.outcome for test in self.tests],
            "chosen": [k == self.chosen for k in range(len(self.tests))],
        }
        for part, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            columns[f"auc{end}"] = [float(getattr(test.auc, part, math.nan)) for test in self.tests]
        for name in ("gap", "reach", "tolerance", "times"):
            columns[name] = [float(getattr(one, name, math.nan)) for one in decisive]
        columns["which_gap"] = ["" if one is None else one.title for one in decisive]
        return data_frame(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: everything but the scorer.

        NaN is None, and infinities are the texts "Infinity" and "-Infinity".
        """
        names = [name for name in self.__dataclass_fields__ if name != "scorer"]
        return {
            "format": FORMAT,
            "version": VERSION,
            **{name: to_plain(getattr(self, name)) for name in names},
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """The same as JSON text; written to `path` if given, whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_atomically(path, text)
        return text

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; the scorer itself is not in it."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError(f"This is not a certified choice: it lacks 'format': {FORMAT!r}.")
        version = str(data.get("version"))
        if version.split(".")[0] != VERSION.split(".")[0]:
            raise ValueError(
                f"The certified choice is of version {version:.80}; this evenscore reads {VERSION}."
            )
        missing = [name for name in _FIELDS if name not in data]
        if missing:
            raise ValueError(f"The certified choice lacks {missing[0]!r}.")
        fields = {name: from_plain(kind, data[name], name) for name, kind in _FIELDS.items()}
        if fields["chosen"] is not None and not 0 <= fields["chosen"] < len(fields["tests"]):
            raise ValueError(f"chosen must be the place of a test, not {fields['chosen']!r:.80}.")
        return cls(scorer=None, **fields)

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Read what `to_json` wrote."""
        return from_file(path, cls.from_dict)


_FIELDS: dict[str, Any] = {
    "chosen": int | None,
    "tests": tuple[CandidateTest, ...],
    "constraints": tuple[str, ...],
    "tolerance": float,
    "confidence_level": float,
    "n_held_out": int,
    "n_fitted": int | None,
    "words": str,
    "ended": str,
    "cost": str,
}
"""What a file holds beside its format and version."""


# ---------------------------------------------------------------------- in words


def in_words(
    tests: Sequence[CandidateTest], chosen: int | None, level: float, n_held_out: int
) -> tuple[str, str]:
    """The result in a sentence or two, and where testing ended."""
    failed = next((test for test in tests if test.outcome == "failed"), None)
    if chosen is None:
        assert failed is not None
        return f"None is certified: {_failure(failed, 'the first candidate', n_held_out)}", ""
    best = tests[chosen]
    assert best.auc is not None
    passed = [test for test in tests if test.outcome == "passed"]
    claims = " ".join(_claim(one, level) for one in best.certificates)
    auc = f"AUC {best.auc.value:.3f}"
    if best.auc.has_interval:
        auc += f", {percent(best.auc.confidence_level)} interval {best.auc.low:.3f} to "
        auc += f"{best.auc.high:.3f}"
    sure = f"Certified with {percent(level)} confidence"
    text = f"{sure}: the candidate {best.name} ({auc}). {claims}"
    ended = ""
    if len(passed) > 1:
        ended = f"It has the largest AUC of the {len(passed)} candidates that passed. "
    if failed is not None:
        ended += f"Then testing ended: {_failure(failed, 'the next candidate', n_held_out)}"
    return text, ended.strip()


def _claim(certificate: GapCertificate, level: float) -> str:
    """What is certified, without saying again with which confidence."""
    said = certificate.words.removeprefix(f"Certified with {percent(level)} confidence: ")
    return said[:1].upper() + said[1:]


def _failure(test: CandidateTest, which: str, n_held_out: int) -> str:
    decisive = test.decisive
    assert decisive is not None
    why = decisive.words.removeprefix("Not certified: ")
    if math.isnan(decisive.reach):
        return f"{which} ({test.name}) is not certified: {why}"
    return (
        f"{which} ({test.name}) misses the gap allowed, {decisive.tolerance:g}, by "
        f"{decisive.missed_by:.3f}: {_first_sentence(why)} {more_words(test, n_held_out)}"
    )


def _first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence: how many it takes is said once."""
    return text.split(". ")[0].rstrip(".") + "."


def more_words(test: CandidateTest, n_held_out: int) -> str:
    """How many more people held out would decide about a candidate that failed."""
    times, decision = test.times()
    if decision == "refute" and times <= 1.0:
        return "It is less fair than that for certain: more people would not help."
    more = max((times - 1.0) * n_held_out, 1.0)
    if math.isnan(more) or (times > UNREASONABLE and more > UNHEARD_OF):
        return "No reasonable number of people would decide: the gap seen is near the one allowed."
    rounded = math.ceil(round(more, 1 - math.floor(math.log10(more))))
    does = "certify it" if decision == "certify" else "show that it is less fair than that"
    return (
        f"If its gaps are as seen, about {rounded:,} more held-out people would {does}, nine times "
        "out of ten."
    )
