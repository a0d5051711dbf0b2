"""The report in a real browser: the slider, the layout, the policy, paper and no script."""

import base64
import json
import shutil
import time

import numpy as np
import pytest
from conftest import draw
from report_cases import HOSTILE, SCRIPT, case

from evenscore import GroupedScores
from evenscore.scores.labels import label_text
from evenscore.scores.thresholds import rates_at
from evenscore.showing import report
from evenscore.showing.numbers import share
from evenscore.showing.report.explorer import explorer

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
    """Reports of two and of four groups, as files."""
    made = tmp_path_factory.mktemp("reports")
    for n_groups in (2, 4):
        report.write(case(n_groups), made / f"{n_groups}.html")
    return made


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
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, folder):
    """Opens a report at a width; afterwards nothing may have been logged or fetched."""
    seen = []

    def open_report(n_groups=2, width=1280, scheme="light", script=True):
        browser.get_log("browser"), browser.get_log("performance")
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            dict(width=width, height=900, deviceScaleFactor=1, mobile=width < 600),
        )
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        address = (folder / f"{n_groups}.html").as_uri()
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
    cuts = explorer(case(n_groups)).cuts
    rates = exact_rates(n_groups, cuts.thresholds[index])
    for k, row in enumerate(rows(driver)):
        for name, cell in zip(("selection_rate", "fpr", "fnr", "precision"), row, strict=True):
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


@pytest.mark.parametrize("n_groups", [2, 4])
def test_the_slider_moves_and_numbers_agree(opened, n_groups):
    driver = opened(n_groups)
    slider = driver.find_element("id", "threshold")
    start, last = explorer(case(n_groups)).asked[0], int(slider.get_attribute("max"))
    check(driver, n_groups, start)
    before = rows(driver)
    slider.send_keys("\ue012")  # left arrow
    assert int(slider.get_property("value")) == start - 1
    check(driver, n_groups, start - 1)
    slider.send_keys("\ue010")  # end
    check(driver, n_groups, last)
    for value in (0, last // 3, last // 2):
        set_slider(driver, value)
        check(driver, n_groups, value)
    assert rows(driver) != before
    button = driver.find_element("css selector", "button[data-index]")
    # The page scrolls smoothly: a click on its way would meet whatever is passing.
    driver.execute_script(
        "document.documentElement.style.scrollBehavior = 'auto';"
        "arguments[0].scrollIntoView({behavior: 'instant', block: 'center'})",
        button,
    )
    button.click()
    assert rows(driver) == before


@pytest.mark.slow
def test_the_operating_points_move_along_the_curves(opened):
    driver = opened()
    found = explorer(case())
    for index in (5, len(found.cuts.thresholds) // 2):
        set_slider(driver, index)
        for line in found.lines:
            moved = driver.execute_script(
                "return document.querySelector(`g[data-point='${arguments[0]}'] .marker`)"
                ".getAttribute('transform')",
                line.group,
            )
            x, y = (float(part) for part in moved.removeprefix("translate(")[:-1].split())
            fpr, fnr = (getattr(found.cuts, n).value[index, line.group] for n in ("fpr", "fnr"))
            assert x == pytest.approx(found.frame.x(fpr), abs=0.3)
            assert y == pytest.approx(found.frame.y(1 - fnr), abs=0.3)


@pytest.mark.parametrize("width", [1280, 390, 360])
@pytest.mark.parametrize("n_groups", [2, 4])
def test_the_page_never_scrolls_sideways(opened, width, n_groups):
    driver = opened(n_groups, width)
    wide = driver.execute_script("return document.documentElement.scrollWidth")
    assert wide == width
    assert driver.execute_script(
        "return [...document.querySelectorAll('svg.plot')].every("
        "  e => e.getBoundingClientRect().right <= innerWidth + 1)"
    )


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
    assert SCRIPT in driver.execute_script(
        "return [...document.querySelectorAll('svg.plot text')].map(e => e.textContent).join(' ')"
    )


def test_without_script_the_tables_and_pictures_remain(opened):
    driver = opened(script=False)
    assert not driver.find_element("id", "threshold-control").is_displayed()
    assert "The slider needs JavaScript" in driver.find_element("tag name", "noscript").text
    shown = driver.find_elements("css selector", "#explorer-table td b")
    result = case()
    assert [e.text for e in shown[:2]] == [
        share(getattr(result.thresholds, name).value[0, 0]) for name in ("selection_rate", "fpr")
    ]
    pictures = driver.find_elements("css selector", "svg.plot")
    assert len(pictures) >= 4
    assert all(svg.is_displayed() for svg in pictures)
    assert len(driver.find_elements("css selector", "tr[data-gap]")) == len(result.gaps)


def test_dark_and_light(opened):
    def colours(scheme):
        driver = opened(scheme=scheme)
        return driver.execute_script(
            "const text = document.querySelector('svg.plot text');"
            "return [getComputedStyle(document.body).backgroundColor, getComputedStyle(text).fill]"
        )

    assert colours("light") == ["rgb(255, 255, 255)", "rgb(26, 26, 26)"]
    assert colours("dark") == ["rgb(21, 24, 28)", "rgb(236, 236, 236)"]


def test_a_script_that_is_not_the_report_s_is_refused(browser, folder):
    """The policy works: it stops what the test adds to the page."""
    text = (folder / "2.html").read_text(encoding="utf-8")
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
    driver = opened(scheme="dark")
    options = dict(printBackground=True, paperWidth=8.27, paperHeight=11.69)
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", options)["data"])
    assert pdf.startswith(b"%PDF")
    assert 4 <= pdf.count(b"/Type /Page\n") <= 14
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden, ground = driver.execute_script(
        "return [getComputedStyle(document.querySelector('nav')).display,"
        "        getComputedStyle(document.body).backgroundColor]"
    )
    assert hidden == "none"
    assert ground == "rgb(255, 255, 255)"
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
