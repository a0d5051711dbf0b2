"""The JSON of a repair is all that another program needs: the maps in plain SQL."""

import json
import sqlite3

import numpy as np
import pytest

from evenscore import RocConstraint, repair

# A knot and the next one; the score lies at or above the knot and below the next.
QUERY = """
WITH lines AS (
    SELECT grp, k, x, y,
           LEAD(x) OVER (PARTITION BY grp ORDER BY k) AS next_x,
           LEAD(y) OVER (PARTITION BY grp ORDER BY k) AS next_y
    FROM knots
)
SELECT people.id,
       CASE WHEN people.score < lines.x OR lines.next_x IS NULL
            THEN people.score + (lines.y - lines.x)
            ELSE lines.y + (people.score - lines.x)
                 * (lines.next_y - lines.y) / (lines.next_x - lines.x)
       END AS repaired
FROM people JOIN lines
  ON lines.grp = people.grp
 AND (people.score >= lines.x OR lines.k = 0)
 AND (people.score < lines.next_x OR lines.next_x IS NULL)
ORDER BY people.id
"""


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    n = 3000
    y, group = rng.integers(0, 2, n), rng.choice(["a", "b", "c"], n)
    score = rng.normal(size=n) + y + 0.5 * (group == "b")
    asked = [RocConstraint(on="both", rates=(1 / 8, 1 / 4)), "bnsp"]
    fair = repair(y, score, sensitive_features=group, constraints=asked, share=0.9)
    fresh = np.concatenate([3.0 * rng.normal(size=n), fair.maps[0].x])  # beyond both ends, on knots
    names = np.concatenate([rng.choice(["a", "b", "c"], n), ["a"] * len(fair.maps[0].x)])
    content = json.loads(fair.to_json())
    knots = [
        (one["group"], k, x, y)
        for one in content["maps"]
        for k, (x, y) in enumerate(zip(one["x"], one["y"], strict=True))
    ]
    people = [(i, str(g), float(s)) for i, (g, s) in enumerate(zip(names, fresh, strict=True))]
    return knots, people, fair.transform(fresh, sensitive_features=names)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_the_maps_in_sql_give_the_same_scores(engine, case):
    knots, people, expected = case
    if engine == "sqlite":
        database = sqlite3.connect(":memory:")
    else:
        database = pytest.importorskip("duckdb").connect()
    database.execute("CREATE TABLE knots (grp VARCHAR, k INTEGER, x DOUBLE, y DOUBLE)")
    database.execute("CREATE TABLE people (id INTEGER, grp VARCHAR, score DOUBLE)")
    database.executemany("INSERT INTO knots VALUES (?, ?, ?, ?)", knots)
    database.executemany("INSERT INTO people VALUES (?, ?, ?)", people)
    rows = database.execute(QUERY).fetchall()
    database.close()
    assert [row[0] for row in rows] == list(range(len(people)))
    np.testing.assert_allclose([row[1] for row in rows], expected, rtol=1e-12, atol=1e-12)
