/* The page of `heapdump report`. Names come from dumps and are never parsed: they go to textContent and attributes.
   d3.hierarchy lays cells out, and d3.select puts them on the page. This file has the common part; page.sh appends
   heaps.js, pages.js and graph.js, which are the views. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const names = data.names.map(visible);
  data.files = data.files.map(visible);
  document.getElementById("files").textContent = data.files.join("  \u2192  ");
  document.title = data.files.join(" \u2192 ") + " \u2013 heapdump report";
  frame();
  if (data.graph) graphPage(data, names);
  else profilePage(data, names);
  if (data.pages?.length) pagesPage(data, names);
});

/** Replaces invisible characters and direction marks by question marks, as on the terminal. */
const visible = (name) => name.replace(/[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "?");

const $ = (id) => document.getElementById(id);

function element(tag, text, properties) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  return Object.assign(e, properties);
}

/** Sizes as the tool prints them. */
function bytesText(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  for (; u < 4 && Math.abs(n) >= 1023.95; u++) n /= 1024;
  const tenths = Math.round(10 * n),
    half = (10 * n) % 1 === 0.5 && tenths % 2; /* halves go to even tenths */
  return `${u ? ((tenths - half) / 10).toFixed(1) : Math.round(n)} ${units[u]}`;
}

const countText = (n) => Math.round(n).toLocaleString("en");
const signed = (n, text) => (n > 0 ? "+" : n < 0 ? "\u2212" : "") + text(Math.abs(n));
const shareText = (part, whole) => (whole ? ((100 * part) / whole).toFixed(1) : "0.0") + " %";

/** The constant hue of a name. */
function hueOf(name) {
  let h = 2166136261;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 16777619);
  return (h >>> 8) % 360;
}

/** The search text as a function of a name; null: no search. A regular expression is written between slashes. */
function matcher(text) {
  const pattern = /^\/(.+)\/$/.exec(text);
  if (!text) return null;
  if (pattern) {
    try {
      const regex = new RegExp(pattern[1], "i");
      return (name) => regex.test(name);
    } catch {
      /* not a regular expression yet: search the text itself */
    }
  }
  const plain = new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "i");
  return (name) => plain.test(name);
}

/** A byte per name: whether it matches. */
function matching(names, text) {
  const fits = matcher(text);
  return fits && Uint8Array.from(names, (name) => (fits(name) ? 1 : 0));
}

/** Children in compressed rows, largest first: of[first[i]] .. of[first[i + 1] - 1]. Nodes without a parent are in
    `roots`. */
function childrenOf(parent, size) {
  const n = parent.length,
    first = new Uint32Array(n + 2);
  for (let i = 0; i < n; i++) first[parent[i] + 2]++;
  for (let i = 0; i <= n; i++) first[i + 1] += first[i];
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort((a, b) => size[b] - size[a] || a - b);
  const of = new Uint32Array(n),
    at = first.slice();
  for (const i of order) of[at[parent[i] + 1]++] = i;
  return (i) => of.subarray(first[i + 1], first[i + 2]);
}

/** Theme, help, and keys: keys.x is called for the key x, except in text fields. */
const keys = {};
function frame() {
  const dark = () =>
    (document.documentElement.dataset.theme ||
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const say = () => ($("theme").textContent = dark() ? "Light" : "Dark");
  $("theme").onclick = keys.t = () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    say();
  };
  $("help").onclick = keys["?"] = () => $("keys").showModal();
  say();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", say);
  document.addEventListener("keydown", (event) => {
    const typed = event.target.matches("input[type=search], select, dialog *");
    if (event.ctrlKey || event.metaKey || event.altKey || typed || $("keys").open || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}

/** A search field: `/` selects it, Enter goes to the view, Escape ends the search. */
function searchField(field, view, changed) {
  keys["/"] = () => {
    field.focus();
    field.select();
  };
  field.addEventListener("input", changed);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      field.value = "";
      changed();
    }
    if (event.key === "Escape" || event.key === "Enter") {
      event.preventDefault();
      view.focus();
    }
  });
}

/** Draws the cells of a view: d3 nodes with x0, x1, y0, y1 in pixels for `whole` pixels of width; paper may be
    narrower. dress(cell, node) sets everything else. */
function drawCells(view, nodes, whole, dress) {
  d3.select(view)
    .selectAll("div")
    .data(nodes)
    .join("div")
    .each(function (node, i) {
      const width = node.x1 - node.x0;
      this.id = `${view.id}-${i}`;
      this.className = width < 12 ? "cell thin" : "cell";
      this.style.cssText = "";
      this.style.left = `${(100 * node.x0) / whole}%`;
      this.style.top = `${node.y0}px`;
      this.style.width = `${(100 * width) / whole}%`;
      this.style.height = `${node.y1 - node.y0}px`;
      this.setAttribute("role", "treeitem");
      this.setAttribute("aria-level", node.depth + 1);
      dress(this, node);
    });
}

