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

  const scaleColor = (share) => {
    const place = Math.max(0, Math.min(1, share)) * (SCALE.length - 1);
    const low = Math.min(Math.floor(place), SCALE.length - 2);
    const part = (color, at) => parseInt(color.slice(at, at + 2), 16);
    const mix = [1, 3, 5].map((at) => Math.round(
      part(SCALE[low], at) + (place - low) * (part(SCALE[low + 1], at) - part(SCALE[low], at))));
    return `rgb(${mix.join(",")})`;
  };

  const start = () => {
    const host = document.getElementById("stage");
    if (!host) return;
    const data = manyview.readData("data-map");
    const tip = document.getElementById("map-tip");
    const chips = [...document.querySelectorAll("[data-cluster]")];
    const state = { cluster: null, sample: null, pinned: false, by: "cluster",
                    selected: null, lasso: null };
    const count = data.ids.length;
    const nameOf = (j) => j < 0 ? "noise" : manyview.names[j];

    const maps = [...host.querySelectorAll("canvas")].map((canvas, index) => ({
      canvas, ...data.maps[index], index, seen: false, side: 0, zoom: 1, cx: 0.5, cy: 0.5,
      left: index ? MARGIN : MARGIN + AXES,
    }));
    const main = maps[0];

    const clusterColor = (j) => j < 0 ? NOISE : data.colors[j];
    const colorOf = (i) => {
      if (state.by === "confidence") return scaleColor(data.confidence[i]);
      if (state.by === "class") return data.classColors[data.classes[i]];
      if (state.by.startsWith("view-")) {
        return clusterColor(data.viewLabels[Number(state.by.slice(5))][i]);
      }
      return clusterColor(data.labels[i]);
    };

    const place = (map, i) => {
      const span = map.side - map.left - MARGIN;
      const x = (map.x[i] / EXTENT - map.cx) * map.zoom + 0.5;
      const y = (map.y[i] / EXTENT - map.cy) * map.zoom + 0.5;
      return [map.left + span * x, MARGIN + span * (1 - y)];
    };

    const radiusOf = (map) => Math.max(
      1.6, Math.min(3.6, map.side / 6 / Math.sqrt(count) + 1) * Math.min(2, map.zoom ** 0.3));
    const isFaded = (i) => (state.cluster !== null && data.labels[i] !== state.cluster)
      || (state.selected !== null && !state.selected.has(i));
    const anyFaded = () => state.cluster !== null || state.selected !== null;

    const nameAxes = (pen, map, theme) => {
      const [first, second] = map.axes;
      const middle = map.left + (map.side - map.left - MARGIN) / 2;
      pen.fillStyle = theme.muted;
      pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
      pen.textAlign = "center";
      pen.fillText(first, middle, map.side - 8);
      pen.save();
      pen.translate(15, map.side - middle);
      pen.rotate(-Math.PI / 2);
      pen.fillText(second, 0, 0);
      pen.restore();
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
      };
      const draw = (wanted, alpha) => {
        pen.globalAlpha = alpha;
        for (let i = 0; i < count; i++) {
          if (map.x[i] === null || !wanted(i)) continue;
          dot(i, radius);
          pen.fillStyle = colorOf(i);
          pen.fill();
        }
      };
      if (anyFaded()) {
        draw(isFaded, 0.07);
        draw((i) => !isFaded(i), 0.9);
      } else {
        draw(() => true, 0.75);
      }
      pen.globalAlpha = 1;
      if (state.sample !== null && map.x[state.sample] !== null) {
        dot(state.sample, radius + 4);
        pen.lineWidth = 2.5;
        pen.strokeStyle = theme.ink;
        pen.stroke();
        dot(state.sample, radius + 1);
        pen.fillStyle = colorOf(state.sample);
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
      if (i === null) { tip.hidden = true; return; }
      tip.replaceChildren(...describe(i).map((line, row) => {
        const element = document.createElement(row ? "span" : "strong");
        element.textContent = line;
        return element;
      }));
      tip.hidden = false;
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
      let best = null;
      let least = REACH * REACH;
      for (let i = 0; i < count; i++) {
        if (map.x[i] === null || isFaded(i)) continue;
        const [x, y] = place(map, i);
        const distance = (x - px) ** 2 + (y - py) ** 2;
        if (distance < least) { least = distance; best = i; }
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
      host.dataset.highlight = cluster === null ? "" : String(cluster);
      chips.forEach((chip) => chip.setAttribute(
        "aria-pressed", String(Number(chip.dataset.cluster) === cluster)));
      paintAll();
    };
    const toggle = (cluster) => highlight(
      cluster < 0 || state.cluster === cluster ? null : cluster);

    // Selection with the lasso.
    const selection = document.getElementById("map-selection");
    const lassoButton = document.getElementById("map-lasso");
    const select = (samples) => {
      state.selected = samples && samples.size ? samples : null;
      const counts = new Map();
      for (const i of state.selected ?? []) {
        const name = nameOf(data.labels[i]);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      const parts = [...counts].sort((a, b) => b[1] - a[1])
        .map(([name, n]) => `${n} in ${name}`);
      selection.textContent = !samples ? "" : !samples.size ? "no samples selected"
        : `${samples.size} samples selected: ${parts.join(", ")}`;
      document.getElementById("export-selection").hidden = !state.selected;
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
      const inside = new Set();
      for (let i = 0; i < count; i++) {
        if (main.x[i] !== null && isInside(polygon, place(main, i))) inside.add(i);
      }
      select(inside);
    };

    // Zoom of the large map, about a point of the canvas.
    const zoomBy = (factor, [px, py] = [main.side / 2, main.side / 2]) => {
      const span = main.side - main.left - MARGIN;
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
        const span = (main.side - main.left - MARGIN) * main.zoom;
        main.cx = drag.cx - dx / span;
        main.cy = drag.cy + dy / span;
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
    document.getElementById("map-in").addEventListener("click", () => zoomBy(1.6));
    document.getElementById("map-out").addEventListener("click", () => zoomBy(1 / 1.6));
    document.getElementById("map-all").addEventListener("click", () => zoomBy(0));

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

    const legends = [...host.querySelectorAll("[data-legend]")];
    host.querySelector(".scale").style.background = `linear-gradient(90deg, ${SCALE.join(",")})`;
    document.getElementById("map-color").addEventListener("change", (event) => {
      state.by = event.target.value;
      const shown = state.by.startsWith("view-") ? "cluster" : state.by;
      legends.forEach((legend) => { legend.hidden = legend.dataset.legend !== shown; });
      paintAll();
    });

    // Finding: an exact id first, also of samples that are not drawn.
    const every = manyview.readData("data-samples");
    const search = document.getElementById("map-find");
    const answer = document.getElementById("map-answer");
    const lower = data.ids.map((id) => id.toLowerCase());
    const findHidden = (text) => {
      if (!every) return null;
      const n = every.labels.length;
      const i = every.ids ? every.ids.findIndex((id) => id.toLowerCase() === text)
        : /^\d+$/.test(text) && Number(text) < n ? Number(text) : -1;
      if (i < 0) return null;
      return `${every.ids ? every.ids[i] : i}, cluster ${nameOf(every.labels[i])}, confidence `
        + `${(every.confidence[i] / 1000).toFixed(2)}: not drawn on the maps`;
    };
    search.addEventListener("input", () => {
      const text = search.value.trim().toLowerCase();
      let found = text ? lower.indexOf(text) : -1;
      let reply = found >= 0 ? describe(found).join(", ") : text ? findHidden(text) : "";
      if (reply === null) {
        found = lower.findIndex((id) => id.startsWith(text));
        const many = lower.filter((id) => id.startsWith(text)).length;
        reply = found < 0 ? "not among the samples"
          : `no sample is called so; the first of ${many} that begin so: `
            + describe(found).join(", ");
        if (found < 0 && !every) reply = "not among the samples shown";
      }
      state.pinned = found >= 0;
      mark(null, found >= 0 ? found : null);
      answer.textContent = reply;
    });

    for (const element of host.querySelectorAll("[data-axes]")) {
      const shares = data.maps[Number(element.dataset.axes)].axes
        .map((name) => name.match(/\((.*)\)/)?.[1] ?? name);
      element.textContent = `principal axes, ${shares.join(" + ")}`;
    }

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

    // For export.js.
    manyview.map = {
      data, nameOf,
      selected: () => [...state.selected ?? []],
      canvas: (index) => { paint(maps[index]); return maps[index].canvas; },
      points: (index) => {
        const map = maps[index];
        paint(map);
        const found = [];
        for (let i = 0; i < count; i++) {
          if (map.x[i] === null) continue;
          found.push([...place(map, i), colorOf(i), isFaded(i) ? 0.07 : 0.8]);
        }
        return { side: map.side, radius: radiusOf(map), points: found, axes: map.axes };
      },
    };
  };
  document.addEventListener("DOMContentLoaded", start);
})();
