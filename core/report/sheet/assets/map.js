(function () {
  "use strict";
  var cells = document.getElementById("cells"), cursor = document.getElementById("cursor"), out = document.getElementById("cell"), map = document.getElementById("map-box");
  if (!cells || !out) { return; }
  var data = JSON.parse(document.getElementById("data").textContent);
  var first = data.us.map(unpack), also = data.also_us.map(unpack), rows = data.rows.length, columns = data.columns.length, at = [0, 0];
  var units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];

  function unpack(row) { return row.split(",").map(function (v) { return v ? parseInt(v, 36) * 1000 : 0; }); }
  function duration(ns) {
    for (var i = 0; i < units.length; i++) {
      if (ns >= units[i][1]) { return Number((ns / units[i][1]).toPrecision(3)) + " " + units[i][0]; }
    }
    return ns + " ns";
  }
  function show(row, column) {
    at = [Math.min(Math.max(row, 0), rows - 1), Math.min(Math.max(column, 0), columns - 1)];
    var ns = first[at[0]][at[1]] || 0, second = also.length ? also[at[0]][at[1]] || 0 : 0;
    out.textContent = data.rows[at[0]] + ", " + data.columns[at[1]] + ": " + (ns ? data.says.replace("{}", duration(ns)) : data.nothing) +
      (second ? ", " + data.also_says.replace("{}", duration(second)) : "");
    cursor.setAttribute("x", at[1]);
    cursor.setAttribute("y", at[0]);
    cursor.setAttribute("visibility", "visible");
  }
  function open(column) {
    document.querySelectorAll("details[data-column]").forEach(function (picture) {
      if (data.columns[column] === picture.dataset.column) {
        picture.open = true;
        picture.scrollIntoView({ block: "nearest" });
      }
    });
  }
  function place(event) {
    var box = cells.getBoundingClientRect();
    show(Math.floor((event.clientY - box.top) / box.height * rows), Math.floor((event.clientX - box.left) / box.width * columns));
  }
  cells.addEventListener("pointermove", place);
  cells.addEventListener("click", function (event) { place(event); open(at[1]); });
  map.addEventListener("keydown", function (event) {
    var by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (by) { show(at[0] + by[0], at[1] + by[1]); } else if (event.key === "Enter") { open(at[1]); } else { return; }
    event.preventDefault();
  });
})();
