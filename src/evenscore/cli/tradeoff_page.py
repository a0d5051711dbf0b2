"""The page of a trade-off: a picture and a table in one file that asks nothing of a network."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from evenscore import __version__
from evenscore.inference.estimate import percent
from evenscore.results.numbers import interval, plain

if TYPE_CHECKING:
    from evenscore.tradeoff import TradeoffPath

__all__ = ["tradeoff_page"]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ccc; text-align: right;
         white-space: nowrap; }
th.text, td.text { text-align: left; white-space: normal; min-width: 7rem; }
.chosen { font-weight: bold; }
footer { color: #555; margin-top: 2rem; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
<p>Every point is a {{ scorer }} learned with another tolerance for the gaps and looked at on rows
it was not learned from. Better is up (it ranks people well) and to the left (it does so evenly).
Points of the Pareto front are beaten by no other in both respects.</p>
{% if refusal %}<p><strong>{{ refusal }}</strong></p>{% endif %}
<p><img src="data:image/svg+xml;base64,{{ picture }}"
 alt="AUC against the worst gap of {{ points|length }} points; their numbers are below."></p>
<div class="wide" role="region" aria-label="The points" tabindex="0">
<table>
<thead><tr><th class="text">point</th><th>AUC</th><th>{{ level }} interval</th><th>worst gap</th>
<th>{{ level }} interval</th><th class="text">which gap</th>
<th class="text">remarks</th></tr></thead>
<tbody>
{% for point in points %}
<tr{% if loop.index0 == chosen %} class="chosen"{% endif %}>
<td class="text">{{ point }}</td>
<td>{{ point.auc.value|plain }}</td>
<td>{{ interval(point.auc.low, point.auc.high) }}</td>
<td>{{ point.worst_gap|plain }}</td>
<td>{{ interval(*point.worst_interval) }}</td>
<td class="text">{{ point.worst.title }}</td>
<td class="text">{{ notes[loop.index0] }}</td>
</tr>
{% endfor %}
</tbody>
</table>
</div>
<footer>evenscore {{ version }}</footer>
</body>
</html>
"""


def tradeoff_page(
    path: TradeoffPath, title: str, tolerance: float | None = None, refusal: str = ""
) -> str:
    """HTML of a path; with a tolerance, the point that it chooses is marked."""
    from jinja2 import Environment

    from evenscore.plots import TradeoffDisplay, figure, figure_bytes

    drawing, ax = figure(figsize=(6.2, 4.2))
    TradeoffDisplay.from_path(path, tolerance=tolerance).plot(ax)
    chosen = None if tolerance is None else path.points.index(path.chosen(tolerance))
    notes = [
        ", ".join(
            [
                *(["chosen"] if k == chosen else []),
                *(["Pareto front"] if k in path.pareto else []),
                *([] if point.converged else ["not converged"]),
            ]
        )
        for k, point in enumerate(path.points)
    ]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["plain"] = plain
    environment.globals["interval"] = interval
    return environment.from_string(_PAGE).render(
        title=title,
        scorer=type(path.scorer).__name__,
        refusal=refusal,
        picture=base64.b64encode(figure_bytes(drawing, "svg")).decode(),
        points=path.points,
        notes=notes,
        chosen=chosen,
        level=percent(path.points[0].auc.confidence_level),
        version=__version__,
    )
