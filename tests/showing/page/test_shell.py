"""The shell of every page: one file, a strict policy, everything from outside escaped."""

import base64
import hashlib
import re

import jinja2
import pytest
from support.report_cases import SCRIPT, read

from evenscore.showing.page import shell


def trial(monkeypatch, template, **files):
    """The shell with templates of the test's own beside those of the package."""
    asset, made = shell.asset.__wrapped__, {"t": template, **files}
    monkeypatch.setattr(shell, "asset", lambda path: made[path] if path in made else asset(path))
    environment = shell.environment()
    monkeypatch.setattr(environment, "loader", jinja2.FunctionLoader(shell.asset))
    environment.cache.clear()


TEMPLATE = (
    '{% extends "showing/page/shell.html.jinja" %}{% block kind %}Kind{% endblock %}'
    "{% block main %}<p>{{ told }}</p>{% endblock %}"
)


def test_only_this_style_and_this_script_have_any_effect(monkeypatch):
    trial(monkeypatch, TEMPLATE, code="var a = 1 < 2;")
    html = shell.render("t", script="code", title="T", told="x")
    page = read(html)
    content = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in content.split(";"))
    for kind, name in (("style-src", "style"), ("script-src", "script")):
        [found] = re.findall(rf"<{name}>(.*?)</{name}>", html, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(found.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    assert "var a = 1 < 2;" in html


def test_without_a_script_none_may_run(monkeypatch):
    trial(monkeypatch, TEMPLATE)
    html = shell.render("t", title="T", told="x")
    assert "<script" not in html
    policy = read(html).one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert "script-src" not in policy
    assert "img-src data:" in policy


def test_what_comes_from_outside_is_text(monkeypatch):
    trial(monkeypatch, TEMPLATE)
    html = shell.render("t", title=SCRIPT, told=f"{SCRIPT}\ud800")
    page = read(html)
    assert SCRIPT not in html
    assert page.one("h1").text == page.one("title").text == SCRIPT
    assert page.one("main").one("p").text == f"{SCRIPT}?"
    assert html == shell.render("t", title=SCRIPT, told=f"{SCRIPT}\ud800")
    html.encode("utf-8")


def test_a_name_that_a_template_lacks_does_not_pass_unseen(monkeypatch):
    trial(monkeypatch, TEMPLATE)
    with pytest.raises(jinja2.UndefinedError, match="'told' is undefined"):
        shell.render("t", title="T")
