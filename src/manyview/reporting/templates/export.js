// What a reader takes along: tables as CSV, figures as SVG or PNG, new names.
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

  // Calls `act` with format and name of the file when a button for it is clicked.
  const onSave = (name, act) => {
    for (const button of manyview.all(`[data-save][data-name="${name}"]`)) {
      const format = button.dataset.save;
      button.addEventListener("click", () => act(format, `${name}.${format}`));
    }
  };
  for (const element of manyview.all("[data-figure]")) {
    onSave(element.dataset.figure.slice("figure-".length),
           (format, name) => saveFigure(element, format, name));
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

  Object.assign(manyview, { save, saveTable, onSave });
})();
