"""A small HTML table of an audit for notebooks."""

from html import escape

from evenscore.auditing import AuditResult
from evenscore.inference.estimate import Estimate, percent
from evenscore.showing.numbers import interval, plain, signed, why_none

_ROWS = 24  # more gaps than these are in `to_frame`


def notebook_html(result: AuditResult) -> str:
    """Findings, then one row a gap; everything that came from outside is escaped."""
    head = escape(result.title or f"Audit of {result.sample.n:,} people")
    parts = [f"<div><p><strong>{head}</strong></p><ul>"]
    parts += [f"<li>{escape(finding.text)}</li>" for finding in result.findings]
    level = percent(result.settings.confidence_level)
    titles = (
        "", "value", f"{level} interval", "over all gaps", "for within", "verdict", "in words"
    )  # fmt: skip
    parts.append("</ul><table><thead><tr>")
    parts += [f"<th>{escape(title)}</th>" for title in titles]
    parts.append("</tr></thead><tbody>")
    if result.outcomes_known:
        parts.append(_row(result.auc, "AUC", ""))
    gaps = sorted(result.gaps, key=lambda gap: not result.is_headline(gap))  # the others after
    parts += [_row(gap, gap.title, gap.verdict or "", gap=True) for gap in gaps[:_ROWS]]
    parts.append("</tbody></table>")
    more = len(result.gaps) - _ROWS
    if more > 0:
        parts.append(f"<p>{more} more gaps are in to_frame().</p>")
    parts.append("</div>")
    return "".join(parts)


def _row(estimate: Estimate, title: str, verdict: str, *, gap: bool = False) -> str:
    words = "; ".join(told for told in (estimate.words, why_none(estimate)) if told)
    cells = (
        title,
        signed(estimate.value) if gap else plain(estimate.value),
        interval(estimate.low, estimate.high, "signed" if gap else "plain"),
        interval(*estimate.ends("beyond"), "signed") if gap else "",  # an AUC has no tolerance
        interval(*estimate.ends("within"), "signed") if gap else "",
        verdict,
        words,
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
