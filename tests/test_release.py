"""What a release rests on: one version everywhere, a checked tag, forms that can be read."""

import re
from datetime import date
from pathlib import Path

import pytest
import yaml
from check_release import problems

import evenscore as es

ROOT = Path(__file__).resolve().parents[1]
NAMED = ("src/evenscore/__init__.py", "CITATION.cff", "CHANGELOG.md")


@pytest.fixture
def copy(tmp_path):
    """The files that name the version, to be altered."""
    for name in NAMED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_everything_names_one_version():
    assert problems() == []
    assert problems(tag=f"v{es.__version__}") == []


def test_the_entry_of_this_version_has_a_date():
    entries = re.findall(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    day = dict(entries)[es.__version__]
    assert date.fromisoformat(day).isoformat() == day


@pytest.mark.parametrize("tag", [es.__version__, "v0.1.0", f"v{es.__version__}rc1", ""])
def test_another_tag_is_a_problem(tag):
    [told] = problems(tag=tag)
    assert tag in told
    assert es.__version__ in told


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("src/evenscore/__init__.py", es.__version__, "9.9.9", "the package is 9.9.9."),
        ("CITATION.cff", f"version: {es.__version__}", "version: 9.9.9", "says version 9.9.9"),
        ("CITATION.cff", "date-released: 2", "date-released: 3", "CHANGELOG.md begins with"),
        ("CHANGELOG.md", "## ", "## 9.9.9 (2027-01-01)\n\n## ", "begins with '9.9.9 (2027-01-01)'"),
    ],
)
def test_a_file_that_disagrees_is_a_problem(copy, file, old, new, said):
    altered = (copy / file).read_text(encoding="utf-8").replace(old, new, 1)
    (copy / file).write_text(altered, encoding="utf-8")
    assert any(said in problem for problem in problems(copy))


def test_what_is_not_released_yet_may_be_written_down_but_not_published(copy):
    file = copy / "CHANGELOG.md"
    file.write_text(
        file.read_text("utf-8").replace("## ", "## 9.9.9 (unreleased)\n\n## ", 1), "utf-8"
    )
    assert problems(copy) == []
    [said] = problems(copy, tag=f"v{es.__version__}")
    assert "begins with '9.9.9 (unreleased)'" in said


def test_an_entry_without_a_date_is_a_problem(copy):
    for file in ("CITATION.cff", "CHANGELOG.md"):
        altered = re.sub(r"\d{4}-\d\d-\d\d", "unreleased", (copy / file).read_text("utf-8"))
        (copy / file).write_text(altered, encoding="utf-8")
    said = problems(copy, tag=f"v{es.__version__}")
    assert any("'unreleased' in CITATION.cff" in problem for problem in said)


def test_nothing_is_published_before_tag_and_files_are_checked():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    assert workflow[True] == {"release": {"types": ["published"]}}  # YAML's "on" is true
    jobs = workflow["jobs"]
    build = [step.get("run", step.get("uses", "")) for step in jobs["build"]["steps"]]

    def place(text):
        return next(number for number, step in enumerate(build) if text in step)

    order = ("check_release.py", "-m build", "check_wheel.py --built dist", "upload-artifact")
    assert [place(text) for text in order] == sorted({place(text) for text in order})
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["environment"] == "pypi"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert workflow["permissions"] == {"contents": "read"}
    assert jobs["publish"]["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert not [step for step in jobs["publish"]["steps"] if "run" in step]  # what was built, as is


@pytest.mark.parametrize("form", ["bug", "wrong_number", "idea"])
def test_a_form_asks_for_what_it_needs(form):
    file = ROOT / ".github" / "ISSUE_TEMPLATE" / f"{form}.yml"
    asked = yaml.safe_load(file.read_text("utf-8"))
    assert {"name", "description", "labels", "body"} == set(asked)
    fields = [part for part in asked["body"] if part["type"] != "markdown"]
    identifiers = [part["id"] for part in fields]
    assert len(set(identifiers)) == len(identifiers)
    assert all(part["attributes"]["label"] for part in fields)
    assert any(part.get("validations", {}).get("required") for part in fields)


def test_the_citation_has_what_its_readers_look_for():
    """`cffconvert --validate` asks for more, and is not a requirement of the tests."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == es.__version__
    assert citation["license"] == "BSD-3-Clause"
    paper = citation["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == [
        "Vogel",
        "Bellet",
        "Clémençon",
    ]
