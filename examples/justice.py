# %% [markdown]
# # Justice: a risk score that is called low, medium or high
#
# A public defender prepares a hearing. In Broward County, Florida, a commercial score, COMPAS,
# gave every defendant a decile from 1 to 10 that says how likely a new crime is. Judges saw it as
# a word: 1 to 4 is low, 5 to 7 medium, 8 to 10 high. ProPublica published the scores with what
# happened in the following two years (*Machine Bias*, 23 May 2016, and its repository
# compas-analysis).
#
# The cuts are given: 5 and 8. To be selected is *bad* here. So the harm to look for is that
# people who would not be charged again are called medium or high risk: the false positive rate,
# `fpr`. The defender asks: is it the same for Black and white defendants?
#
# The rows are about real people and do not ship with evenscore. They are read from the folder
# that `EVENSCORE_DATA` names, or from their public origin. Numbers and pictures are shown here,
# rows are not.

# %%
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import evenscore as es


def say(text):
    """Print a sentence in lines that fit the page."""
    print(textwrap.fill(str(text), 96, break_on_hyphens=False))


try:
    data = es.datasets.load_compas(version="two-years-all")
    all_races = es.datasets.load_compas(version="paper")
except OSError as problem:
    raise SystemExit(f"The COMPAS files are not here, and this example ends: {problem}") from None

decile = data.raw["decile_score"]
for name in data.group_order:
    of = data.groups == name
    print(f"{name}: {of.sum():,} defendants, {data.y[of].mean():.1%} charged again in two years")

# %% [markdown]
# ## The audit
#
# Beside both error rates the audit looks at precision: of the people called medium or high risk,
# how many are charged again? That is what the maker of the score answered with: the word means
# the same for everybody.

