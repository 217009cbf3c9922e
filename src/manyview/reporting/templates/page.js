// What every page does: themed charts drawn when they come into sight, sortable
// tables, copy buttons, the theme switch, the current section, and printing.
// Scripts stand at the end of the page, so that all its elements are there.
"use strict";
window.manyview = (() => {
  const root = document.documentElement;
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const THEMED = ["ink", "muted", "line", "card", "accent", "wash", "tint"];
  const HEATMAP = {
    zmin: 0, zmax: 1, showscale: false, xgap: 2, ygap: 2,
    colorscale: [[0, "theme:wash"], [1, "theme:tint"]],
    textfont: { size: 12, color: "theme:ink" },
  };
  const listeners = [];
  // Of the clusters, as the reader has them.
  const names = all("[data-rename]").map((input) => input.defaultValue);

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

  // Clusters stand on one axis of some charts, by number: names may be long, alike, and
  // changed by the reader.
  const nameClusters = (spec, layout) => {
    const shown = names.map(escaped);
    for (const trace of spec.data) {
      trace.hovertext = trace.z ? trace.z.map((row, j) => row.map(() => shown[j])) : shown;
    }
    const shortened = (name) => name.length > 20 ? `${name.slice(0, 19)}…` : name;
    Object.assign(layout[`${spec.clusters}axis`], {
      tickvals: names.map((_, j) => j), ticktext: names.map((name) => escaped(shortened(name))),
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
  const figures = all("[data-figure]");
  whenNear(figures, draw);

  const repaint = () => {
    for (const element of figures.filter((figure) => "drawn" in figure.dataset)) {
      if (element.offsetParent) draw(element);
      else {
        // In a closed fold it has no size: drawn anew when the fold is opened.
        delete element.dataset.drawn;
        whenNear([element], draw);
      }
    }
    listeners.forEach((listener) => listener());
  };

  const rename = (cluster, name) => {
    names[cluster] = name;
    for (const element of all(`[data-cluster-name="${cluster}"]`)) element.textContent = name;
    repaint();
  };

  // The theme: that of the system, until the reader switches.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", repaint);
  document.getElementById("theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
    root.dataset.theme = isDark ? "light" : "dark";
    repaint();
  });

  // Tables are sorted by clicking a heading: numbers first from the top, words from A.
  const sortBy = (table, index, numeric, descending) => {
    const body = table.tBodies[0];
    const key = (row) => row.cells[index].dataset.sort;
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const order = numeric ? x - y : x.localeCompare(y, undefined, { numeric: true });
      return descending ? -order : order;
    };
    body.append(...[...body.rows].sort(compare));
  };
  for (const table of all("table[data-sortable]")) {
    const cells = [...table.tHead.rows[0].cells];
    cells.forEach((cell, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener("click", () => {
        const numeric = cell.classList.contains("number");
        const before = cell.getAttribute("aria-sort");
        const descending = before ? before === "ascending" : numeric;
        cells.forEach((other) => other.removeAttribute("aria-sort"));
        cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sortBy(table, index, numeric, descending);
      });
    });
  }

  for (const button of all("[data-copy]")) {
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

  // The section in sight is marked in the contents.
  const sections = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const link = document.querySelector(`.contents a[href="#${target.id}"]`);
      if (isIntersecting) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-25% 0px -74.9% 0px" });
  all("main > section").forEach((section) => sections.observe(section));

  // On paper, all folds are open and all colours light.
  let before = null;
  addEventListener("beforeprint", () => {
    before = { theme: root.dataset.theme, closed: all("details:not([open])") };
    before.closed.forEach((element) => { element.open = true; });
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

  return { all, readData, colors, escaped, whenNear, names, rename, draw,
           onRepaint: (listener) => listeners.push(listener) };
})();
