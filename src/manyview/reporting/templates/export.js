// What a reader takes along: labels as CSV, figures and maps as SVG or PNG, new names.
// Files are made on the page; nothing is sent anywhere.
"use strict";
(() => {
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };

  // As in labels.csv: an apostrophe before what a spreadsheet would run as a formula.
  const cell = (text) => {
    const safe = /^'*[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(\.\d*)?$/.test(text)
      ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  const saveTable = (rows, name) => {
    const header = ["sample", "cluster", "name", "confidence"];
    const text = [header, ...rows].map((row) => row.map((v) => cell(String(v))).join(","));
    save(new Blob([text.join("\n") + "\n"], { type: "text/csv" }), name);
  };

  const onClick = (id, act) => document.getElementById(id)?.addEventListener("click", act);
  onClick("export-labels", () => {
    const every = manyview.readData("data-samples");
    saveTable(every.labels.map((label, i) => [
      every.ids ? every.ids[i] : i, label, manyview.map.nameOf(label),
      (every.confidence[i] / 1000).toFixed(3)]), "labels.csv");
  });
  onClick("export-selection", () => {
    const { data, nameOf, selected } = manyview.map;
    saveTable(selected().map((i) => [
      data.ids[i], data.labels[i], nameOf(data.labels[i]),
      data.confidence[i].toFixed(3)]), "selected.csv");
  });

  const mapDrawing = (index) => {
    const { side, radius, points, axes } = manyview.map.points(index);
    const { escaped, colors } = manyview;
    const { card, muted } = colors();
    const number = (x) => Number(x.toFixed(1));
    const dots = points.map(([x, y, color, alpha]) => `<circle cx="${number(x)}" `
      + `cy="${number(y)}" r="${number(radius)}" fill="${color}" fill-opacity="${alpha}"/>`);
    const words = index ? "" : `<g fill="${muted}" font-family="sans-serif" font-size="12" `
      + `text-anchor="middle"><text x="${side / 2}" y="${side - 8}">${escaped(axes[0])}</text>`
      + `<text transform="translate(15 ${side / 2}) rotate(-90)">${escaped(axes[1])}</text></g>`;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}">`
      + `<rect width="100%" height="100%" fill="${card}"/>${dots.join("")}${words}</svg>`;
  };

  const saveMap = (index, format, name) => {
    if (format === "svg") {
      save(new Blob([mapDrawing(index)], { type: "image/svg+xml" }), name);
      return;
    }
    const drawn = manyview.map.canvas(index);
    const filled = document.createElement("canvas");
    [filled.width, filled.height] = [drawn.width, drawn.height];
    const pen = filled.getContext("2d");
    pen.fillStyle = manyview.colors().card;
    pen.fillRect(0, 0, filled.width, filled.height);
    pen.drawImage(drawn, 0, 0);
    filled.toBlob((blob) => save(blob, name));
  };

  const saveFigure = async (element, format, name) => {
    if (!("drawn" in element.dataset)) await manyview.draw(element);
    const layout = { ...element.layout, paper_bgcolor: manyview.colors().card };
    const size = { width: element.clientWidth, height: element.clientHeight };
    const url = await Plotly.toImage(
      { data: element.data, layout }, { format, ...size, scale: format === "png" ? 2 : 1 });
    // Taken apart by hand: the page's policy lets it fetch nothing, not even this.
    const comma = url.indexOf(",");
    const body = url.slice(comma + 1);
    const bytes = url.slice(0, comma).endsWith(";base64")
      ? Uint8Array.from(atob(body), (c) => c.charCodeAt(0)) : decodeURIComponent(body);
    save(new Blob([bytes], { type: format === "svg" ? "image/svg+xml" : "image/png" }), name);
  };

  for (const button of manyview.all("[data-save]")) {
    const { save: format, name } = button.dataset;
    button.addEventListener("click", () => {
      const file = `${name}.${format}`;
      const figure = document.querySelector(`[data-figure="figure-${name}"]`);
      if (figure) saveFigure(figure, format, file);
      else saveMap(Number(name.slice("map-".length)), format, file);
    });
  }

  const inputs = manyview.all("[data-rename]");
  inputs.forEach((input, j) => input.addEventListener("change", () => {
    manyview.rename(j, input.value.trim() || input.defaultValue);
    const changed = inputs.map((other, k) => [k, other.value.trim(), other.defaultValue])
      .filter(([, name, first]) => name && name !== first)
      .map(([k, name]) => `${k}: ${JSON.stringify(name)}`);
    document.querySelector("#rename code").textContent =
      `model.rename_clusters({${changed.join(", ")}})`;
  }));
})();
