// Maps of the samples: one canvas per view, all linked. Hovering over a sample marks it
// in every map; choosing a cluster (or clicking one of its samples) fades the others.
// Drawn by hand because thousands of linked points in many maps are too much for SVG.
"use strict";
(() => {
  const EXTENT = 4095;      // coordinates come as whole numbers from 0 to this
  const MARGIN = 10;        // free border of a map, in pixels
  const AXES = 22;          // room for the names of the axes, left and below
  const REACH = 14;         // how far from a sample the pointer may be, in pixels
  const DRAG = 4;           // a pointer that moves less has clicked
  const NOISE = "#8a8f98";
  // Viridis: even steps look even, in grey and to colour-blind readers too.
  const SCALE = ["#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c",
                 "#22a884", "#44bf70", "#7ad151", "#bddf26", "#fde725"];

  const host = document.getElementById("stage");
  if (!host) return;
  const byId = (id) => document.getElementById(id);
  const data = manyview.readData("data-map");
  const tip = byId("map-tip");
  const chips = manyview.all("[data-cluster]");
  const state = { cluster: null, sample: null, pinned: false, by: "cluster",
                  selected: null, lasso: null };
  const samples = data.ids.map((_, i) => i);
  const nameOf = (j) => j < 0 ? "noise" : manyview.names[j];

  const maps = manyview.all("canvas", host).map((canvas, index) => ({
    canvas, ...data.maps[index], seen: false, side: 0, zoom: 1, cx: 0.5, cy: 0.5,
    left: index ? MARGIN : MARGIN + AXES,
    samples: samples.filter((i) => data.maps[index].x[i] !== null),
  }));
  const main = maps[0];

  const scaleColor = (share) => {
    const place = share * (SCALE.length - 1);
    const low = Math.min(Math.floor(place), SCALE.length - 2);
    const part = (color, at) => parseInt(color.slice(at, at + 2), 16);
    const mix = [1, 3, 5].map((at) => Math.round(
      part(SCALE[low], at) + (place - low) * (part(SCALE[low + 1], at) - part(SCALE[low], at))));
    return `rgb(${mix.join(",")})`;
  };
  const colorOf = (i) => {
    if (state.by === "confidence") return scaleColor(data.confidence[i]);
    if (state.by === "class") return data.classColors[data.classes[i]];
    const labels = state.by === "cluster" ? data.labels
      : data.viewLabels[Number(state.by.slice("view-".length))];
    return labels[i] < 0 ? NOISE : data.colors[labels[i]];
  };

  const spanOf = (map) => map.side - map.left - MARGIN;
  const place = (map, i) => {
    const x = (map.x[i] / EXTENT - map.cx) * map.zoom + 0.5;
    const y = (map.y[i] / EXTENT - map.cy) * map.zoom + 0.5;
    return [map.left + spanOf(map) * x, MARGIN + spanOf(map) * (1 - y)];
  };
  const radiusOf = (map) => Math.max(1.6, Math.min(
    3.6, map.side / 6 / Math.sqrt(samples.length) + 1) * Math.min(2, map.zoom ** 0.3));
  const isFaded = (i) => (state.cluster !== null && data.labels[i] !== state.cluster)
    || (state.selected !== null && !state.selected.has(i));

  const nameAxes = (pen, map, theme) => {
    const middle = map.left + spanOf(map) / 2;
    pen.fillStyle = theme.muted;
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = "center";
    pen.fillText(map.axes[0], middle, map.side - 8);
    pen.translate(15, map.side - middle);
    pen.rotate(-Math.PI / 2);
    pen.fillText(map.axes[1], 0, 0);
  };

  const paint = (map) => {
    const ratio = window.devicePixelRatio || 1;
    map.side = map.canvas.clientWidth;
    map.canvas.width = map.canvas.height = Math.round(map.side * ratio);
    const pen = map.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const theme = manyview.colors();
    const radius = radiusOf(map);
    pen.save();
    pen.beginPath();
    pen.rect(map.left - 6, 0, map.side, map.side - map.left + 6);
    pen.clip();
    const dot = (i, size) => {
      const [x, y] = place(map, i);
      pen.beginPath();
      pen.arc(x, y, size, 0, 2 * Math.PI);
      pen.fillStyle = colorOf(i);
    };
    const anyFaded = state.cluster !== null || state.selected !== null;
    for (const faded of [true, false]) {
      pen.globalAlpha = faded ? 0.07 : anyFaded ? 0.9 : 0.75;
      for (const i of map.samples.filter((j) => isFaded(j) === faded)) {
        dot(i, radius);
        pen.fill();
      }
    }
    pen.globalAlpha = 1;
    if (state.sample !== null && map.x[state.sample] !== null) {
      dot(state.sample, radius + 4);
      pen.lineWidth = 2.5;
      pen.strokeStyle = theme.ink;
      pen.stroke();
      dot(state.sample, radius + 1);
      pen.fill();
    }
    if (map === main && state.lasso) {
      pen.beginPath();
      state.lasso.forEach(([x, y]) => pen.lineTo(x, y));
      pen.closePath();
      pen.strokeStyle = theme.accent;
      pen.lineWidth = 1.5;
      pen.setLineDash([5, 4]);
      pen.stroke();
    }
    pen.restore();
    if (map === main) nameAxes(pen, map, theme);
  };
  const paintAll = () => maps.filter((map) => map.seen).forEach(paint);

  const describe = (i) => {
    const lines = [data.ids[i], `cluster ${nameOf(data.labels[i])}`,
                   `confidence ${data.confidence[i].toFixed(2)}`];
    if (data.classes) lines.push(`class ${data.classNames[data.classes[i]]}`);
    return lines;
  };

  // textContent, never innerHTML: sample ids are the user's text.
  const showTip = (map, i) => {
    tip.hidden = i === null;
    if (i === null) return;
    tip.replaceChildren(...describe(i).map((line, row) => {
      const element = document.createElement(row ? "span" : "strong");
      element.textContent = line;
      return element;
    }));
    if (!map || map.x[i] === null) map = maps.find((m) => m.seen && m.x[i] !== null);
    const frame = host.getBoundingClientRect();
    const box = map.canvas.getBoundingClientRect();
    const [x, y] = place(map, i);
    const left = box.left - frame.left + x + 12;
    tip.style.left = `${Math.max(0, Math.min(left, frame.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${box.top - frame.top + y + 14}px`;
  };

  const at = (map, event) => {
    const box = map.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  const nearest = (map, event) => {
    const [px, py] = at(map, event);
    let [best, least] = [null, REACH * REACH];
    for (const i of map.samples.filter((j) => !isFaded(j))) {
      const [x, y] = place(map, i);
      const distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  };

  const mark = (map, i) => {
    if (i !== state.sample) {
      state.sample = i;
      paintAll();
    }
    showTip(map, i);
  };

  const highlight = (cluster) => {
    state.cluster = cluster;
    host.dataset.highlight = cluster ?? "";
    chips.forEach((chip) => chip.setAttribute(
      "aria-pressed", String(Number(chip.dataset.cluster) === cluster)));
    paintAll();
  };
  const toggle = (cluster) => highlight(
    cluster < 0 || state.cluster === cluster ? null : cluster);

  // Selection with the lasso.
  const select = (chosen) => {
    state.selected = chosen?.size ? chosen : null;
    const counts = new Map();
    for (const i of chosen ?? []) {
      const name = nameOf(data.labels[i]);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([name, n]) => `${n} in ${name}`);
    byId("map-selection").textContent = !chosen ? "" : !chosen.size ? "no samples selected"
      : `${chosen.size} samples selected: ${parts.join(", ")}`;
    byId("export-selection").hidden = !state.selected;
    paintAll();
  };
  const isInside = (polygon, [x, y]) => polygon.reduce((inside, [x1, y1], k) => {
    const [x2, y2] = polygon[(k + 1) % polygon.length];
    const crosses = (y1 > y) !== (y2 > y) && x < (x2 - x1) * (y - y1) / (y2 - y1) + x1;
    return crosses ? !inside : inside;
  }, false);
  const closeLasso = () => {
    const polygon = state.lasso;
    state.lasso = null;
    select(new Set(main.samples.filter((i) => isInside(polygon, place(main, i)))));
  };

  // Zoom of the large map, about a point of the canvas.
  const zoomBy = (factor, [px, py] = [main.side / 2, main.side / 2]) => {
    const span = spanOf(main);
    const before = main.zoom;
    main.zoom = Math.max(1, Math.min(40, main.zoom * factor));
    const shift = (1 / before - 1 / main.zoom) / span;
    main.cx += (px - main.left - span / 2) * shift;
    main.cy -= (py - MARGIN - span / 2) * shift;
    if (main.zoom === 1) main.cx = main.cy = 0.5;
    paint(main);
    if (state.sample !== null) showTip(main, state.sample);
  };

  let drag = null;
  const lassoButton = byId("map-lasso");
  const isLasso = () => lassoButton.getAttribute("aria-pressed") === "true";
  main.canvas.addEventListener("pointerdown", (event) => {
    drag = { from: [event.clientX, event.clientY], cx: main.cx, cy: main.cy, moved: false };
    if (isLasso()) {
      state.lasso = [at(main, event)];
      main.canvas.setPointerCapture(event.pointerId);
    }
  });
  addEventListener("pointerup", () => {
    if (state.lasso) closeLasso();
    // The click comes after this.
    setTimeout(() => { drag = null; });
  });
  const moveMain = (event) => {
    const [dx, dy] = [event.clientX - drag.from[0], event.clientY - drag.from[1]];
    drag.moved ||= Math.hypot(dx, dy) > DRAG;
    if (state.lasso) {
      state.lasso.push(at(main, event));
    } else if (main.zoom > 1 && drag.moved) {
      main.cx = drag.cx - dx / spanOf(main) / main.zoom;
      main.cy = drag.cy + dy / spanOf(main) / main.zoom;
    } else return;
    paint(main);
  };
  main.canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300), at(main, event));
  }, { passive: false });
  lassoButton.addEventListener("click", () => {
    lassoButton.setAttribute("aria-pressed", String(!isLasso()));
    main.canvas.classList.toggle("lasso", isLasso());
  });
  byId("map-in").addEventListener("click", () => zoomBy(1.6));
  byId("map-out").addEventListener("click", () => zoomBy(1 / 1.6));
  byId("map-all").addEventListener("click", () => zoomBy(0));

  maps.forEach((map) => {
    map.canvas.addEventListener("pointermove", (event) => {
      if (drag && map === main) moveMain(event);
      if (!state.pinned && !state.lasso) mark(map, nearest(map, event));
    });
    map.canvas.addEventListener("pointerleave", () => {
      if (!state.pinned) mark(map, null);
    });
    map.canvas.addEventListener("click", (event) => {
      if (drag?.moved || (map === main && isLasso())) return;
      state.pinned = false;
      const i = nearest(map, event);
      if (i === null) highlight(null); else { mark(map, i); toggle(data.labels[i]); }
    });
  });
  chips.forEach((chip) => chip.addEventListener(
    "click", () => toggle(Number(chip.dataset.cluster))));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    state.pinned = false;
    state.lasso = null;
    mark(null, null);
    select(null);
    highlight(null);
  });

  const legends = manyview.all("[data-legend]");
  host.querySelector(".scale").style.background = `linear-gradient(90deg, ${SCALE.join(",")})`;
  byId("map-color").addEventListener("change", (event) => {
    state.by = event.target.value;
    const shown = state.by.startsWith("view-") ? "cluster" : state.by;
    legends.forEach((legend) => { legend.hidden = legend.dataset.legend !== shown; });
    paintAll();
  });

  // Finding: an exact id first, also of samples that are not drawn, then a beginning.
  const every = manyview.readData("data-samples");
  const lower = data.ids.map((id) => id.toLowerCase());
  const findHidden = (text) => {
    const i = every.ids ? every.ids.findIndex((id) => id.toLowerCase() === text)
      : /^\d+$/.test(text) && Number(text) < every.labels.length ? Number(text) : -1;
    return i < 0 ? null
      : `${every.ids ? every.ids[i] : i}, cluster ${nameOf(every.labels[i])}, confidence `
        + `${(every.confidence[i] / 1000).toFixed(2)}: not drawn on the maps`;
  };
  const find = (text) => {
    const exact = lower.indexOf(text);
    if (exact >= 0) return [exact, describe(exact).join(", ")];
    const hidden = every && findHidden(text);
    if (hidden) return [null, hidden];
    const found = samples.filter((i) => lower[i].startsWith(text));
    if (!found.length) return [null, `not among the samples${every ? "" : " shown"}`];
    return [found[0], `no sample is called so; the first of ${found.length} that begin so: `
                      + describe(found[0]).join(", ")];
  };
  byId("map-find").addEventListener("input", (event) => {
    const text = event.target.value.trim().toLowerCase();
    const [found, reply] = text ? find(text) : [null, ""];
    state.pinned = found !== null;
    mark(null, found);
    byId("map-answer").textContent = reply;
  });

  manyview.whenNear(maps.map((map) => map.canvas), (canvas) => {
    const map = maps.find((m) => m.canvas === canvas);
    map.seen = true;
    paint(map);
  });
  manyview.onRepaint(() => {
    maps.forEach((map) => { map.seen = true; });
    paintAll();
  });
  let pending = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(paintAll);
  });

  // Export of labels and maps.
  byId("export-labels")?.addEventListener("click", () => manyview.saveTable(
    every.labels.map((label, i) => [every.ids ? every.ids[i] : i, label, nameOf(label),
                                    (every.confidence[i] / 1000).toFixed(3)]), "labels.csv"));
  byId("export-selection").addEventListener("click", () => manyview.saveTable(
    [...state.selected].map((i) => [data.ids[i], data.labels[i], nameOf(data.labels[i]),
                                    data.confidence[i].toFixed(3)]), "selected.csv"));
  const svgOf = (map) => {
    const { escaped, colors } = manyview;
    const { card, muted } = colors();
    const middle = map.side / 2;
    const radius = radiusOf(map).toFixed(1);
    const dots = map.samples.map((i) => {
      const [x, y] = place(map, i).map((v) => v.toFixed(1));
      return `<circle cx="${x}" cy="${y}" r="${radius}" fill="${colorOf(i)}" `
        + `fill-opacity="${isFaded(i) ? 0.07 : 0.8}"/>`;
    });
    const words = map !== main ? "" : `<g fill="${muted}" font-family="sans-serif" `
      + `font-size="12" text-anchor="middle">`
      + `<text x="${middle}" y="${map.side - 8}">${escaped(map.axes[0])}</text>`
      + `<text transform="translate(15 ${middle}) rotate(-90)">${escaped(map.axes[1])}</text></g>`;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${map.side}" height="${map.side}">`
      + `<rect width="100%" height="100%" fill="${card}"/>${dots.join("")}${words}</svg>`;
  };
  maps.forEach((map, index) => manyview.onSave(`map-${index}`, (format, name) => {
    paint(map);
    if (format === "svg") {
      manyview.save(new Blob([svgOf(map)], { type: "image/svg+xml" }), name);
      return;
    }
    // The page's colour lies behind a map, not in it.
    const pen = map.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalCompositeOperation = "destination-over";
    pen.fillStyle = manyview.colors().card;
    pen.fillRect(0, 0, map.canvas.width, map.canvas.height);
    map.canvas.toBlob((blob) => manyview.save(blob, name));
    paint(map);
  }));
})();
