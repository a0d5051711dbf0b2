"use strict";
(function () {
  var block = document.getElementById("explorer-data");
  if (!block) { return; }
  var data = JSON.parse(block.textContent);
  var slider = document.getElementById("threshold");

  function find(id) { return document.getElementById(id); }
  function all(query, root) { return Array.prototype.slice.call((root || document).querySelectorAll(query)); }
  function tenths(n) { return (n / 10).toFixed(1); }
  function between(from, to, n) { return (from + (to - from) * n / 1000).toFixed(1); }

  var rows = all("#explorer-table tr[data-group]").map(function (row) {
    return {
      group: Number(row.getAttribute("data-group")),
      count: row.querySelector("[data-count]"),
      cells: all("td[data-rate]", row).map(function (cell) {
        return {
          rate: cell.getAttribute("data-rate"),
          value: cell.querySelector("b"),
          range: cell.querySelector(".range")
        };
      })
    };
  });
  var points = all("g[data-point]");
  var picked = all("[data-picked]");
  var buttons = all("button[data-index]");

  function show() {
    var t = Number(slider.value);
    var told = data.thresholds[t], share = tenths(data.share[t]) + "%";
    find("now-threshold").textContent = told;
    find("now-share").textContent = share;
    slider.setAttribute("aria-valuetext", "cut " + told + ", " + share + " selected");
    buttons.forEach(function (button) {
      button.setAttribute("aria-pressed", String(Number(button.getAttribute("data-index")) === t));
    });
    rows.forEach(function (row) {
      row.count.textContent = data.selected[t][row.group];
      row.cells.forEach(function (cell) {
        var found = data.rates[cell.rate][t][row.group];
        cell.value.textContent = found[0] === null ? data.none : tenths(found[0]) + "%";
        cell.range.textContent =
          found[1] === null ? data.no_interval : tenths(found[1]) + " to " + tenths(found[2]);
      });
    });
    picked.forEach(function (line) {
      line.setAttribute("visibility", data.x[t] === null ? "hidden" : "visible");
      if (data.x[t] !== null) { line.setAttribute("transform", "translate(" + data.x[t] + " 0)"); }
    });
    points.forEach(function (point) {
      var k = Number(point.getAttribute("data-point")), f = data.frame;
      var fpr = data.rates.fpr[t][k], fnr = data.rates.fnr[t][k];
      if (fpr[1] === null || fnr[1] === null) {
        point.setAttribute("visibility", "hidden");
        return;
      }
      function x(n) { return between(f[0], f[1], n); }
      function y(n) { return between(f[3], f[2], n); } // of a false negative rate
      point.setAttribute("visibility", "visible");
      point.querySelector(".cross").setAttribute(
        "d",
        "M" + x(fpr[1]) + " " + y(fnr[0]) + "H" + x(fpr[2]) +
        "M" + x(fpr[0]) + " " + y(fnr[1]) + "V" + y(fnr[2])
      );
      point.querySelector(".marker").setAttribute(
        "transform", "translate(" + x(fpr[0]) + " " + y(fnr[0]) + ")"
      );
    });
    if (find("now-ratio")) {
      find("now-ratio").textContent = data.ratio[t];
      find("now-note").textContent = data.notes[t];
    }
  }

  find("threshold-control").hidden = false;
  slider.addEventListener("input", show);
  slider.addEventListener("change", show);
  buttons.forEach(function (button) {
    button.addEventListener("click", function () {
      slider.value = button.getAttribute("data-index");
      show();
    });
  });
  show();
})();