# %%
cuts = es.Cuts(thresholds=(5, 8), inclusive=True)
words = es.Words(
    people="defendants",
    positives="people charged again",
    negatives="people not charged again",
    selected="called risky",
    refused="called low risk",
    selected_is="bad",
    groups={"African-American": "Black defendants", "Caucasian": "white defendants"},
)
rates = es.RateConstraint("fpr", "fnr", "precision", cuts=cuts)
published = es.audit(
    data.y,
    decile,
    sensitive_features=data.groups,
    cuts=cuts,
    constraints=rates,
    words=words,
    trained_on=False,
)
say(published.answer)
print()
say(published.findings[0].text)
print()
for gap in published.gaps:
    low, high = gap.ends("beyond")
    print(f"{gap.name:13} {gap.at:24} {gap.value:+.3f} ({low:+.3f} to {high:+.3f}), {gap.verdict}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.4), layout="constrained")
for ax, rate in zip(axes, ("fpr", "precision"), strict=True):
    es.plots.CutRatesDisplay.from_audit(published, rate=rate).plot(ax)
    ax.set_ylim(0.0, 1.0)
plt.show()

# %% [markdown]
# Both sides are right about their own number. Of the people who are not charged again, about
# twice as many Black as white defendants are called risky. And of the people called risky, about
# the same share is charged again in both groups, or nearly so: the audit cannot tell whether that
# differs by more than 5 points.
#
# ## Why both cannot hold
#
# It is not a matter of trying harder. In a group with a share *p* of people charged again, the
# rates at a cut are tied together (Chouldechova, *Fair prediction with disparate impact*, 2017;
# Kleinberg, Mullainathan and Raghavan, *Inherent trade-offs*, 2016, for calibrated scores):
#
# fpr = p / (1 − p) × (1 − precision) / precision × (1 − fnr)
#
# Where *p* differs, groups with the same precision and the same `fnr` must have different `fpr`.
# How different? Give both groups the precision and the `fnr` that everybody has together.

# %%
risky = decile >= 5
precision = data.y[risky].mean()
fnr = np.mean(~risky[data.y == 1])
forced = {}
for name in data.group_order:
    p = data.y[data.groups == name].mean()
    forced[name] = p / (1 - p) * (1 - precision) / precision * (1 - fnr)
    print(f"{name}: an fpr of {forced[name]:.1%} would follow")

# %% [markdown]
# So even a score with the same precision and the same misses in both groups would call more Black
# than white defendants risky in error. One has to say which error matters in this decision. The
# defender says: the person before the judge who would do no harm. So `fpr` it is.
#
# ## Two ways to change it
#
# Half of the rows are used to learn, the other half to judge.
#
# *A repair* keeps the score and maps the deciles of each group by itself, so that the `fpr` at
# the cuts agree. It has to know the race of whoever is scored, and treats the same decile
# differently. **In a court this is very likely unlawful, whatever the aim.** It is here to show
# what could be had if it were not.
#
# *A blind score* is learned anew from age, sex, charge and earlier offences. Race is used to
# train it and never to score anyone. Its cuts are those that call as many people risky as 5 and 8
# do.

# %%
cells = [f"{label} {group}" for label, group in zip(data.y, data.groups, strict=True)]
rows = np.arange(len(data.y))
learn, judge = train_test_split(rows, test_size=0.5, random_state=0, stratify=cells)

repaired = es.repair(
    data.y[learn],
    decile[learn],
    sensitive_features=data.groups[learn],
    constraints=es.RateConstraint("fpr", cuts=cuts),
)

numbers = ("age", "priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count")
X = np.column_stack(
    [
        *(data.raw[name] for name in numbers),
        data.raw["sex"] == "Male",
        data.raw["c_charge_degree"] == "F",
    ]
).astype(float)
as_many = es.Cuts(at=(float(np.mean(decile >= 8)), float(np.mean(decile >= 5))))
equal = es.RateConstraint("fpr", cuts=as_many, tolerance=0.02)
blind = es.EvenScorer(equal, random_state=0)
blind.fit(X[learn], data.y[learn], sensitive_features=data.groups[learn])
ordinary = blind.under(())  # the same classifiers without constraints

scores = {
    "published": (decile[judge], cuts),
    "repaired, told the race": (
        repaired.transform(decile[judge], sensitive_features=data.groups[judge]),
        cuts,
    ),
    "learned, nothing asked": (ordinary.decision_function(X[judge]), as_many),
    "learned, blind, equal fpr": (blind.decision_function(X[judge]), as_many),
}
results = {
    name: es.audit(
        data.y[judge],
        score,
        sensitive_features=data.groups[judge],
        cuts=where,
        constraints=es.RateConstraint("fpr", "fnr", "precision", cuts=where),
        words=words,
        trained_on=False,
    )
    for name, (score, where) in scores.items()
}
for name, result in results.items():
    worst = {rate: abs(result.worst(f"{rate}_gap").value) for rate in ("fpr", "fnr", "precision")}
    told = ", ".join(f"{rate} {value:.3f}" for rate, value in worst.items())
    print(f"{name:25} AUC {result.auc.value:.3f}; largest gaps: {told}")
print()
say(blind.price_)

# %%
figure, axes = plt.subplots(1, 3, figsize=(11.4, 4.2), sharey=True, layout="constrained")
shown = ("published", "repaired, told the race", "learned, blind, equal fpr")
for ax, name in zip(axes, shown, strict=True):
    es.plots.CutRatesDisplay.from_audit(results[name], rate="fpr").plot(ax)
    ax.set_title(name)
    ax.set_ylim(0.0, 0.6)
plt.show()

# %% [markdown]
# Both make the gap in `fpr` much smaller, and both open the one in precision: "risky" then means
# something else for Black and for white defendants. That is the identity above at work, not a
# defect.
#
# The repair keeps nearly all of the ranking. At the cut 8 it has gone too far, and now it is
# white defendants who are called risky in error more often: ten deciles are coarse steps, and the
# maps were learned from other people. The blind score pays for not knowing. What it knows about a
# person, the number of earlier charges above all, also says much about race. It was asked for a gap
# of 2 points and leaves 3, which may be noise; it ranks worse than the published score. With
# nothing asked, a new score from these few columns ranks a little better than the published one,
# and its gaps are about as large.
#
# Equal is not the same as better. Here are the rates behind the gaps, and how sure the gaps are.

# %%
for name in shown:
    print(name)
    for gap in (gap for gap in results[name].gaps if gap.name == "fpr_gap"):
        low, high = gap.ends("within")
        print(
            f"    called risky in error, {gap.at}: {gap.first_value:.1%} of {gap.first}, "
            f"{gap.second_value:.1%} of {gap.second}"
        )
        print(f"    a gap of {gap.value:+.3f} ({low:+.3f} to {high:+.3f}), {gap.verdict}")
change = results["repaired, told the race"].compare(results["published"])
say(change.words[0])

# %% [markdown]
# Where half of all people are called risky, the repair takes about as much from the one group as
# it gives to the other. With the blind score white defendants lose 12 points and Black defendants
# gain 5. That is levelling down, and
# a court should know it. And half of the rows is not enough to certify 5 points for either way.
#
# ## Who is missing
#
# The file above has two groups because the public debate had two. A larger file of the same
# county has six, with another outcome: charged again at any time until the data end. Groups with
# fewer than 30 people in a class are not compared. They are shown apart, with what is known.

# %%
wider = es.audit(
    all_races.y,
    all_races.raw["decile_score"],
    sensitive_features=all_races.raw["race"],
    cuts=cuts,
    constraints=es.RateConstraint("fpr", cuts=cuts),
    words=words,
    trained_on=False,
)
say(wider.answer)
print()
for k, group in enumerate(wider.thresholds.groups):
    rate, low, high = wider.thresholds.fpr.ends(0, k)
    small = "  (too few to compare)" if group not in wider.compared_groups else ""
    print(f"{group:18} fpr at 5: {rate:.1%} ({low:.1%} to {high:.1%}){small}")

# %% [markdown]
# ## The memo

# %%
five = next(gap for gap in published.gaps if gap.name == "fpr_gap")
low, high = sorted((five.first_value, five.second_value))
free, fair = results["learned, nothing asked"], results["learned, blind, equal fpr"]
say(
    f"Of defendants who were not charged again within two years, {high:.0%} of the Black and "
    f"{low:.0%} of the white ones had been called medium or high risk. This is far beyond chance. "
    "That the word means about the same for both groups once it is said is true too, and does not "
    "answer it: with different rates of new charges the two cannot both be equal. The court should "
    "say which error it wants to share alike. A repair by race is not something we may propose. "
    f"A score that does not know race comes close, at an AUC of {fair.auc.value:.2f} where the "
    f"same columns give {free.auc.value:.2f} if nothing is asked. Most of "
    "what it closes is paid for by white defendants who are called risky in error, and we would "
    "have to defend that as well."
)

# %% [markdown]
# What the data cannot say:
#
# - The outcome is a new *charge*, and not a new crime. Where one group is policed more, it is
#   charged more, and each number above inherits that, the share *p* first of all.
# - Whoever was kept in jail had less time to be charged again. The score may have had a part in
#   that.
# - These are people of one county in 2013 and 2014. Whether the same holds elsewhere is another
#   audit.
