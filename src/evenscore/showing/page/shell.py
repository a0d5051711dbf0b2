"""One shell for every page: template, style and script in one file, under a strict policy."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from evenscore.showing import numbers
from evenscore.showing.page import colours
from evenscore.showing.page.charts import swatch

MARKS = {"gap": "Beyond", "unclear": "Cannot tell", "even": "Within", "context": "Context"}
"""What stands before a finding, by its kind."""

_FILTERS = (
    "count", "exact", "p_value", "plain", "points", "ratio", "share", "signed",
    "verdict", "why_none",
)  # fmt: skip


def render(template: str | jinja2.Template, *, script: str = "", **content: Any) -> str:
    """A page from a template that extends `showing/page/shell.html.jinja`.

    Parameters
    ----------
    template : str or jinja2.Template
        The path of the template within the package, or one made by `environment().from_string`.
    script : str
        The path of its script, if it has one; no other script will run.
    **content
        What the template shows; everything that comes from outside is escaped.

    Returns
    -------
    str
        The page: the same content gives the same text.
    """
    style = f"{asset('showing/page/page.css')}\n{colours.style_sheet()}\n"
    code = asset(script) if script else ""
    html = (
        environment()
        .get_template(template)
        .render(
            **content,
            style=Markup(style),
            script=Markup(code),
            policy=policy(style, code),
        )
    )
    # Half a surrogate pair, which Python lets a text hold, is in no file.
    return html.encode("utf-8", "replace").decode("utf-8")


def fragment(template: str, **content: Any) -> Markup:
    """A part of a page."""
    return Markup(environment().get_template(template).render(**content))


def policy(style: str, script: str) -> str:
    """The Content-Security-Policy under which only this style and this script have any effect."""
    allowed = f"script-src '{_digest(script)}'; " if script else ""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; {allowed}"
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def asset(path: str) -> str:
    """A text file of the package."""
    return files("evenscore").joinpath(path).read_text(encoding="utf-8")


@cache
def environment() -> jinja2.Environment:
    """The templates of the package, by their path, with the filters that all of them use."""
    made = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=jinja2.FunctionLoader(asset),
    )
    made.filters |= {name: getattr(numbers, name) for name in _FILTERS}
    made.filters["first_capital"] = lambda text: text[:1].upper() + text[1:]
    made.globals |= {
        "interval": numbers.interval,
        "NONE": numbers.NONE,
        "NO_INTERVAL": numbers.NO_INTERVAL,
        "MARKS": MARKS,
        "shade": colours.shade,
        "swatch": lambda series: Markup(swatch(series)),
    }
    return made
