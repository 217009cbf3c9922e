// Maps of the samples: one canvas per view, all linked. Hovering over a sample marks it
// in every map; choosing a cluster (or clicking one of its samples) fades the others.
// Drawn by hand because thousands of linked points in many maps are too much for SVG.
"use strict";
(() => {
  const EXTENT = 4095;      // coordinates come as whole numbers from 0 to this
  const MARGIN = 10;        // free border of a map, in pixels
  const REACH = 14;         // how far from a sample the pointer may be, in pixels

  const start = () => {
    const host = document.getElementById("maps");
    if (!host) return;
    const data = manyview.readData("data-map");
    const tip = document.getElementById("map-tip");
    const chips = [...document.querySelectorAll("[data-cluster]")];
    const state = { cluster: null, sample: null, pinned: false, by: "cluster" };
    const count = data.ids.length;

    const maps = [...host.querySelectorAll("canvas")].map((canvas, index) => ({
      canvas, ...data.maps[index], seen: false, side: 0,
    }));

    const confidenceColor = (c) => `hsl(${20 + 190 * c} 65% ${58 - 12 * c}%)`;
    const colorOf = (i) => {
      if (state.by === "confidence") return confidenceColor(data.confidence[i]);
      if (state.by === "class") return data.classColors[data.classes[i]];
      return data.colors[data.labels[i]];
    };

    const place = (map, i) => {
      const span = map.side - 2 * MARGIN;
      return [MARGIN + span * map.x[i] / EXTENT, MARGIN + span * (1 - map.y[i] / EXTENT)];
    };

    const paint = (map) => {
      const ratio = window.devicePixelRatio || 1;
      map.side = map.canvas.clientWidth;
      map.canvas.width = map.canvas.height = Math.round(map.side * ratio);
      const pen = map.canvas.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const theme = manyview.colors();
      const radius = Math.max(1.6, Math.min(3.6, map.side / 6 / Math.sqrt(count) + 1));
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
      if (state.cluster === null) {
        draw(() => true, 0.75);
      } else {
        draw((i) => data.labels[i] !== state.cluster, 0.07);
        draw((i) => data.labels[i] === state.cluster, 0.9);
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
    };
    const paintAll = () => maps.filter((map) => map.seen).forEach(paint);

    const describe = (i) => {
      const lines = [data.ids[i], `cluster ${data.labels[i]}`,
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

    const nearest = (map, event) => {
      const box = map.canvas.getBoundingClientRect();
      const [px, py] = [event.clientX - box.left, event.clientY - box.top];
      let best = null;
      let least = REACH * REACH;
      for (let i = 0; i < count; i++) {
        if (map.x[i] === null) continue;
        if (state.cluster !== null && data.labels[i] !== state.cluster) continue;
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
    const toggle = (cluster) => highlight(state.cluster === cluster ? null : cluster);

    maps.forEach((map) => {
      map.canvas.addEventListener("pointermove", (event) => {
        if (!state.pinned) mark(map, nearest(map, event));
      });
      map.canvas.addEventListener("pointerleave", () => {
        if (!state.pinned) mark(map, null);
      });
      map.canvas.addEventListener("click", (event) => {
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
      mark(null, null);
      highlight(null);
    });

    document.getElementById("map-color").addEventListener("change", (event) => {
      state.by = event.target.value;
      paintAll();
    });
    const search = document.getElementById("map-find");
    const answer = document.getElementById("map-answer");
    search.addEventListener("input", () => {
      const text = search.value.trim().toLowerCase();
      const ids = data.ids;
      let found = text ? ids.findIndex((id) => id.toLowerCase() === text) : -1;
      if (text && found < 0) found = ids.findIndex((id) => id.toLowerCase().startsWith(text));
      state.pinned = found >= 0;
      mark(null, found >= 0 ? found : null);
      answer.textContent = !text ? "" : found < 0
        ? "not among the samples shown" : describe(found).join(", ");
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
  };
  document.addEventListener("DOMContentLoaded", start);
})();