/** Moves a cursor over cells by arrow keys. `up` is the key that leads to the root. */
function cursorOf(view, { up, show, enter, out, whole }) {
  let cells = [],
    at = -1;
  const cursor = {
    reset(nodes, index = 0) {
      cells = nodes;
      cursor.put(Math.min(index, nodes.length - 1), true);
    },
    put(index, quiet) {
      view.querySelector(".cursor")?.classList.remove("cursor");
      at = index;
      const cell = view.children[at];
      if (!cell) return;
      if (!quiet || document.activeElement === view) cell.classList.add("cursor");
      view.setAttribute("aria-activedescendant", cell.id);
      if (!quiet) {
        show(cells[at]);
        cell.scrollIntoView({ block: "nearest" });
      }
    },
    next(fits) {
      /* the next matching cell after this one, cyclically */
      for (let i = 1; i <= cells.length; i++)
        if (fits(cells[(at + i) % cells.length])) return cursor.put((at + i) % cells.length);
    },
  };
  const beside = (node, step) => {
    const list = node.parent?.children ?? [];
    return list[list.indexOf(node) + step];
  };
  const steps = {
    towards: (node) => node.parent,
    away: (node) => node.children?.[0],
    ArrowLeft: (node) => beside(node, -1),
    ArrowRight: (node) => beside(node, 1),
  };
  view.addEventListener("focus", () => cursor.put(Math.max(at, 0)));
  view.addEventListener("blur", () => view.querySelector(".cursor")?.classList.remove("cursor"));
  view.addEventListener("keydown", (event) => {
    const key =
      { ArrowUp: up() === "ArrowUp" ? "towards" : "away", ArrowDown: up() === "ArrowUp" ? "away" : "towards" }[
        event.key
      ] ?? event.key;
    const node = cells[at];
    if (steps[key]) {
      const to = node && steps[key](node);
      if (to && cells.includes(to)) cursor.put(cells.indexOf(to));
    } else if (key === "Enter" && node) enter(node);
    else if (key === "Backspace") out();
    else if (key === "n") cursor.next((n) => n.hit);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  keys.Escape = whole;
  view.addEventListener("click", (event) => {
    const i = [...view.children].indexOf(event.target.closest(".cell"));
    if (i >= 0) {
      cursor.put(i);
      enter(cells[i]);
    }
  });
  view.addEventListener("mousemove", (event) => {
    const node = event.target.closest(".cell")?.__data__;
    if (node) show(node);
  });
  return cursor;
}

/** A table that is sorted by clicks on its headers. columns: { title, value(row), text(row), cell?(td, row), name? }.
    */
function sortedTable(table, more, columns, sortBy) {
  const PAGE = 100;
  let all = [],
    rows = [],
    fits = null,
    by = sortBy,
    down = true;
  const head = table.createTHead(),
    body = table.createTBody();
  const add = (list) => {
    /* appends the next rows */
    body.append(
      ...list.map((row) => {
        const tr = element("tr");
        for (const column of columns) {
          const td = tr.appendChild(element("td", column.text(row)));
          column.cell?.(td, row);
        }
        return tr;
      }),
    );
    more.hidden = rows.length <= body.rows.length;
    more.textContent = `More of ${countText(rows.length)}`;
  };
  const order = () => {
    const value = columns[by].value,
      sign = down ? -1 : 1;
    all.sort((a, b) => {
      const x = value(a),
        y = value(b);
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
  };
  const draw = () => {
    rows = fits ? all.filter(fits) : all;
    head.replaceChildren(element("tr"));
    columns.forEach((column, i) => {
      const th = head.rows[0].appendChild(element("th", undefined, { scope: "col" }));
      th.append(
        element("button", column.title, { type: "button", title: column.about ?? "", onclick: () => sort(i) }),
      );
      th.ariaSort = i === by ? (down ? "descending" : "ascending") : "none";
    });
    body.replaceChildren();
    add(rows.slice(0, PAGE));
  };
  const sort = (i) => {
    down = i === by ? !down : !columns[i].name;
    by = i;
    order();
    draw();
    head.rows[0].cells[i].firstChild.focus();
  };
  more.onclick = () => add(rows.slice(body.rows.length, body.rows.length + 10 * PAGE));
  return {
    show(list, which) {
      all = list;
      fits = which;
      order();
      draw();
    },
    filter(which) {
      fits = which;
      draw();
      return rows.length;
    } /* the rows to show; null: all */,
    columns(list, sorted) {
      columns = list;
      by = sorted;
      down = true;
    },
  };
}

const shareCell = (part, whole) => (td, row) => {
  td.className = "share";
  td.style.setProperty("--part", `${whole() ? Math.min(100, (100 * part(row)) / whole()) : 0}%`);
};
const changeCell = (value) => (td, row) => {
  td.className = value(row) > 0 ? "up" : value(row) < 0 ? "down" : "";
};
