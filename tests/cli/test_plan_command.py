import json

import pytest
from support.commands import refused, run

import evenscore as es

ASKED = ("plan", "--cuts", "negatives=0.25", "--equal", "fpr", "--prevalence", "0.5")


def test_a_sentence_then_tables(tmp_path):
    result = run(*ASKED, "--shares", "women=0.3,men=0.7", "--json", tmp_path / "plan.json")
    assert result.exit_code == 0, result.output
    expected = es.plan(
        cuts=es.Cuts(at=0.25, of="negatives"),
        constraints="fpr",
        prevalence=0.5,
        group_shares={"women": 0.3, "men": 0.7},
    )
    text = " ".join(result.stdout.split())
    assert text.startswith(str(expected))
    assert "People needed, by tolerance" in text
    assert "Assumed: scores are normal" in text
    content = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert content.pop("evenscore_version") == es.__version__
    assert content == json.loads(json.dumps(expected.to_dict()))


def test_given_people_as_markdown():
    options = ("--people", "1000", "--gap", "0.03", "--tolerance", "0.1", "--power", "0.8")
    result = run(*ASKED, *options, "--format", "markdown")
    assert result.stdout.startswith(
        "# How many people it takes\n\nWith 1,000 people, a score whose"
    )
    assert "| 0.02 | – |" in result.stdout
    assert run(*ASKED, *options, "--quiet").stdout == ""


def test_auc_notions_alone_and_beside_rates():
    alone = run("plan", "--constraint", "bnsp", "--prevalence", "0.2,0.3")
    assert "differ by more than 0.05 in bnsp:" in " ".join(alone.stdout.split())
    both = run(*ASKED, "--constraint", "bnsp")
    assert "of all negatives, and in bnsp:" in " ".join(both.stdout.split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--shares", "0.7,0.2"), "add up to one, not to 0.9"),
        (("--shares", "0.7;0.3"), "--shares is written as 0.7,0.3 or as women=0.3,men=0.7"),
        (("--shares", "a=0.7,0.3"), "--shares is written as"),
        (("--shares", "a=0.7,a=0.3"), "--shares is written as"),
        (("--shares", "1"), "Gaps need two groups or more"),
        (("--prevalence", "a=0.2,b=0.3"), "both must be named, and alike"),
        (("--prevalence", "20"), "The prevalence must lie strictly between 0 and 1"),
        (("--cuts", "thresholds=600"), "Cuts at thresholds cannot be planned"),
        (("--cuts", "0.1-0.4"), "Cuts are written as"),
        (("--equal", "fpr,tpr"), "There is no rate 'tpr'"),
        (("--constraint", "nothing"), "--constraint 'nothing' is unknown"),
        (("--gap", "0.2"), "no number of people certifies it"),
        (("--power", "0.9999"), "power must be at most 0.99"),
        (("--people", "5"), "the number of people must be a whole number of at least 16"),
        (("--json", "plan.html"), "its name says otherwise"),
    ],
)
def test_refusals(options, sentence):
    assert sentence in refused(*ASKED, *options)


def test_cuts_beside_a_notion_that_has_none():
    told = refused("plan", "--cuts", "everyone=0.2", "--constraint", "bnsp", "--prevalence", "0.2")
    assert "say with --equal which rates" in told


def test_a_side_beside_a_notion_that_has_no_cuts():
    told = refused("plan", "--select", "low", "--constraint", "bnsp", "--prevalence", "0.2")
    assert "say with --equal which rates, or leave --select out" in told
