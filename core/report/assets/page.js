(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var svg = document.getElementById("picture");
  var frame = document.getElementById("frame");
  var slider = document.getElementById("position");
  var where = document.getElementById("where");
  var detail = document.getElementById("detail");
  var width = data.geometry[0], left = data.geometry[1], right = data.geometry[2], pitch = data.geometry[3];
  var bar = data.geometry[4], head = data.geometry[5], foot = data.geometry[6], gap = data.geometry[7];
  var groups = data.groups, from = data.from, size = data.to - data.from, firstLane = 0;
  var units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

  function escape(text) {
    return String(text).replace(/[&<>"']/g, function (c) { return "&#" + c.charCodeAt(0) + ";"; });
  }
  function px(v) { return Math.round(v * 10) / 10; }
  function text(cls, anchor, x, y, s) {
    return '<text class="' + cls + '" x="' + px(x) + '" y="' + px(y) + '"' + (anchor ? ' text-anchor="' + anchor + '"' : "") + ">" + escape(s) + "</text>";
  }
  function duration(ns) {
    var v = Math.abs(ns), sign = ns < 0 ? "−" : "";
    for (var i = 0; i < units.length; i++) {
      if (v >= units[i][1]) { return sign + Number((v / units[i][1]).toPrecision(3)) + " " + units[i][0]; }
    }
    return sign + v + " ns";
  }
  function ticks(low, high) {
    var step = Math.pow(10, Math.floor(Math.log10((high - low) / 10))), k = [1, 2, 5, 10].find(function (m) { return (high - low) / (step * m) <= 10; });
    var out = [];
    for (var v = Math.ceil(low / (step * k)) * step * k; v <= high; v += step * k) { out.push(v); }
    var largest = Math.max(Math.abs(low), Math.abs(high)), unit = units.find(function (u) { return largest >= u[1]; }) || units[3];
    var decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step * k / unit[1]) - 1e-9)));
    return out.map(function (v) {
      var t = (Math.abs(v) / unit[1]).toFixed(decimals);
      return [v, (v < 0 && Number(t) ? "−" : "") + (Number(t) ? t : "0") + " " + unit[0]];
    });
  }
  // A span of a group starts at 5 + 5 k: node, before start and end, after start and end.
  function extent(list, side) {
    var low = Infinity, high = -Infinity;
    list.forEach(function (g) {
      for (var k = 5; k < g.length; k += 5) { low = Math.min(low, g[k + 1 + 2 * side]); high = Math.max(high, g[k + 2 + 2 * side]); }
    });
    var pad = Math.max(1, (high - low) * 0.02);
    return high < low ? [0, 1] : [low - pad, high + pad];
  }
  function panel(top0, side, lanes, list, view) {
    var top = top0 + head, bottom = top + lanes.length * pitch, plot = width - left - right, row = {}, out = [];
    function x(ns) { return Math.min(Math.max(left + (ns - view[0]) / (view[1] - view[0]) * plot, left - plot), left + 2 * plot); }
    function box(g, k) { var a = x(g[k + 1 + 2 * side]); return [a, Math.max(a + 2, x(g[k + 2 + 2 * side]))]; }
    out.push(text("title", "", 0, top0 + 18, data.titles[side]));
    if (data.verdicts[side]) { out.push(text("verdict " + (data.bad[side] ? "bad-text" : "ok-text"), "end", width - right, top0 + 18, data.verdicts[side])); }
    ticks(view[0], view[1]).forEach(function (t) {
      out.push('<line class="grid" x1="' + px(x(t[0])) + '" x2="' + px(x(t[0])) + '" y1="' + (top - 6) + '" y2="' + bottom + '"/>' + text("tick", "middle", x(t[0]), bottom + 16, t[1]));
    });
    lanes.forEach(function (node, i) {
      var mid = top + (i + 0.5) * pitch, name = data.nodes[node];
      row[node] = mid;
      out.push('<line class="lane" x1="' + left + '" x2="' + (width - right) + '" y1="' + mid + '" y2="' + mid + '"/>' + text("label", "end", left - 12, mid + 4, name.length > 14 ? name.slice(0, 14) + "…" : name));
    });
    out.push('<svg x="' + left + '" y="' + (top - 6) + '" width="' + plot + '" height="' + (bottom - top + 6) + '" viewBox="' + [left, top - 6, plot, bottom - top + 6].join(" ") + '">');
    list.forEach(function (g) {
      var last = 0, cls = data.classes[g[2 + side]];
      for (var k = 5; k < g.length; k += 5) {
        if (!(g[k] in row)) { continue; }
        if (last) {
          var a = box(g, last), b = box(g, k), ya = row[g[last]] + bar / 2, yb = row[g[k]] - bar / 2;
          out.push('<polygon class="ribbon ' + cls + '" points="' + [px(a[0]), ya, px(a[1]), ya, px(b[1]), yb, px(b[0]), yb].join(" ") + '"/>');
        }
        last = k;
      }
    });
    list.forEach(function (g) {
      for (var k = 5; k < g.length; k += 5) {
        if (!(g[k] in row)) { continue; }
        var a = box(g, k), start = g[k + 1 + 2 * side], end = g[k + 2 + 2 * side];
        var said = data.words[g[2 + side]] + ": " + data.keys[g[0]] + ", number " + (g[1] + 1) + ", on " + data.nodes[g[k]] + ", " + (start / 1e6).toFixed(4) + " to " + (end / 1e6).toFixed(4) + " ms, " + duration(end - start);
        out.push('<rect class="bar ' + data.classes[g[2 + side]] + '" rx="2" x="' + px(a[0]) + '" y="' + (row[g[k]] - bar / 2) + '" width="' + px(a[1] - a[0]) + '" height="' + bar + '"><title>' + escape(said) + "</title></rect>");
      }
    });
    return out.join("") + "</svg>";
  }
  function shown() {
    var list = groups.slice(from, from + size), stretch = list.length ? list[0][4] : 0;
    return list.filter(function (g) { return g[4] === stretch; });
  }
  function draw() {
    size = Math.min(Math.max(size, 1), Math.min(groups.length, 400));
    from = Math.min(Math.max(from, 0), groups.length - size);
    var list = shown(), lanes = data.lanes.slice(firstLane, firstLane + data.maxLanes), tall = head + lanes.length * pitch + foot;
    var before = extent(list, 0), after = extent(list, 1), wide = Math.max(before[1] - before[0], after[1] - after[0]);
    if (wide <= 3 * (after[1] - after[0])) {
      [before, after].forEach(function (e) { var grow = (wide - (e[1] - e[0])) / 2; e[0] -= grow; e[1] += grow; });
    }
    svg.setAttribute("viewBox", "0 0 " + width + " " + (2 * tall + gap));
    svg.innerHTML = panel(0, 0, lanes, list, before) + panel(tall + gap, 1, lanes, list, after);
    slider.max = groups.length - size;
    slider.value = from;
    where.textContent = "collectives " + (from + 1) + " to " + (from + list.length) + " of " + groups.length;
  }
  function next() {
    for (var i = 1; i <= groups.length; i++) {
      var at = (from + i) % groups.length;
      if (groups[at][3] === 2) { return show(at, "still impossible after alignment"); }
    }
    for (i = 1; i <= groups.length; i++) {
      at = (from + i) % groups.length;
      if (groups[at][2] === 2) { return show(at, "impossible before, possible after"); }
    }
    detail.textContent = "No collective on this page is impossible.";
  }
  function show(at, said) {
    from = Math.min(at, groups.length - size);
    detail.textContent = data.keys[groups[at][0]] + ", number " + (groups[at][1] + 1) + ": " + said;
  }
  function zoom(factor) {
    var middle = from + size / 2;
    size = Math.max(1, Math.round(size * factor));
    from = Math.round(middle - size / 2);
  }
  var moves = {
    earlier: function () { from -= Math.max(1, size >> 1); },
    later: function () { from += Math.max(1, size >> 1); },
    closer: function () { zoom(0.5); },
    wider: function () { zoom(2); },
    first: function () { from = 0; },
    last: function () { from = groups.length; },
    next: next,
    nodes: function () { firstLane = firstLane + data.maxLanes < data.lanes.length ? firstLane + data.maxLanes : 0; }
  };
  var keys = { ArrowLeft: "earlier", ArrowRight: "later", "+": "closer", "=": "closer", "-": "wider", n: "next", Home: "first", End: "last" };
  function move(name) {
    detail.textContent = "";
    moves[name]();
    draw();
  }
  document.getElementById("controls").hidden = false;
  document.getElementById("nodes").hidden = data.lanes.length <= data.maxLanes;
  document.getElementById("controls").addEventListener("click", function (e) {
    var name = e.target.getAttribute && e.target.getAttribute("data-move");
    if (name) { move(name); }
  });
  slider.addEventListener("input", function () { from = Number(slider.value); draw(); });
  frame.addEventListener("keydown", function (e) {
    if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); move(keys[e.key]); }
  });
  svg.addEventListener("pointerover", function (e) {
    var title = e.target.classList && e.target.classList.contains("bar") && e.target.querySelector("title");
    if (title) { detail.textContent = title.textContent; }
  });
  draw();
})();
