(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var perBlock = data.perBlock;
  data.clusters.forEach(function (c) { c.colour = data.families[c.family].colour; });
  var clusters = new Map(data.clusters.map(function (c) { return [c.id, c]; }));
  function byId(id) { return document.getElementById(id); }
  function grouped(n) { return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f"); }
  function plural(n, one, many) { return grouped(n) + " " + (n === 1 ? one : many); }
  function make(tag, text, cls) {
    var e = document.createElement(tag);
    if (text !== undefined) { e.textContent = text; }
    if (cls) { e.className = cls; }
    return e;
  }
  function linked(href, text, cls) {
    var a = make("a", text, cls);
    a.setAttribute("href", href);
    return a;
  }
  function inside(cluster, warp) {
    var r = cluster.ranges;
    for (var i = 0; i < r.length; i += 2) {
      if (warp >= r[i] && warp <= r[i + 1]) { return true; }
    }
    return false;
  }
  function clustersOf(warp) { return data.clusters.filter(function (c) { return inside(c, warp); }); }
  function placeText(warp) {
    if (!perBlock) { return "warp " + grouped(warp); }
    return "warp " + grouped(warp) + " (block " + grouped(Math.floor(warp / perBlock)) + ", warp " + grouped(warp % perBlock) + " of it)";
  }

  // ---- search ----
  var search = byId("search"), query = byId("query"), found = byId("found");
  var table = byId("rows"), more = byId("more"), note = byId("warp-note");
  var roles = data.roles;
  var texts = data.rows.map(function (r) {
    var s = data.sites[r[4]];
    return (data.kinds[r[3]] + " " + s.full + " " + s.place + " " + s.id + " " + data.words[r[7]] + " " + roles[r[6]]).toLowerCase();
  });
  var shown = 0, matches = [];
  var page = 200;

  // A term is a test of a warp, a cluster, a site, or of text.
  function terms(text) {
    return text.toLowerCase().split(/\s+/).filter(Boolean).map(function (word) {
      var m = /^(warp|block|cluster|event):(\d+)(?:-(\d+))?$/.exec(word);
      if (m) { return { field: m[1], low: Number(m[2]), high: Number(m[3] === undefined ? m[2] : m[3]) }; }
      m = /^(?:kind|site):(.+)$/.exec(word);
      return { field: "text", text: m ? m[1] : word };
    });
  }
  function between(t, n) { return n >= t.low && n <= t.high; }
  function blockOf(warp) { return perBlock ? Math.floor(warp / perBlock) : -1; }
  function rowMatches(i, list) {
    var r = data.rows[i];
    return list.every(function (t) {
      switch (t.field) {
        case "warp": return between(t, r[0]);
        case "block": return between(t, blockOf(r[0]));
        case "cluster": return between(t, r[5]);
        case "event": return between(t, r[1]);
      }
      return texts[i].indexOf(t.text) >= 0;
    });
  }
  function overlaps(cluster, low, high) {
    for (var i = 0; i < cluster.ranges.length; i += 2) {
      if (cluster.ranges[i] <= high && cluster.ranges[i + 1] >= low) { return true; }
    }
    return false;
  }
  function clusterMatches(e, list) {
    var c = clusters.get(Number(e.dataset.cluster));
    return list.every(function (t) {
      switch (t.field) {
        case "warp": return overlaps(c, t.low, t.high);
        case "block": return perBlock > 0 && overlaps(c, t.low * perBlock, (t.high + 1) * perBlock - 1);
        case "cluster": return between(t, c.id);
        case "event": return true;
      }
      return e.dataset.find.indexOf(t.text) >= 0;
    });
  }
  function fill() {
    var body = table.tBodies[0], end = Math.min(matches.length, shown + page), rows = document.createDocumentFragment();
    for (; shown < end; shown++) {
      var r = data.rows[matches[shown]], site = data.sites[r[4]], tr = make("tr", undefined, r[6] >= 2 ? "noise" : "");
      var warp = make("td", undefined, "num");
      warp.append(linked("#warp-" + r[0], grouped(r[0])));
      var where = make("td");
      where.append(byId("site-" + site.id) ? linked("#site-" + site.id, site.place, "place") : make("span", site.place, "place"));
      var cluster = make("td");
      var c = clusters.get(r[5]);
      if (c) { cluster.append(make("i", undefined, "swatch " + c.colour)); }
      if (byId("cluster-" + r[5])) { cluster.append(linked("#cluster-" + r[5], String(r[5]))); }
      if (r[6] > 0) { cluster.append(" ", make("span", roles[r[6]], "small")); }
      tr.append(warp, make("td", perBlock ? grouped(blockOf(r[0])) : "", "num"), make("td", grouped(r[1]), "num"), make("td", grouped(r[2]), "num"),
        make("td", data.kinds[r[3]]), where, make("td", data.words[r[7]]), cluster);
      rows.append(tr);
    }
    body.append(rows);
    more.hidden = shown >= matches.length;
    more.textContent = "show " + grouped(Math.min(page, matches.length - shown)) + " more of " + grouped(matches.length);
  }
  function apply() {
    if (!table) { return; }
    var list = terms(query.value), active = list.length > 0;
    matches = [];
    for (var i = 0; i < data.rows.length; i++) {
      if (!active || rowMatches(i, list)) { matches.push(i); }
    }
    shown = 0;
    table.tBodies[0].replaceChildren();
    table.hidden = false;
    fill();
    var groups = document.querySelectorAll(".cluster"), sites = document.querySelectorAll("#site-table tbody tr"), seen = [0, 0];
    groups.forEach(function (e) {
      e.hidden = active && !clusterMatches(e, list);
      seen[0] += e.hidden ? 0 : 1;
    });
    document.querySelectorAll(".family, .group").forEach(function (g) {
      g.hidden = active && !g.querySelector(".cluster:not([hidden])");
      if (active && !g.hidden) { g.open = true; }
    });
    // A site is found by its own text, or through the divergences found at it where the terms are about warps.
    var words = list.filter(function (t) { return t.field === "text"; }), through = null;
    if (words.length < list.length) {
      through = new Set(matches.map(function (i) { return data.sites[data.rows[i][4]].id; }));
    }
    sites.forEach(function (e) {
      e.hidden = active && !(through ? through.has(e.dataset.site) : words.every(function (t) { return e.dataset.find.indexOf(t.text) >= 0; }));
      seen[1] += e.hidden ? 0 : 1;
    });
    found.textContent = active ? plural(matches.length, "divergence", "divergences") + ", " + plural(seen[0], "cluster", "clusters") + ", " + plural(seen[1], "site", "sites") : "";
    note.hidden = true;
  }
  function find(text) {
    query.value = text;
    apply();
  }
  if (table) {
    search.hidden = false;
    var timer = 0;
    query.addEventListener("input", function () {
      clearTimeout(timer);
      timer = setTimeout(apply, data.rows.length > 2000 ? 150 : 0);
    });
    more.addEventListener("click", fill);
    apply();
  }

  // ---- map of warps ----
  var canvas = byId("map"), at = byId("at"), map = data.map, geometry = null, cursor = -1, only = null, owner = null;
  function cells() { return Math.ceil(map.slots / map.scale); }
  // Each cell holds the place of its cluster in the list, plus one; clusters that come first win, what does not count loses.
  function paintCells() {
    owner = new Uint16Array(cells());
    var order = data.clusters.map(function (c, i) { return i; }).filter(function (i) { return data.clusters[i].colour !== "muted"; });
    data.clusters.forEach(function (c, i) { if (c.colour === "muted") { order.push(i); } });
    order.reverse().forEach(function (i) {
      var r = data.clusters[i].ranges;
      for (var k = 0; k < r.length; k += 2) {
        var from = Math.floor(r[k] / map.scale), to = Math.min(Math.floor(r[k + 1] / map.scale), owner.length - 1);
        for (var c = from; c <= to; c++) { owner[c] = i + 1; }
      }
    });
  }
  // A line of the map is as many blocks as fit; a block is a column of its warps. Without blocks every column is one warp.
  function layout() {
    var width = Math.max(200, canvas.parentElement.clientWidth), rows = map.scale === 1 && perBlock > 1 && perBlock <= 64 ? perBlock : 1;
    var columns = Math.ceil(cells() / rows), size = 2, gap = rows > 1 ? 3 : 0;
    for (var s = 16; s >= 2; s--) {
      var perLine = Math.max(1, Math.floor(width / s)), lines = Math.ceil(columns / perLine);
      size = s;
      if (lines * (rows * s + gap) <= 420) { break; }
    }
    var fit = Math.max(1, Math.floor(width / size));
    geometry = { rows: rows, columns: columns, size: size, perLine: fit, lines: Math.ceil(columns / fit), pitch: rows * size + gap, width: width };
  }
  function boxOf(cell) {
    var g = geometry, column = Math.floor(cell / g.rows);
    return [column % g.perLine * g.size, Math.floor(column / g.perLine) * g.pitch + cell % g.rows * g.size];
  }
  function draw() {
    var g = geometry, ratio = window.devicePixelRatio || 1, height = Math.max(g.size, g.lines * g.pitch);
    canvas.width = Math.round(g.width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    var ctx = canvas.getContext("2d"), style = getComputedStyle(document.documentElement), pad = g.size >= 6 ? 1 : 0;
    function colour(name) { return style.getPropertyValue("--" + name).trim(); }
    var empty = colour("cell"), paints = data.clusters.map(function (c) { return colour(c.colour); });
    ctx.scale(ratio, ratio);
    for (var i = 0; i < owner.length; i++) {
      var box = boxOf(i), who = owner[i];
      ctx.globalAlpha = who && only && !only(data.clusters[who - 1]) ? .15 : 1;
      ctx.fillStyle = who ? paints[who - 1] : empty;
      ctx.fillRect(box[0], box[1], g.size - pad, g.size - pad);
    }
    ctx.globalAlpha = 1;
    if (cursor >= 0) {
      var here = boxOf(cursor), extra = Math.max(0, 8 - g.size) / 2;
      ctx.strokeStyle = colour("ink");
      ctx.lineWidth = 2;
      ctx.strokeRect(Math.max(1, here[0] - 1 - extra), Math.max(1, here[1] - 1 - extra), g.size + 1 + 2 * extra, g.size + 1 + 2 * extra);
    }
  }
  function cellAt(event) {
    var g = geometry, box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    var line = Math.floor(y / g.pitch), row = Math.floor((y - line * g.pitch) / g.size), column = Math.floor(x / g.size);
    var cell = (line * g.perLine + column) * g.rows + row;
    return column >= 0 && column < g.perLine && row >= 0 && row < g.rows && cell >= 0 && cell < owner.length ? cell : -1;
  }
  function say(cell) {
    if (cell < 0) { at.textContent = "\u00a0"; return; }
    var first = cell * map.scale, last = Math.min(first + map.scale, map.slots) - 1, who = owner[cell];
    var text = map.scale > 1 ? "warps " + grouped(first) + " to " + grouped(last) : placeText(first);
    at.textContent = text + ": " + (who ? "cluster " + data.clusters[who - 1].id + ", " + data.clusters[who - 1].label : "does not differ, or was not recorded");
  }
  function showWarp(cell) {
    var first = cell * map.scale, hash = "#warp-" + first;
    if (location.hash === hash) { follow(); } else { location.hash = hash; }
  }
  // A colour is a family: the clusters that begin in the same way. A click shows one family alone.
  function legend() {
    var box = byId("legend"), listed = 0, rest = 0;
    data.families.forEach(function (f, at) {
      if (f.colour === "rest") { rest++; }
      if (f.colour === "rest" || listed >= 16) { return; }
      listed++;
      var b = make("button");
      b.setAttribute("type", "button");
      b.setAttribute("aria-pressed", "false");
      b.append(make("i", undefined, "swatch " + f.colour), f.label);
      b.addEventListener("click", function () {
        var on = b.getAttribute("aria-pressed") === "false";
        box.querySelectorAll("button").forEach(function (e) { e.setAttribute("aria-pressed", String(e === b && on)); });
        only = on ? function (c) { return c.family === at; } : null;
        draw();
      });
      box.append(b);
    });
    if (rest) {
      var others = make("span");
      others.append(make("i", undefined, "swatch rest"), rest + " more");
      box.append(others);
    }
  }
  if (canvas && map) {
    paintCells();
    layout();
    legend();
    draw();
    canvas.addEventListener("mousemove", function (e) { say(cellAt(e)); });
    canvas.addEventListener("mouseleave", function () { say(cursor); });
    canvas.addEventListener("click", function (e) {
      var cell = cellAt(e);
      if (cell >= 0) { showWarp(cell); }
    });
    canvas.addEventListener("keydown", function (e) {
      var g = geometry, step = { ArrowLeft: -g.rows, ArrowRight: g.rows, ArrowUp: -1, ArrowDown: 1 }[e.key];
      if (g.rows === 1 && (e.key === "ArrowUp" || e.key === "ArrowDown")) { step *= g.perLine; }
      if (step) {
        cursor = Math.min(Math.max(0, Math.max(cursor, 0) + step), owner.length - 1);
        say(cursor);
        draw();
        e.preventDefault();
      } else if (e.key === "Enter" && cursor >= 0) {
        showWarp(cursor);
      }
    });
    window.addEventListener("resize", function () { layout(); draw(); });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }

  // ---- links ----
  var marked = null;
  function reveal(e) {
    for (var p = e; p; p = p.parentElement) {
      if (p.tagName === "DETAILS") { p.open = true; }
      if (p.hidden && p.id !== "search") { p.hidden = false; }
    }
    if (marked) { marked.classList.remove("target"); }
    marked = e;
    e.classList.add("target");
    e.scrollIntoView({ block: "center" });
  }
  function follow() {
    var hash = "";
    try { hash = decodeURIComponent(location.hash.slice(1)); } catch (e) { return; }
    var m = /^(cluster|warp)-(\d+)$/.exec(hash), e = byId(hash);
    if (m && m[1] === "warp" && table) {
      var warp = Number(m[2]), mine = clustersOf(warp);
      find("warp:" + warp);
      if (canvas && map && warp < map.slots) {
        cursor = Math.floor(warp / map.scale);
        say(cursor);
        draw();
      }
      note.hidden = false;
      note.textContent = placeText(warp) + (mine.length ? " is in cluster " + mine.map(function (c) { return c.id; }).join(", ") + ". " : " is in no cluster on this page. ") +
        (matches.length ? "" : "None of its divergences is listed on this page.");
      (canvas && map ? byId("warps") : byId("divergences")).scrollIntoView({ block: "start" });
    } else if (hash.indexOf("site-") === 0 && e) {
      if (query && query.value) { find(""); }
      reveal(e);
    } else if (m && m[1] === "cluster" && e) {
      if (query && query.value) { find(""); }
      reveal(e);
      if (map && canvas) {
        var id = Number(m[2]);
        only = function (c) { return c.id === id; };
        draw();
      }
    }
  }
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", function (e) { // the same link again
    var a = e.target.closest ? e.target.closest("a[href^='#']") : null;
    if (a && a.getAttribute("href") === location.hash) { follow(); }
  });
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) { return; }
    if (e.key === "Escape" && query && (query.value || document.activeElement === query)) {
      find("");
      query.blur();
      return;
    }
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) { return; }
    if (e.key === "/" && query) {
      query.focus();
      query.select();
      e.preventDefault();
    } else if (e.key === "n" || e.key === "p") {
      var all = Array.prototype.slice.call(document.querySelectorAll(".cluster:not([hidden])"));
      var here = all.indexOf(marked), next = e.key === "n" ? here + 1 : (here < 0 ? all.length : here) - 1;
      if (all[next]) { location.hash = "#" + all[next].id; }
    }
  });
  if (location.hash) { follow(); }
})();
