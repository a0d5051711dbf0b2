"""The program as a score: what the best placement of atoms gives, deployed as it is.

It has no stability to offer, see `placement.program`; it says how far bars are from the optimum on
the same chances. An atom is a part of the log-odds in one cluster of what is known of the groups.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

import evenscore as es
from evenscore.learning.bars import coordinates
from evenscore.placement.problem import Points, Problem
from evenscore.placement.program import best_placement

PARTS = 16  # of the log-odds, in every cluster
LEAN = 50.0  # people, whose chances count beside what was met in an atom


class Program(es.EvenScorer):
    """An EvenScorer whose positions are those of the program on its chances."""

    def _settle(self, families):
        super()._settle(families)
        data, crossed = self._evidence.rows, self._evidence.crossed
        n_groups, n = len(data.groups), len(data)
        odds, groups = coordinates(crossed.cells, n_groups)
        self.mean_, self.size_ = groups.mean(axis=0), groups.std(axis=0) + 1e-9
        clusters = 2 * int(np.clip(np.sqrt(n) / 20, 2, 16))
        self.clusters_ = KMeans(clusters, n_init=3, random_state=0).fit(self._scaled(groups))
        cluster = self.clusters_.labels_
        inner = np.linspace(0.0, 1.0, PARTS + 1)[1:-1]
        self.edges_ = [np.quantile(odds[cluster == c], inner) for c in range(clusters)]
        self.ranks_ = [np.sort(odds[cluster == c]) for c in range(clusters)]
        atom = self._atoms(odds, cluster)
        points = Points(odds, data.cell, np.ones(n), n_groups)
        masses, chances = np.zeros((2, clusters * PARTS, 2 * n_groups))
        np.add.at(masses, (atom, data.cell), 1.0)
        np.add.at(chances, atom, crossed.cells)
        held = masses.sum(axis=1, keepdims=True)  # counts of few people lean on their chances
        masses = (masses + LEAN * chances / np.maximum(held, 1.0)) * held / (held + LEAN)
        masses *= points.masses / masses.sum(axis=0)
        tolerances = [family.tolerance for family in families]
        sizes = points.masses
        for loosened in (1.0, 1.5, 2.0, 4.0):
            problem = Problem.of(families, [loosened * t for t in tolerances], points, sizes)
            problem = problem.finer(19)
            try:
                self.above_ = best_placement(problem, masses).above
                break
            except ValueError:
                continue
        self.cuts_ = problem.above

    def _scaled(self, groups):
        return (groups - self.mean_) / self.size_

    def _atoms(self, odds, cluster):
        each = zip(cluster, odds, strict=True)
        part = np.array([np.searchsorted(self.edges_[c], o) for c, o in each])
        return cluster * PARTS + part

    def decision_function(self, X):
        X = X if self.columns_ is None else X[:, self.columns_]
        odds, groups = coordinates(self.posteriors_(X), self.posteriors_.n_groups)
        cluster = self.clusters_.predict(self._scaled(groups))
        atom, place = self._atoms(odds, cluster), np.zeros(len(odds))
        u = np.concatenate([[0.0], self.cuts_, [1.0]])
        for k in np.unique(atom):
            rows, own = np.flatnonzero(atom == k), self.ranks_[k // PARTS]
            part = k % PARTS
            low, high = (round(len(own) * (part + e) / PARTS) for e in (0, 1))
            inside = own[low:high]
            rank = (np.searchsorted(inside, odds[rows]) + 0.5) / (len(inside) + 1.0)
            above = np.concatenate([[0.0], self.above_[k], [1.0]]) + 1e-9 * np.arange(len(u))
            place[rows] = 1.0 - np.interp(1.0 - rank, above / above[-1], u)
        return place
