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
    content = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert content.pop("evenscore_version") == es.__version__
    assert content == json.loads(json.dumps(expected.to_dict()))


@pytest.mark.slow
def test_given_people_as_markdown():
    options = ("--people", "1000", "--gap", "0.03", "--tolerance", "0.1", "--power", "0.8")
    result = run(*ASKED, *options, "--format", "markdown")
    assert result.stdout.startswith("# How many")
    assert "1,000" in result.stdout
    assert "| 0.02 | – |" in result.stdout
    assert run(*ASKED, *options, "--quiet").stdout == ""


def test_auc_notions_alone_and_beside_rates():
    alone = run("plan", "--constraint", "bnsp", "--prevalence", "0.2,0.3")
    assert "0.05 in bnsp" in " ".join(alone.stdout.split())
    both = run(*ASKED, "--constraint", "bnsp")
    assert "negatives, and in bnsp" in " ".join(both.stdout.split())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--shares", "0.7,0.2"), "0.9"),
        (("--shares", "0.7;0.3"), "--shares"),
        (("--shares", "a=0.7,a=0.3"), "--shares"),
        (("--shares", "1"), "two groups"),
        (("--prevalence", "a=0.2,b=0.3"), "named"),
        (("--prevalence", "20"), "prevalence"),
        (("--cuts", "thresholds=600"), "thresholds"),
        (("--equal", "fpr,tpr"), "'tpr'"),
        (("--constraint", "nothing"), "--constraint 'nothing'"),
        (("--gap", "0.2"), "gap"),
        (("--power", "0.9999"), "0.99"),
        (("--people", "5"), "16"),
        (("--json", "plan.html"), "plan.html"),
    ],
)
def test_refusals(options, told):
    assert told in refused(*ASKED, *options)


@pytest.mark.parametrize("options", [("--cuts", "everyone=0.2"), ("--select", "low")])
def test_cuts_beside_a_notion_that_has_none(options):
    told = refused("plan", *options, "--constraint", "bnsp", "--prevalence", "0.2")
    assert "--equal" in told
    assert options[0] in told
