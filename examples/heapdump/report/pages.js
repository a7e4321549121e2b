/* The pages with live blocks in order of their addresses, their use, and the sites that keep them. */

function pagesPage(data, names) {
  const COLUMNS = 128;
  const map = $("pages-map"),
    about = $("pages-detail");
  let shown = null;
  const tenthOf = (used, whole) => Math.min(9, Math.floor((10 * used) / whole));
  const rect = (x, y, width, tenth) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const attributes = { x, y, width, height: 1, class: `f${tenth}` };
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    return e;
  };
  const filled = (i) => tenthOf(shown.filled[i], shown.count[i] * shown.page_bytes);

  /** Draws the pages. Adjacent cells with the same use are one rectangle. */
  function draw() {
    const n = shown.count.length,
      rows = Math.ceil(n / COLUMNS);
    map.setAttribute("viewBox", `0 0 ${Math.min(n, COLUMNS)} ${rows}`);
    map.style.height = `${Math.max(16, Math.min(320, rows * 10))}px`;
    map.ariaLabel = `${countText(shown.pages)} pages, ${shareText(shown.used, shown.pages * shown.page_bytes)} full`;
    const all = [];
    for (let i = 0, end; i < n; i = end) {
      const row = Math.floor(i / COLUMNS);
      for (end = i + 1; end < n && Math.floor(end / COLUMNS) === row && filled(end) === filled(i); end++);
      all.push(rect(i % COLUMNS, row, end - i, filled(i)));
    }
    map.replaceChildren(...all);
  }

  map.onpointermove = (event) => {
    const box = map.getBoundingClientRect(),
      n = shown.count.length,
      x = Math.floor(((event.clientX - box.left) / box.width) * Math.min(n, COLUMNS)),
      i = Math.floor(((event.clientY - box.top) / box.height) * Math.ceil(n / COLUMNS)) * COLUMNS + x;
    if (!shown.at[i]) return;
    about.textContent =
      `from ${shown.at[i]}: ${countText(shown.count[i])} ${shown.count[i] === 1 ? "page" : "pages"} with blocks, ` +
      `${bytesText(shown.filled[i])}, ${shareText(shown.filled[i], shown.count[i] * shown.page_bytes)} full`;
  };
  map.onpointerleave = () => {
    about.textContent = "\u00a0";
  };

  const table = sortedTable($("keepers"), $("keepers-more"), [], 0);

  function show(process) {
    shown = process;
    const whole = shown.pages * shown.page_bytes;
    $("pages-told").textContent =
      `${bytesText(shown.bytes)} of live blocks keep ${bytesText(whole)}: ${countText(shown.pages)} pages of ` +
      `${bytesText(shown.page_bytes)}, ${shareText(shown.used, whole)} full` +
      (shown.each > 1 ? `; ${countText(shown.each)} pages per cell` : "");
    $("pages-legend").replaceChildren(
      ...shown.tenths.map((pages, i) => {
        const li = element("li");
        li.append(element("span", "", { className: `f${i}` }));
        li.append(`${i < 9 ? "<" : "\u2265"} ${i < 9 ? 10 * (i + 1) : 90} %: ${countText(pages)}`);
        return li;
      }),
    );
    draw();
    table.show(shown.sites, null);
  }

  const bytes = (title, about, value) => ({ title, about, value, text: (row) => bytesText(value(row)) });
  const of = (field) => (row) => row[field] * shown.page_bytes;
  table.columns(
    [
      bytes("Pages", "pages with at least one of its blocks", of("pages")),
      bytes("Own pages", "pages with only its blocks: freeing them returns these pages", of("alone")),
      bytes("Share", "its part of all pages, divided by bytes", (row) => row.share),
      bytes("Live", "bytes of its blocks", (row) => row.bytes),
      {
        title: "Full",
        about: "part of its pages that any blocks use",
        value: (row) => row.used / row.pages,
        text: (row) => shareText(row.used, row.pages * shown.page_bytes),
      },
      { title: "Function", name: true, value: (row) => names[row.name], text: (row) => names[row.name] },
    ],
    2,
  );
  const select = $("pages-process");
  data.pages.forEach((p, i) => select.append(element("option", `${visible(p.process)} (${p.pid})`, { value: i })));
  select.onchange = () => show(data.pages[select.value]);
  $("pages").hidden = false;
  show(data.pages[0]);
}
