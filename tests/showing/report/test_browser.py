"""The report in a real browser: the slider, the layout, the policy, paper and no script."""

import base64
import json
import shutil
import time

import numpy as np
import pytest
from support.making import draw
from support.report_cases import HOSTILE, SCRIPT, case, layout_case

from evenscore import GroupedScores
from evenscore.scores.labels import label_text
from evenscore.scores.thresholds import rates_at
from evenscore.showing import report
from evenscore.showing.numbers import share
from evenscore.showing.report.page import Page

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"
)
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--hide-scrollbars --disable-dev-shm-usage"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the reports are, which are made when they are asked for."""
    return tmp_path_factory.mktemp("reports")


def written(folder, name):
    """A report as a file: of so many groups, or of a case of the layout."""
    path = folder / f"{name}.html"
    if not path.exists():
        report.write(case(name) if isinstance(name, int) else layout_case(name), path)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    driver.get("about:blank")  # what the browser shows first asks for much
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, folder):
    """Opens a report at a width; afterwards nothing may have been logged or fetched."""
    seen = []

    def open_report(name=2, width=1280, scheme="light", script=True, media=""):
        address = written(folder, name).as_uri()
        browser.get_log("browser"), browser.get_log("performance")
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            dict(width=width, height=900, deviceScaleFactor=1, mobile=width < 600),
        )
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {
                "media": media,
                "features": [{"name": "prefers-color-scheme", "value": scheme}],
            },
        )
        seen.append(address)
        browser.get(address)
        return browser

    yield open_report
    assert browser.get_log("browser") == []  # errors, and violations of the policy
    asked = [
        message["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    ]
    assert set(asked) <= {*seen, "data:,"}
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def rows(driver):
    """What the explorer shows: by group, the texts of its rates."""
    return driver.execute_script(
        "return [...document.querySelectorAll('#explorer-table tr[data-group]')].map("
        "  row => [...row.querySelectorAll('td')].map(cell => cell.innerText.split(/\\s+/)))"
    )


def exact_rates(n_groups, threshold):
    y, score, group, _ = draw(11, n=400, n_groups=n_groups, levels=None)
    return rates_at(GroupedScores.from_arrays(y, score, sensitive_features=group), threshold)


def check(driver, n_groups, index):
    """What is shown agrees with rates computed anew."""
    cuts = Page(case(n_groups)).picker.cuts
    rates = exact_rates(n_groups, cuts.thresholds[index])
    for k, row in enumerate(rows(driver)):
        for name, cell in zip(("selection_rate", "fnr", "fpr", "precision"), row, strict=True):
            value = rates.rate(name.removesuffix("_rate"))[0, k]
            if np.isnan(value):
                assert cell == ["–", "no", "interval"]
            else:
                assert cell[0] == share(value)
                low, high = float(cell[1]), float(cell[3])
                assert low - 0.1 <= 100 * value <= high + 0.1
    assert driver.find_element("id", "now-threshold").text == f"{cuts.thresholds[index]:.4g}"
    told = driver.find_element("id", "now-share").text
    assert told == share(cuts.selected_share[index])
    said = driver.find_element("id", "threshold").get_attribute("aria-valuetext")
    assert told in said


def set_slider(driver, value):
    driver.execute_script(
        "const s = document.getElementById('threshold'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input'));",
        value,
    )


@pytest.mark.slow
def test_the_reader_picks_a_cut_and_the_table_and_pictures_follow(opened):
    driver, page = opened(), Page(case())
    found, charts, roc = page.picker, page.cut_charts, page.roc
    slider = driver.find_element("id", "threshold")
    start, last = found.at, int(slider.get_attribute("max"))
    assert last == len(found.cuts.thresholds) - 1
    check(driver, 2, start)
    before = rows(driver)
    slider.send_keys("\ue012")  # left arrow
    assert int(slider.get_property("value")) == start - 1
    check(driver, 2, start - 1)
    slider.send_keys("\ue010")  # end
    check(driver, 2, last)
    assert rows(driver) != before
    buttons = driver.find_elements("css selector", "button[data-index]")
    assert [int(button.get_attribute("data-index")) for button in buttons] == list(found.asked)
    # The page scrolls smoothly: a click on its way would meet whatever is passing.
    driver.execute_script("document.documentElement.style.scrollBehavior = 'auto'")
    index = found.asked[0]
    driver.execute_script(
        "arguments[0].scrollIntoView({behavior: 'instant', block: 'center'})", buttons[0]
    )
    buttons[0].click()
    check(driver, 2, index)
    pressed = [one.get_attribute("aria-pressed") for one in buttons]
    assert pressed == ["true", *["false"] * (len(buttons) - 1)]
    # The dashed line is at the share selected, and the marks are on the ROC curves.
    low, high = charts[0].x
    shares = found.cuts.selected_share
    inside = np.flatnonzero((shares >= low) & (shares <= high))
    for index in (*inside[[0, -1]], *np.flatnonzero(shares > high)[:1]):
        set_slider(driver, int(index))
        seen = shares[index] <= high
        assert moved(driver, "[data-picked]") == [
            (c.at_x(shares[index]), 0.0) if seen else () for c in charts
        ]
        marks = moved(driver, "g[data-point] .marker")
        assert len(marks) == 2
        for k, (x, y) in enumerate(marks):
            fpr, fnr = (getattr(found.cuts, n).value[index, k] for n in ("fpr", "fnr"))
            assert x == pytest.approx(roc.at_x(fpr), abs=0.3)
            assert y == pytest.approx(roc.at_y(1 - fnr), abs=0.3)


def moved(driver, query):
    """Where the elements of a query were moved to, and whether they are seen."""
    found = driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map("
        "  e => [e.getAttribute('transform'), getComputedStyle(e).visibility])",
        query,
    )
    return [
        tuple(map(float, place.removeprefix("translate(")[:-1].split()))
        if seen == "visible"
        else ()
        for place, seen in found
    ]


CLIPPED = """
const found = [], wide = document.documentElement.clientWidth;
const say = (e, why) => found.push(
  why + ': ' + e.tagName + '.' + e.getAttribute('class') + ' in ' + (e.closest('section') || {}).id
  + ': ' + e.textContent.trim().slice(0, 60));
const unseen = e => {
  const head = e.closest('thead');
  return getComputedStyle(e).display === 'none' || getComputedStyle(e).visibility === 'hidden'
    || e.closest('[hidden], title, script')
    || head && getComputedStyle(head).clipPath !== 'none';  // read aloud where tables are lists
};
let seen = 0;
for (const e of document.querySelectorAll('main, main *')) {
  if (unseen(e)) { continue; }
  seen += 1;
  const box = e.getBoundingClientRect();
  if (box.width && (box.right > wide + 1 || box.left < -1)) { say(e, 'beyond the page'); }
  if (!(e instanceof SVGElement) && getComputedStyle(e).display !== 'inline'
      && e.scrollWidth > e.clientWidth + 1) { say(e, 'scrolls'); }
}
for (const e of document.querySelectorAll('svg.chart text')) {
  const figure = e.closest('figure').getBoundingClientRect(), box = e.getBoundingClientRect();
  const across = box.right > figure.right + 2 || box.left < figure.left - 2;
  const upright = box.top < figure.top - 2 || box.bottom > figure.bottom + 2;
  if (across || upright) { say(e, 'out of its figure'); }
}
const verdicts = [...document.querySelectorAll('.verdict')].map(e => e.getBoundingClientRect());
return [found, seen, document.documentElement.scrollWidth - wide,
        verdicts.map(box => box.width > 0 && box.left >= 0 && box.right <= wide)];
"""


SCREENS = ((1280, ""), (390, ""), (320, ""), (718, "print"))  # A4 less its margins is 718


@pytest.mark.slow
@pytest.mark.parametrize("name", [2, "6", "columns", "20"])
def test_nothing_is_clipped(opened, name):
    """Seconds: a browser lays out whole reports."""
    for width, media in SCREENS if name == "6" else ((390, ""),):
        driver = opened(name, width, media=media)
        found, seen, sideways, verdicts = driver.execute_script(CLIPPED)
        assert found == [], width
        assert seen > 500
        assert sideways == 0, width
        assert len(verdicts) >= 10
        assert all(verdicts)


def test_what_is_clipped_is_found(opened):
    """The measure works: it finds what the test makes too wide."""
    driver = opened(2, 390)
    driver.execute_script(
        "document.querySelector('.verdict').style.paddingLeft = '600px';"
        "document.querySelector('svg.chart text').setAttribute('x', '2000')"
    )
    found, *_, verdicts = driver.execute_script(CLIPPED)
    told = " ".join(found)
    assert "beyond the page: SPAN.verdict" in told
    assert "out of its figure: text" in told
    assert not all(verdicts)


def test_names_are_text(opened):
    driver = opened()
    shown = driver.find_element("css selector", "#explorer-table tbody th bdi").text
    assert shown == SCRIPT
    names = driver.execute_script(
        "return [...document.querySelectorAll('#explorer-table th bdi')].map(e => e.textContent)"
    )
    assert names == [label_text(name) for name in HOSTILE[:2]]
    scripts = driver.execute_script("return document.scripts.length")
    assert scripts == 2


def test_without_script_the_tables_and_pictures_remain(opened):
    driver = opened(script=False)
    assert not driver.find_element("id", "threshold-control").is_displayed()
    assert "The slider needs JavaScript" in driver.find_element("tag name", "noscript").text
    shown = driver.find_elements("css selector", "#explorer-table td b")
    result, middle = case(), 2
    assert [e.text for e in shown] == [
        share(getattr(result.thresholds, name).value[middle, k])
        for k in (0, 1)
        for name in ("selection_rate", "fnr", "fpr", "precision")
    ]
    told = driver.find_element("id", "now-share").text
    assert told == share(result.thresholds.selected_share[middle])
    pictures = driver.find_elements("css selector", "svg.chart")
    assert len(pictures) == 6
    assert all(svg.is_displayed() for svg in pictures)
    assert len(driver.find_elements("css selector", "tr[data-gap]")) == len(result.gaps)


def test_dark_and_light(opened):
    def colours(scheme):
        driver = opened(scheme=scheme)
        return driver.execute_script(
            "const of = (query, name) => getComputedStyle(document.querySelector(query))[name];"
            "return [of('body', 'backgroundColor'), of('svg.chart text', 'fill'),"
            "        of('svg.chart .curve.series-0', 'stroke'), of('.swatch .marker', 'fill')]"
        )

    blue, sky = "rgb(0, 114, 178)", "rgb(86, 180, 233)"
    assert colours("light") == ["rgb(255, 255, 255)", "rgb(26, 26, 26)", blue, blue]
    assert colours("dark") == ["rgb(21, 24, 28)", "rgb(236, 236, 236)", sky, sky]


def test_a_script_that_is_not_the_report_s_is_refused(browser, folder):
    """The policy works: it stops what the test adds to the page."""
    text = written(folder, 2).read_text(encoding="utf-8")
    changed = folder / "changed.html"
    added = "<script>document.title = 'broken'</script><img src='http://localhost:9/x.png'>"
    changed.write_text(text.replace("</main>", f"{added}</main>"), encoding="utf-8")
    browser.get(changed.as_uri())
    assert browser.title != "broken"
    deadline = time.monotonic() + 5.0
    logged = []
    while len(logged) < 2 and time.monotonic() < deadline:
        logged += [entry["message"] for entry in browser.get_log("browser")]
    assert sum("Content Security Policy" in message for message in logged) == 2
    assert browser.find_element("id", "now-threshold").text  # the report's own script has run


@pytest.mark.slow
def test_it_prints(opened):
    """Seconds: a browser makes a PDF."""
    driver = opened(scheme="dark")
    options = dict(printBackground=True, paperWidth=8.27, paperHeight=11.69)
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", options)["data"])
    assert pdf.startswith(b"%PDF")
    assert 4 <= pdf.count(b"/Type /Page\n") <= 20
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden, ground = driver.execute_script(
        "return [getComputedStyle(document.querySelector('nav')).display,"
        "        getComputedStyle(document.body).backgroundColor]"
    )
    assert hidden == "none"
    assert ground == "rgb(255, 255, 255)"
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
