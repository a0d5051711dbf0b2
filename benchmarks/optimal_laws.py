"""The best AUC that any score can have at a given gap, on laws whose densities are known.

What docs/optimal.md shows: the exact trade-off between AUC and gap for the four notions whose
optimal score is a ratio, on the paper's two synthetic examples and on two Gaussian laws, what
levelling down costs, and the best score under a constraint at one cut. NumPy only, and none of the
library's learning code: laws are cut into small squares, and an optimum comes with an upper bound
over all orders that needs no formula, the better way round of every single pair of points.

    python benchmarks/optimal_laws.py                   # tables; about a minute of CPU time
    python benchmarks/optimal_laws.py --images docs/images
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CELLS = np.eye(4)  # H0, H1, G0, G1
MINUS_H, MINUS_G = CELLS[0] - CELLS[1], CELLS[2] - CELLS[3]
COLOURS = {
    "bnsp": "#0072B2",
    "bpsn": "#D55E00",
    "zero_aeg": "#009E73",
    "zero_aeg_negatives": "#B0568C",
}
DASHES = {"bnsp": "-", "bpsn": "--", "zero_aeg": "-.", "zero_aeg_negatives": ":"}


# ---------------------------------------------------------------------- laws


@dataclass(frozen=True)
class Law:
    """Shares of the four cells at points, (n, 4), and of the groups among the classes."""

    atoms: np.ndarray
    negatives: tuple[float, float]  # shares of the groups
    positives: tuple[float, float]

    @property
    def pooled(self):
        return self.negatives @ CELLS[:2], self.positives @ CELLS[2:]


def plane(n, start, end):
    t = start + (end - start) * (np.arange(n) + 0.5) / n
    x, y = np.meshgrid(t, t, indexing="ij")
    return x.ravel(), y.ravel()


def square(n):
    """Example 1: uniform on the square, η_0 = x1, η_1 = x2; 17 of 20 in group 1."""
    x, y = plane(n, 0.0, 1.0)
    atoms = np.column_stack([1 - x, 1 - y, x, y])
    return Law(atoms / atoms.sum(axis=0), (0.15, 0.85), (0.15, 0.85))


def rings(n):
    """Example 2: η is the angle in both groups, and the radius tells the group."""
    share = (np.arange(n * n // 2) + 0.5) / (n * n // 2)
    zero = np.zeros_like(share)
    disc = np.column_stack([1 - share, zero, share, zero])
    atoms = np.vstack([disc, disc[:, [1, 0, 3, 2]]])
    return Law(atoms / atoms.sum(axis=0), (0.5, 0.5), (0.5, 0.5))


def gaussian(n, means, negatives, positives):
    """Normal cells in the plane, of variance one."""
    x, y = plane(n, -5.0, 7.0)
    atoms = np.column_stack([np.exp(-((x - a) ** 2 + (y - b) ** 2) / 2) for a, b in means])
    return Law(atoms / atoms.sum(axis=0), negatives, positives)


def shifted(n):
    """Group 1 has the higher values, whatever the class."""
    return gaussian(n, [(0, 0), (0.5, 0.7), (1.4, 0.2), (1.6, 1.6)], (0.4, 0.6), (0.5, 0.5))


def uneven(n):
    """Positives are easy to tell in group 1 and hard to tell in group 0."""
    return gaussian(n, [(0, 0), (0, 0), (0.6, 0), (2.0, 1.0)], (0.5, 0.5), (0.5, 0.5))


LAWS = {"square": square, "rings": rings, "shifted": shifted, "uneven": uneven}


# ---------------------------------------------------------------------- the ratio


def notion(name, law):
    """w, p of the AUC, p of the gap, and the coefficients of the gap over AUCs of cells."""
    a, b = law.pooled
    return {
        "bnsp": (a, b, MINUS_G, np.outer(a, MINUS_G)),
        "bpsn": (b, -a, -MINUS_H, np.outer(MINUS_H, b)),
        "zero_aeg": (b, -a, MINUS_G, np.outer(b, MINUS_G)),
        "zero_aeg_negatives": (a, b, MINUS_H, np.outer(a, MINUS_H)),
    }[name]


def auc_matrix(law, score):
    """AUCs between the cells, [reference, target]; ties count one half."""
    order = np.argsort(score, kind="stable")
    ranked = np.add.reduceat(law.atoms[order], _starts(score[order]), axis=0)
    below = np.cumsum(ranked, axis=0) - ranked / 2
    return below.T @ ranked


def _starts(ranked):
    return np.flatnonzero(np.concatenate([[True], np.diff(ranked) != 0]))


def at_multiplier(law, name, m):
    """AUC and gap of the optimal order."""
    w, p, p_gap, form = notion(name, law)
    aucs = auc_matrix(law, np.arctan2(law.atoms @ (p - m * p_gap), law.atoms @ w))
    return float(np.sum(np.outer(*law.pooled) * aucs)), float(np.sum(form * aucs)), aucs


def at_gap(law, name, target, tolerance=1e-12):
    """(AUC, m) of the best randomised order with that gap, by bisection: the gap falls with m."""
    low, high = -64.0, 64.0
    one, two = (at_multiplier(law, name, m)[:2] for m in (low, high))
    for _ in range(45):
        if one[1] - two[1] < tolerance:
            break
        middle = (low + high) / 2
        there = at_multiplier(law, name, middle)[:2]
        if there[1] > target:
            low, one = middle, there
        else:
            high, two = middle, there
    share = (target - two[1]) / (one[1] - two[1]) if one[1] > two[1] else 0.0
    return share * one[0] + (1 - share) * two[0], (low + high) / 2


def bound(law, name, m, chunk=256):
    """The largest AUC − m gap of all relations, orders or not: each pair the better way round."""
    *_, form = notion(name, law)
    target = np.outer(*law.pooled) - m * form
    total = 0.0
    for start in range(0, len(law.atoms), chunk):
        some = law.atoms[start : start + chunk]
        one_way, other = some @ target @ law.atoms.T, some @ target.T @ law.atoms.T
        total += np.maximum(one_way, other).sum()
    return total / 2  # every pair was met twice, and a point with itself counts one half


def curve(law, name, n=25):
    """Gaps from zero to that of the best score, and the best AUC at each."""
    auc, gap, _ = at_multiplier(law, name, 0.0)
    gaps = gap * np.linspace(0.0, 1.0, n) ** 1.5
    aucs = np.array([at_gap(law, name, target, 1e-9)[0] for target in gaps[:-1]])
    return np.abs(gaps), np.append(aucs, auc)


# ---------------------------------------------------------------------- one cut


def cut_problem(law, rate, key, target=0.0):
    """The set {key > λ + μ (h0 − h1)/h} with a share `rate` of H and an equal share of H0 and H1.

    It maximises Σ h · key over all such (randomised) sets. Chances to be in the set, (n,).
    """
    a, _ = law.pooled
    h, c = law.atoms @ a, law.atoms @ MINUS_H
    slope = c / h

    def chosen(mu):
        order = np.argsort(-(key - mu * slope), kind="stable")
        mass = np.cumsum(h[order])
        chances = np.empty(len(h))
        chances[order] = np.clip((rate - mass) / h[order] + 1.0, 0.0, 1.0)
        return chances

    low, high = -64.0, 64.0
    for _ in range(45):
        mu = (low + high) / 2
        low, high = (mu, high) if chosen(mu) @ c > target else (low, mu)
    one, two = chosen(low), chosen(high)
    share = (target - two @ c) / (one @ c - two @ c) if one @ c > two @ c else 0.0
    return share * one + (1 - share) * two


def pull(law, chances):
    """Φ(r), r = g/h: what the AUC gains, per unit of h, if a point moves into the upper set."""
    a, b = law.pooled
    h, g = law.atoms @ a, law.atoms @ b
    order = np.argsort(g / h, kind="stable")
    r, h, inside = (g / h)[order], h[order], chances[order]
    below, outside = np.cumsum(inside * h), np.cumsum((1 - inside) * h)
    below_r = np.cumsum(inside * h * r)
    above, above_r = outside[-1] - outside, np.sum((1 - inside) * h * r)
    above_r = above_r - np.cumsum((1 - inside) * h * r)
    phi = np.empty(len(r))
    phi[order] = r * below - below_r - (above_r - r * above)
    return phi


def cut_loss(law, chances):
    """AUC lost against the order of g/h, everybody inside ranking above everybody outside."""
    a, b = law.pooled
    h, g = law.atoms @ a, law.atoms @ b
    order = np.argsort(g / h, kind="stable")
    h, g, inside = h[order], g[order], chances[order]
    lower_h, lower_g = np.cumsum(inside * h), np.cumsum(inside * g)
    return float(np.sum((1 - inside) * (g * lower_h - h * lower_g)))


def best_cut(law, rate, rounds=400):
    """Frank–Wolfe on the convex loss: (chances, AUC lost, certified distance from the optimum)."""
    a, b = law.pooled
    h = law.atoms @ a
    chances = cut_problem(law, rate, (law.atoms @ b) / h)
    distance = np.inf
    for _ in range(rounds):
        phi = pull(law, chances)
        better = cut_problem(law, rate, phi)
        distance = float((better - chances) @ (h * phi))
        if distance < 1e-6:
            break
        here, there = cut_loss(law, chances), cut_loss(law, better)
        curvature = there - here + distance  # loss along the way is quadratic
        step = min(1.0, distance / (2 * curvature)) if curvature > 0 else 1.0
        chances = chances + step * (better - chances)
    return chances, cut_loss(law, chances), distance


def half_space_cut(law, rate):
    """AUC lost by the best {u·d > 0} with these rates, and by that of most true positives."""
    a, b = law.pooled
    h, g, c = law.atoms @ a, law.atoms @ b, law.atoms @ MINUS_G
    losses = {
        nu: cut_loss(law, cut_problem(law, rate, (g - nu * c) / h))
        for nu in np.linspace(-1.5, 1.5, 61)
    }
    return min(losses.values()), cut_loss(law, cut_problem(law, rate, g / h))


def check_layers(n_laws=200, n_points=7, n_layers=4):
    """Theorem 4 on random laws: the loss of any layers is the sum over pairs, and it is convex."""
    rng = np.random.default_rng(0)
    for _ in range(n_laws):
        h, g = rng.dirichlet(np.ones(n_points), size=2)
        law = Law(np.column_stack([h, h, g, g]), (0.5, 0.5), (0.5, 0.5))
        rho, layer = g / h, rng.integers(0, n_layers, n_points)
        place = np.empty(n_points)
        place[np.lexsort((rho, layer))] = np.arange(n_points)
        lost = auc_matrix(law, rho)[0, 2] - auc_matrix(law, place)[0, 2]
        wrong = np.maximum(rho[:, None] - rho, 0.0) * (layer[:, None] < layer)
        assert abs(h @ wrong @ h - lost) < 1e-12
        same_mass = np.linalg.svd(h[None, :])[2][1:]
        curvature = -np.abs(rho[:, None] - rho) * np.outer(h, h)
        assert np.linalg.eigvalsh(same_mass @ curvature @ same_mass.T).min() > -1e-12


# ---------------------------------------------------------------------- tables and pictures


def tables(fine, coarse):
    laws = {name: (make(fine), make(coarse)) for name, make in LAWS.items()}
    print("best AUC, gap | AUC at |gap| ≤ .05 | AUC at 0, its m | bound − AUC on a coarse grid")
    for title, (law, small) in laws.items():
        for name in COLOURS:
            auc, gap, _ = at_multiplier(law, name, 0.0)
            within = at_gap(law, name, np.sign(gap) * min(abs(gap), 0.05))[0]
            fair, m = at_gap(law, name, 0.0) if abs(gap) > 1e-9 else (auc, 0.0)
            on_small, m_small = at_gap(small, name, 0.0) if abs(gap) > 1e-9 else (None, 0.0)
            if on_small is None:
                on_small = at_multiplier(small, name, 0.0)[0]
            slack = bound(small, name, m_small) - on_small
            print(
                f"{title:8s} {name:19s} {auc:.4f} {gap:+.4f} | {within:.4f} | {fair:.4f} "
                f"{m:+.3f} | {slack:.1e}; coarse {on_small:.4f}",
                flush=True,
            )
            assert abs(slack) < 1e-4


def levelling(law, n=49):
    """AUCs of the two groups by the weight of group 0."""
    share = law.positives[0]
    weights = np.linspace(0.0, 1.2, n)
    a, _ = law.pooled
    by_group = []
    for v in weights:
        aucs = at_multiplier(law, "bnsp", share - v)[2]
        by_group.append([a @ aucs[:, 2], a @ aucs[:, 3]])
    return weights, np.array(by_group)


def linear_scores(n, steps=15):
    """Sizes of the gap and AUCs of c x1 + (1 − c) x2 on the square, from c = 1/2 to the best."""
    law, (x, y) = square(n), plane(n, 0.0, 1.0)
    *_, form = notion("bnsp", law)
    found = [auc_matrix(law, c * x + (1 - c) * y) for c in np.linspace(0.5, 0.15, steps)]
    return [abs(np.sum(form * a)) for a in found], [
        np.sum(np.outer(*law.pooled) * a) for a in found
    ]


def tell_levelling(n):
    for title in ("shifted", "uneven"):
        law = LAWS[title](n)
        fair, m = at_gap(law, "bnsp", 0.0)
        v = law.positives[0] - m
        edge = at_multiplier(law, "bnsp", law.positives[0] - 1.0)
        aucs = law.pooled[0] @ edge[2][:, 2:]
        print(
            f"{title}: equality at weights ({v:.3f}, {1 - v:.3f}) with AUC {fair:.4f}; "
            f"at (1, 0) group 0 has {aucs[0]:.4f}, group 1 {aucs[1]:.4f}, overall {edge[0]:.4f}"
        )


def tell_cuts(n, rate=0.25):
    for title in ("square", "shifted"):
        law = LAWS[title](n)
        a, b = law.pooled
        h, g = law.atoms @ a, law.atoms @ b
        best = at_multiplier(law, "bnsp", 0.0)[0]
        plain = np.argsort(np.argsort(-g / h))
        inside = np.cumsum(h[np.argsort(-g / h)])[plain] <= rate
        _, loss, distance = best_cut(law, rate)
        half, true_positives = half_space_cut(law, rate)
        print(
            f"{title}: rates at the cut {inside @ law.atoms[:, 0]:.3f} and "
            f"{inside @ law.atoms[:, 1]:.3f} without constraint, AUC {best:.4f}; made equal: "
            f"AUC {best - loss:.5f} (within {distance:.0e} of the best); best half-space "
            f"{best - half:.5f}; half-space of most true positives {best - true_positives:.5f}",
            flush=True,
        )


def pictures(folder, fine):
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update(
        {
            "font.size": 13,
            "svg.hashsalt": "evenscore",
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    import matplotlib.pyplot as plt

    def save(figure, name):
        figure.savefig(folder / f"optimal-{name}.svg", metadata={"Date": None})
        plt.close(figure)

    titles = {"square": "Example 1 of the paper", "shifted": "Gaussian cells"}
    for law_name, title in titles.items():
        law = LAWS[law_name](fine)
        figure, axes = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
        if law_name == "square":  # the four gaps are one: h_k + g_k does not depend on the group
            axes.plot(*curve(law, "bnsp"), color=COLOURS["bnsp"], lw=2.4, label="any score")
            axes.plot(*linear_scores(fine), "--", color=COLOURS["bpsn"], lw=2.4,
                      label="linear scores")  # fmt: skip
        else:
            for name in COLOURS:
                axes.plot(*curve(law, name), DASHES[name], color=COLOURS[name], lw=2.4, label=name)
        axes.set(xlabel="size of the gap", ylabel="best AUC", title=title)
        axes.set_xlim(0, None)
        axes.locator_params(axis="x", nbins=6)
        axes.grid(color="#dedede")
        axes.legend(frameon=False, fontsize=11.5, loc="lower right")
        save(figure, law_name)

    law = LAWS["uneven"](fine)
    weights, by_group = levelling(law)
    figure, axes = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
    for k, dash in ((0, "-"), (1, "--")):
        axes.plot(weights, by_group[:, k], dash, color=list(COLOURS.values())[k], lw=2.4,
                  label=f"AUC(H, G{k})")  # fmt: skip
    axes.axvspan(1.0, weights[-1], color="#ececec", zorder=0)
    axes.text(1.1, by_group.max(), "levelling\ndown", ha="center", va="top", fontsize=12)
    axes.set(xlabel="weight of group 0's positives", ylabel="AUC of the group")
    axes.set_xlim(weights[0], weights[-1])
    axes.grid(color="#dedede")
    axes.legend(frameon=False, loc="lower left")
    save(figure, "levelling")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=Path, help="a folder to write the pictures to")
    parser.add_argument("--fine", type=int, default=300, help="points along a side")
    parser.add_argument("--coarse", type=int, default=60, help="the same for the bound over pairs")
    asked = parser.parse_args()
    tables(asked.fine, asked.coarse)
    tell_levelling(asked.fine)
    check_layers()
    tell_cuts(asked.fine // 2)
    gaps, aucs = linear_scores(asked.fine)
    print(f"square, linear score without gap: AUC {aucs[0]:.4f}, gap {gaps[0]:.4f}")
    if asked.images is not None:
        pictures(asked.images, asked.fine // 2)


if __name__ == "__main__":
    main()
