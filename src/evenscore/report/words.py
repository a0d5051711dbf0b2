"""What each notion on the page means, in one sentence."""

from __future__ import annotations

from evenscore.catalogue import Notion
from evenscore.inference.estimate import percent
from evenscore.results import AuditResult

__all__ = ["glossary", "notion_sentence", "roc_gap_sentence"]


def notion_sentence(notion: Notion) -> str:
    """What a named gap compares.

    >>> from evenscore.catalogue import CATALOGUE
    >>> notion_sentence(CATALOGUE["bnsp"])
    'Compares, group by group, how often a positive of the group outranks a negative of any group.'
    """
    return f"Compares, group by group, how often {notion.say('the group', 'the other group')}."


def roc_gap_sentence(on: str, rate: float) -> str:
    """What a ROC gap at a rate is.

    >>> roc_gap_sentence("negatives", 0.25)
    'At the cut that selects 25% of the negatives of the first group: how much more, or less, of \
the second.'
    """
    return (
        f"At the cut that selects {100 * rate:.4g}% of the {on} of the first group: how much more, "
        "or less, of the second."
    )


def _selected(result: AuditResult) -> str:
    told = result.settings.selected_is
    if told is None:
        return (
            "Whose score is above a cut. Whether that is good for a person (a loan) or bad (a "
            "prison term) this audit was not told: the groups that gaps favour are not named."
        )
    return f"Whose score is above a cut. This is {told} for a person here."


def glossary(result: AuditResult) -> list[tuple[str, str]]:
    """Words and what they mean, in the order of a first reading."""
    level, tolerance = percent(result.settings.confidence_level), result.settings.tolerance
    return [
        (
            "Positive, negative",
            f"A positive is a person whose label is {result.sample.pos_label}; everybody else is a "
            "negative.",
        ),
        ("Cell", "The people of one class (positives or negatives) in one group."),
        (
            "AUC",
            "The probability that one person is ranked above another, a tie counting one half: 0.5 "
            "is chance; overall, a positive against a negative, 1 is perfect.",
        ),
        (
            "ROC curve",
            "The share of positives selected against the share of negatives selected, over all "
            "cuts of the score.",
        ),
        (
            "Gap",
            "The difference of such a probability or share between two groups, first minus second "
            "for AUC gaps, second minus first for ROC gaps; zero is even.",
        ),
        (
            "ROC gap at a rate",
            "Cut the score where it selects that share of one class in the first group: the gap is "
            "by how much the share selected in the second group is higher. Where scores are tied "
            "at the cut, as many of those tied as make up that share count, alike in both groups.",
        ),
        (
            "Interval",
            f"A range made so that it holds the true value in {level} of samples like this one.",
        ),
        (
            "Band at all rates at once",
            f"A range around a whole curve that holds all of the true curve in {level} of samples.",
        ),
        (
            "Tolerance",
            f"The gap up to which a score is called even here: {tolerance:g}.",
        ),
        (
            "Beyond, within, unclear, undefined",
            "Beyond: the whole interval lies outside the tolerance, even after Holm's correction "
            f"for the number of gaps looked at, so that in {level} of samples no gap is called "
            "beyond that is not; within: the whole interval lies inside; unclear: this sample "
            "cannot tell, or the interval lies outside only when taken alone, as among many gaps "
            "some do by chance; undefined: there is no interval, for the reason given.",
        ),
        (
            "p (Holm)",
            "How often a score without any gap would show at least this one by chance, corrected "
            "for the number of gaps looked at.",
        ),
        (
            "Smallest detectable gap",
            "The smallest true gap that a sample like this one shows in four cases of five.",
        ),
        (
            "Certificate",
            f"A range of rates on which all gaps are within the tolerance, with {level} "
            "confidence for the whole statement.",
        ),
        ("Selected", _selected(result)),
        ("Selection rate", "The share of a group whose score is above the cut."),
        ("False positive rate (FPR)", "The share of a group's negatives that are selected."),
        ("False negative rate (FNR)", "The share of a group's positives that are not selected."),
        ("Precision", "The share of positives among those of a group who are selected."),
        (
            "Impact ratio",
            "The lowest selection rate of a group over the highest; "
            + result.thresholds.remark[:1].lower()
            + result.thresholds.remark[1:],
        ),
        (
            "Calibration",
            "Whether the same score means the same share of positives in every group.",
        ),
        (
            "Permutation test",
            "How often mixing up the groups at random gives a largest ROC gap as large as the one "
            "seen.",
        ),
    ]
