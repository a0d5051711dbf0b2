"""The best placement of people: where they enter so that groups are treated equally at cuts.

Treating groups equally at cuts is linear in where people are placed. `problem` states what is
asked, `bars` finds the score that is deployed, `program` the optimum and the bound that no score
on the same probabilities passes. No data, no model and no learner is known here: points have
log-odds, cells and weights.
"""
