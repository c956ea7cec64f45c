(function () {
  "use strict";
  var search = document.getElementById("search"), query = document.getElementById("query"), found = document.getElementById("found");
  var launches = Array.prototype.slice.call(document.querySelectorAll("#launches .cluster")), marked = null;

  // Every word must be in a launch: its number, kernel, state, site or kind.
  function apply() {
    var words = query.value.toLowerCase().split(/\s+/).filter(Boolean), seen = 0;
    launches.forEach(function (e) {
      e.hidden = !words.every(function (w) { return e.dataset.find.indexOf(w) >= 0; });
      seen += e.hidden ? 0 : 1;
    });
    document.querySelectorAll("#launches .group").forEach(function (g) {
      g.hidden = words.length > 0 && !g.querySelector(".cluster:not([hidden])");
      if (words.length > 0 && !g.hidden) { g.open = true; }
    });
    found.textContent = words.length ? seen + (seen === 1 ? " launch" : " launches") : "";
  }
  function follow() {
    var id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch (e) { return; }
    var e = document.getElementById(id);
    if (!e || !/^(launch|cluster|site)-/.test(id)) { return; }
    if (query.value) {
      query.value = "";
      apply();
    }
    for (var p = e; p; p = p.parentElement) {
      if (p.tagName === "DETAILS") { p.open = true; }
    }
    if (marked) { marked.classList.remove("target"); }
    marked = e;
    e.classList.add("target");
    e.scrollIntoView({ block: "center" });
  }
  search.hidden = false;
  query.addEventListener("input", apply);
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", function (e) { // the same link again
    var a = e.target.closest ? e.target.closest("a[href^='#']") : null;
    if (a && a.getAttribute("href") === location.hash) { follow(); }
  });
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) { return; }
    if (e.key === "Escape" && (query.value || document.activeElement === query)) {
      query.value = "";
      apply();
      query.blur();
    } else if (e.key === "/" && document.activeElement !== query) {
      query.focus();
      query.select();
      e.preventDefault();
    }
  });
  if (location.hash) { follow(); }
})();
