"use strict";
(function () {
  var data = JSON.parse(document.getElementById("explorer-data").textContent);
  var slider = document.getElementById("threshold");
  var left = data.frame[0], top = data.frame[1], side = data.frame[2];

  function find(id) { return document.getElementById(id); }
  function tenths(n) { return (n / 10).toFixed(1); }
  function x(n) { return (left + side * n / 1000).toFixed(1); }
  function y(n) { return (top + side * n / 1000).toFixed(1); } // of a false negative rate

  var rows = Array.prototype.map.call(
    document.querySelectorAll("#explorer-table tr[data-group]"),
    function (row) {
      return {
        group: Number(row.getAttribute("data-group")),
        count: row.querySelector("[data-count]"),
        cells: Array.prototype.map.call(row.querySelectorAll("td[data-rate]"), function (cell) {
          return {
            rate: cell.getAttribute("data-rate"),
            value: cell.querySelector("b"),
            range: cell.querySelector(".range")
          };
        })
      };
    }
  );
  var points = document.querySelectorAll("g[data-point]");

  function show() {
    var t = Number(slider.value);
    var told = data.thresholds[t], share = tenths(data.share[t]) + "%";
    find("now-threshold").textContent = told;
    find("now-share").textContent = share;
    slider.setAttribute("aria-valuetext", "threshold " + told + ", " + share + " selected");
    rows.forEach(function (row) {
      row.count.textContent = data.selected[t][row.group];
      row.cells.forEach(function (cell) {
        var found = data.rates[cell.rate][t][row.group];
        cell.value.textContent = found[0] === null ? data.none : tenths(found[0]) + "%";
        cell.range.textContent =
          found[1] === null ? data.no_interval : tenths(found[1]) + " to " + tenths(found[2]);
      });
    });
    Array.prototype.forEach.call(points, function (point) {
      var k = Number(point.getAttribute("data-point"));
      var fpr = data.rates.fpr[t][k], fnr = data.rates.fnr[t][k];
      if (fpr[1] === null || fnr[1] === null) {
        point.setAttribute("visibility", "hidden");
        return;
      }
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
  Array.prototype.forEach.call(document.querySelectorAll("button[data-index]"), function (button) {
    button.addEventListener("click", function () {
      slider.value = button.getAttribute("data-index");
      show();
    });
  });
  show();
})();
