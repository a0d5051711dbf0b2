"""The documentation: every block runs and prints what is shown, and every link leads somewhere."""

import doctest
import re
import subprocess
import sys
from contextlib import closing
from itertools import islice

import api_pages
import architecture
import lowest_versions
import pages
import pytest

import evenscore as es

PAGES = pages.pages()


def name(page):
    return page.relative_to(pages.ROOT).as_posix()


SAMPLE = {
    pages.ROOT / "README.md": None,
    pages.DOCS / "start.md": 2,  # what follows learns, in half a minute
    pages.DOCS / "gallery" / "group-roc.md": None,
}
"""Pages that `make test` runs, up to a number of blocks; `make pages` runs all."""


def ran(*some):
    """What tools/pages.py says of pages, and the code it ends with."""
    command = [sys.executable, pages.__file__, *some]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, f"{done.stdout}\n{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("page", SAMPLE, ids=name)
def test_the_first_pages_print_what_they_show(page, tmp_path):
    """Seconds: a reader's first ones with the command and with Python."""
    with closing(pages.run(page, tmp_path)) as ran:
        for block, printed in islice(ran, SAMPLE[page]):
            assert not block.shown or pages.agrees(printed, block.shown), (block.line, printed)
    drawn = {path.name for path in tmp_path.iterdir()}
    if page.parent.name == "gallery":
        assert {picture.name for picture in pages.pictures(page)} <= drawn


@pytest.mark.soak
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_runs_and_prints_what_is_shown(page):
    code, told = ran(page)
    assert code == 0, told


def test_blocks_are_of_known_languages_and_what_is_not_run_only_sets_up():
    every = [(one, block) for one in PAGES for block in pages.blocks(one.read_text("utf-8"))]
    for page, block in every:
        where = f"{name(page)}, line {block.line}"
        assert block.language in pages.LANGUAGES, f"{where}: {block.language!r}"
        if block.language == "console":
            commands = re.sub(r"\\\n\s*", "", block.code).splitlines()
            for command in commands:
                assert command.startswith(pages.UNRUN), f"{where}: {command}"


def test_a_block_that_prints_something_else_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```text\n2\n```\n")
    (_, first), (block, second) = pages.run(page, tmp_path)
    assert (first, second, block.shown) == ("", "1\n", "2\n")
    assert not pages.agrees(second, block.shown)


def test_a_page_that_prints_something_else_fails(tmp_path):
    page, broken = tmp_path / "page.md", tmp_path / "broken.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n9\n```\n")
    broken.write_text("```python\n1 / 0\n```\n")
    code, told = ran(page, broken)
    assert code == 1
    assert "line 1 prints\n1" in told
    assert "ZeroDivisionError" in told
    assert f"{broken.name} is not true" in told


def test_a_command_that_fails_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\necho all is well\nfalse\n```\n")
    with pytest.raises(RuntimeError, match="line 1"):
        list(pages.run(page, tmp_path))


def test_the_site_has_every_page():
    """What is not in the navigation would not be found."""
    yaml = pytest.importorskip("yaml", reason="the extra `docs` is missing")

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    config = yaml.load((pages.ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)

    def leaves(entry):
        if isinstance(entry, str):
            return [entry]
        inner = entry.values() if isinstance(entry, dict) else entry
        return [leaf for part in inner for leaf in leaves(part)]

    named = leaves(config["nav"])
    there = [page.relative_to(pages.DOCS).as_posix() for page in pages.DOCS.rglob("*.md")]
    assert sorted(named) == sorted(there)


def test_links_between_pages_and_pictures_lead_somewhere():
    for page in sorted({*PAGES, *pages.DOCS.rglob("*.md"), pages.ROOT / "CONTRIBUTING.md"}):
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" not in target:
                leads_somewhere(page, target)


def leads_somewhere(page, target):
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    assert file.exists(), f"{target} in {name(page)} leads nowhere"
    if anchor and file.suffix == ".md":
        titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {slug(title) for title in titles}, f"{target}: no such heading"


def slug(title):
    """The anchor of a heading, as Markdown for Python makes it."""
    toc = pytest.importorskip("markdown.extensions.toc", reason="the extra `docs` is missing")
    return toc.slugify(re.sub(r"[`*]", "", title), "-")


def test_the_reference_is_that_of_the_public_names():
    """`python tools/api_pages.py` writes it anew."""
    made = api_pages.texts()
    folder = pages.DOCS / "reference"
    assert sorted(made) == sorted(path.name for path in folder.iterdir())
    for file, text in made.items():
        assert (folder / file).read_text(encoding="utf-8") == text, file


def test_examples_of_docstrings_become_blocks_of_code():
    docstrings = pytest.importorskip("docstrings", reason="the extra `docs` is missing")
    text = "Add.\n\n>>> 1 + 1\n2\n\nMore.\n\nParameters\n----------\nx\n    >>> kept\n"
    assert docstrings.fenced(text) == (
        "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\nParameters\n----------\nx\n    >>> kept\n"
    )
    taken = docstrings.taken(es.metrics.abroca)
    assert [one.name for one in taken][:3] == ["y_true", "y_score", "sensitive_features"]


@pytest.mark.parametrize("module", [api_pages, pages, lowest_versions, architecture])
def test_examples_in_the_tools_are_true(module):
    assert doctest.testmod(module).failed == 0
