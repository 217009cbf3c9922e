// What every page does: themed charts drawn when they come into sight, sortable
// tables, copy buttons, the theme switch, the current section, and printing.
"use strict";
window.manyview = (() => {
  const root = document.documentElement;
  const THEMED = ["ink", "muted", "line", "card", "accent", "wash", "tint"];
  const listeners = [];
  // Of the clusters, as the reader has them.
  const names = [...document.querySelectorAll("[data-rename]")].map((input) => input.defaultValue);
  const HEATMAP = {
    zmin: 0, zmax: 1, showscale: false, xgap: 2, ygap: 2,
    colorscale: [[0, "theme:wash"], [1, "theme:tint"]],
    textfont: { size: 12, color: "theme:ink" },
  };

  const readData = (id) => JSON.parse(document.getElementById(id).textContent);

  const colors = () => {
    const style = getComputedStyle(root);
    return Object.fromEntries(
      THEMED.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  };

  // A colour called "theme:ink" becomes that of the current theme; names stay as they are.
  const fill = (value, theme, isColor = false) => {
    if (Array.isArray(value)) return value.map((item) => fill(item, theme, isColor));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(
        ([key, item]) => [key, fill(item, theme, /color/.test(key))]));
    }
    const themed = isColor && typeof value === "string" && value.startsWith("theme:");
    return themed ? theme[value.slice(6)] : value;
  };

  const layoutOf = (spec, theme) => {
    const layout = fill(spec.layout, theme);
    const axis = { gridcolor: theme.line, linecolor: theme.line, zerolinecolor: theme.line,
                   automargin: true, fixedrange: true };
    for (const key of Object.keys(layout).filter((name) => /axis/.test(name))) {
      const title = { text: layout[key].title, font: { size: 13, color: theme.muted } };
      layout[key] = { ...axis, ...layout[key], title };
    }
    return {
      // Several traces have a legend above them.
      margin: { l: 56, r: 16, t: spec.data.length > 1 ? 34 : 12, b: 40 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, traceorder: "normal" },
      hovermode: "closest", paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: theme.ink, size: 13, family: getComputedStyle(document.body).fontFamily },
      hoverlabel: { bgcolor: theme.card, bordercolor: theme.line, font: { color: theme.ink } },
      ...layout,
    };
  };

  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const shortened = (text) => text.length > 20 ? `${text.slice(0, 19)}…` : text;

  // Clusters stand on one axis of some charts, by number: names may be long, alike, and
  // changed by the reader.
  const nameClusters = (spec, layout) => {
    const shown = names.map(escaped);
    for (const trace of spec.data) {
      trace.hovertext = trace.z ? trace.z.map((row, j) => row.map(() => shown[j])) : shown;
    }
    Object.assign(layout[`${spec.clusters}axis`], {
      tickvals: names.map((_, j) => j),
      ticktext: names.map((name) => escaped(shortened(name))),
    });
  };

  const draw = (element) => {
    const spec = readData(element.dataset.figure);
    const theme = colors();
    const printing = root.classList.contains("printing");
    const layout = layoutOf(spec, theme);
    if (spec.clusters) nameClusters(spec, layout);
    // On paper the size is said, not left to Plotly, which would resize too late.
    if (printing) {
      Object.assign(layout, { width: element.clientWidth, height: element.clientHeight,
                              autosize: false });
    }
    element.dataset.drawn = "";
    const traces = spec.data.map(
      (trace) => trace.type === "heatmap" ? { ...HEATMAP, ...trace } : trace);
    return Plotly.react(element, fill(traces, theme), layout,
                        { responsive: !printing, displayModeBar: false });
  };

  const figures = [...document.querySelectorAll("[data-figure]")];
  const drawn = () => figures.filter((element) => "drawn" in element.dataset);

  // Charts are drawn when they come near the window: a long page opens at once.
  const whenNear = (elements, act) => {
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((e) => e.isIntersecting)) {
        watch.unobserve(entry.target);
        act(entry.target);
      }
    }, { rootMargin: "400px" });
    elements.forEach((element) => watch.observe(element));
  };

  const repaint = () => {
    for (const element of drawn()) {
      if (element.offsetParent) draw(element);
      else {
        // In a closed fold it has no size: drawn anew when the fold is opened.
        delete element.dataset.drawn;
        whenNear([element], draw);
      }
    }
    listeners.forEach((listener) => listener());
  };

  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

  const setUpTheme = () => {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    document.getElementById("theme").addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      repaint();
    });
  };

  const sortBy = (table, index, descending) => {
    const body = table.tBodies[0];
    const key = (row) => row.cells[index].dataset.sort;
    const numeric = table.tHead.rows[0].cells[index].classList.contains("number");
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const order = numeric ? x - y : x.localeCompare(y, undefined, { numeric: true });
      return descending ? -order : order;
    };
    body.append(...[...body.rows].sort(compare));
  };

  const setUpTables = () => {
    for (const table of document.querySelectorAll("table[data-sortable]")) {
      [...table.tHead.rows[0].cells].forEach((cell, index) => {
        const button = document.createElement("button");
        button.type = "button";
        button.append(...cell.childNodes);
        cell.append(button);
        button.addEventListener("click", () => {
          // Numbers first from the top, words from A.
          const first = cell.classList.contains("number") ? "descending" : "ascending";
          const other = first === "ascending" ? "descending" : "ascending";
          const order = cell.getAttribute("aria-sort") === first ? other : first;
          [...table.tHead.rows[0].cells].forEach((c) => c.removeAttribute("aria-sort"));
          cell.setAttribute("aria-sort", order);
          sortBy(table, index, order === "descending");
        });
      });
    }
  };

  const setUpCopying = () => {
    for (const button of document.querySelectorAll("[data-copy]")) {
      button.addEventListener("click", async () => {
        const code = button.parentElement.querySelector("code");
        try {
          await navigator.clipboard.writeText(code.textContent);
          button.textContent = "Copied";
        } catch {
          // No clipboard for this page: leave the text selected instead.
          getSelection().selectAllChildren(code);
          button.textContent = "Selected";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
    }
  };

  const setUpContents = () => {
    const links = new Map([...document.querySelectorAll(".contents a")]
      .map((link) => [link.getAttribute("href").slice(1), link]));
    const watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const link = links.get(target.id);
        if (isIntersecting) link?.setAttribute("aria-current", "true");
        else link?.removeAttribute("aria-current");
      }
    }, { rootMargin: "-25% 0px -74.9% 0px" });
    document.querySelectorAll("main > section[id]").forEach((s) => watch.observe(s));
  };

  const setUpPrinting = () => {
    let before = null;
    addEventListener("beforeprint", () => {
      const closed = [...document.querySelectorAll("details:not([open])")];
      before = { theme: root.dataset.theme, closed };
      closed.forEach((element) => { element.open = true; });
      root.dataset.theme = "light";
      root.classList.add("printing");
      figures.forEach(draw);
      listeners.forEach((listener) => listener());
    });
    addEventListener("afterprint", () => {
      before.closed.forEach((element) => { element.open = false; });
      if (before.theme) root.dataset.theme = before.theme; else delete root.dataset.theme;
      root.classList.remove("printing");
      repaint();
    });
  };

  const rename = (cluster, name) => {
    names[cluster] = name;
    for (const element of document.querySelectorAll(`[data-cluster-name="${cluster}"]`)) {
      element.textContent = name;
    }
    repaint();
  };

  document.addEventListener("DOMContentLoaded", () => {
    whenNear(figures, draw);
    setUpTheme();
    setUpTables();
    setUpCopying();
    setUpContents();
    setUpPrinting();
  });

  return { readData, colors, escaped, whenNear, names, rename, draw,
           onRepaint: (listener) => listeners.push(listener) };
})();
