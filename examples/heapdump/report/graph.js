/* The page of objects: live objects and their holders. */

function graphPage(data, names) {
  const g = data.graph,
    count = g.id.length,
    NONE = "<not described>",
    MIXED = -2;
  const map = $("map"),
    HEAD = 17,
    SMALLEST = 200 /* pixels of a cell */,
    MOST_CELLS = 6000,
    LEVELS = 8,
    MOST_LISTED = 50,
    WAY_ENDS = 20;
  const className = (c) => (c === MIXED ? "small objects" : c < 0 ? NONE : names[g.classes[c][0]] || NONE);
  const children = childrenOf(g.parent, g.retained);
  const state = { zoom: null, class: null };
  let hits = null,
    drawn = [],
    crumbs = [];
  const whole = g.live_bytes;

  // The map: objects one by one where they are large, by class where they are small. ------------

  const below = (node) => ({ above: node, level: node.level + 1 });
  const objectNode = (i, node) => ({ i, class: g.class[i], width: g.retained[i], ...below(node) });

  /** Objects, the largest first; or a single object. */
  function listNode(list, node) {
    if (list.length === 1) return objectNode(list[0], node);
    const width = list.reduce((sum, i) => sum + g.retained[i], 0);
    const alike = list.every((i) => g.class[i] === g.class[list[0]]);
    return { list, class: alike ? g.class[list[0]] : MIXED, width, ...below(node) };
  }

  /** The parts of a zoomed list: large objects one by one, then up to a hundred lists of the others. */
  function partsOf(node, least) {
    const large = node.list.findIndex((i) => g.retained[i] < least),
      small = large < 0 ? [] : node.list.slice(large),
      step = Math.ceil(small.length / 100);
    const kids = node.list.slice(0, node.list.length - small.length).map((i) => objectNode(i, node));
    for (let at = 0; at < small.length; at += step) kids.push(listNode(small.slice(at, at + step), node));
    return kids;
  }

  function childrenIn(node, least) {
    if (node.list) return node === state.zoom ? partsOf(node, least) : [];
    if (node.rest) return [];
    const kids = [],
      small = new Map();
    let left = node.width - (node === root ? 0 : g.size[node.i]);
    for (const i of children(node === root ? -1 : node.i)) {
      left -= g.retained[i];
      if (g.retained[i] >= least) kids.push(objectNode(i, node));
      else if (small.has(g.class[i])) small.get(g.class[i]).push(i);
      else small.set(g.class[i], [i]);
    }
    const tiny = []; /* objects of classes that are too small to be drawn */
    for (const list of small.values()) {
      const kid = listNode(list, node);
      if (kid.width >= least / 6) kids.push(kid);
      else for (const i of list) tiny.push(i);
    }
    if (tiny.length) kids.push(listNode(tiny.sort((a, b) => g.retained[b] - g.retained[a] || a - b), node));
    if (left > 0) kids.push({ rest: true, width: left, ...below(node) });
    return kids
      .filter((kid) => kid.width >= least / 6)
      .sort((a, b) => b.width - a.width || (a.i ?? -1) - (b.i ?? -1));
  }

  const root = { width: whole, level: 0 };
  const labelOf = (node) => {
    if (node.rest) return "objects that are not on this page";
    if (node === root) return "all live objects";
    if (node.list) return `${countText(node.list.length)} \u00d7 ${className(node.class)}`;
    return className(node.class) + (g.name[node.i] ? ` ${names[g.name[node.i]]}` : "");
  };
  const about = (node) => {
    const text = [labelOf(node), `retains ${bytesText(node.width)}, ${shareText(node.width, whole)}`];
    if (node.i !== undefined)
      text.push(`${bytesText(g.size[node.i])} itself`, `${countText(g.below[node.i])} objects`, `id ${g.id[node.i]}`);
    return text.join(" \u2013 ");
  };

  function draw() {
    map.style.height = "";
    const width = Math.max(300, map.clientWidth),
      height = map.clientHeight;
    map.style.height = `${height + 2}px`; /* includes the border, also on paper */
    const least = state.zoom.width / Math.min((width * height) / SMALLEST, MOST_CELLS);
    const laid = d3.hierarchy(state.zoom, (node) =>
      node.level - state.zoom.level < LEVELS ? childrenIn(node, least) : [],
    );
    laid.each((node) => {
      node.value = node.data.width;
    });
    d3
      .treemap()
      .size([width - 2, height - 2])
      .paddingTop(HEAD)
      .paddingInner(1)
      .paddingLeft(2)
      .paddingRight(2)
      .paddingBottom(2)
      .round(true)(laid);
    drawn = laid.descendants().filter((node) => node.x1 - node.x0 > 3 && node.y1 - node.y0 > 3);
    drawCells(map, drawn, width, (cell, node) => {
      const label = about(node.data);
      cell.textContent =
        node.x1 - node.x0 < 20 || node.y1 - node.y0 < 14
          ? ""
          : `${labelOf(node.data)}  ${bytesText(node.data.width)}`;
      cell.title = label;
      cell.setAttribute("aria-label", label);
      if (node.data.rest || node.data === root) cell.classList.add("other");
      else cell.style.setProperty("--h", hueOf(className(node.data.class)));
    });
    mark();
    cursor.reset(drawn);
    crumbs = [];
    for (let n = state.zoom; n; n = n.above) crumbs.unshift(n);
    $("crumbs").replaceChildren(
      ...crumbs.map((n) =>
        element("button", labelOf(n), { type: "button", title: about(n), onclick: () => zoomTo(n) }),
      ),
    );
    $("map-detail").textContent = about(state.zoom);
  }
  const zoomTo = (node) => {
    state.zoom = node;
    draw();
  };

  // Search.

  const fits = (i) => hits[g.name[i]] || (g.class[i] >= 0 && hits[g.classes[g.class[i]][0]]);
  function mark() {
    map.classList.toggle("searching", !!hits);
    drawn.forEach((node, i) => {
      const n = node.data;
      node.hit =
        !!hits && !n.rest && n !== root && !!(n.list ? n.class >= 0 && hits[g.classes[n.class][0]] : fits(n.i));
      map.children[i].classList.toggle("hit", node.hit);
    });
  }

  function search() {
    hits = matching(names, $("find").value);
    if (hits) hits[0] = 0;
    mark();
    showClasses();
    const found = showObjects();
    $("found").textContent = !hits
      ? ""
      : found
        ? `${countText(found)} of ${countText(count)} objects`
        : "no match";
  }

  // Tables.

  const link = (text, about, onclick) =>
    element("button", text, { type: "button", className: "link", title: about, onclick });
  const scoped = (name, scope) => names[name] + (scope ? ` (${names[scope]})` : "");
  const classTable = sortedTable($("classes"), $("classes-more"), [], 0),
    objectTable = sortedTable($("objects"), $("objects-more"), [], 0);

  const keyOf = (row) => `${row[0]} ${row[1]}`;
  const changes = g.change && new Map(g.change.map((row) => [keyOf(row), row]));
  const noChange = [0, 0, 0, 0, 0, 0];
  const changeOf = (row) => changes.get(keyOf(row)) ?? noChange;
  const classRows = g.classes.map((row, c) => Object.assign(row, { c }));
  const there = new Set(g.classes.map(keyOf));
  for (const [key, row] of changes ?? [])
    if (!there.has(key)) classRows.push(Object.assign([row[0], row[1], 0, true, 0, 0, 0, 0], { c: null }));
  classTable.columns(
    [
      ...(changes
        ? [
            {
              title: "Change",
              about: "in bytes of all objects, with garbage",
              value: (r) => changeOf(r)[3] - changeOf(r)[2],
              text: (r) => signed(changeOf(r)[3] - changeOf(r)[2], bytesText),
              cell: changeCell((r) => changeOf(r)[3] - changeOf(r)[2]),
            },
            {
              title: "Objects",
              value: (r) => changeOf(r)[5] - changeOf(r)[4],
              text: (r) => signed(changeOf(r)[5] - changeOf(r)[4], countText),
              cell: changeCell((r) => changeOf(r)[5] - changeOf(r)[4]),
            },
          ]
        : []),
      {
        title: "Retained",
        about: "memory that would be freed if all objects of the class were freed",
        value: (r) => r[2],
        text: (r) => (r[3] ? "" : "> ") + bytesText(r[2]),
      },
      {
        title: "Share",
        value: (r) => r[2],
        text: (r) => shareText(r[2], whole),
        cell: shareCell(
          (r) => r[2],
          () => whole,
        ),
      },
      { title: "Live bytes", value: (r) => r[4], text: (r) => bytesText(r[4]) },
      { title: "Live", value: (r) => r[5], text: (r) => countText(r[5]) },
      { title: "Bytes", about: "garbage included", value: (r) => r[6], text: (r) => bytesText(r[6]) },
      { title: "Objects", value: (r) => r[7], text: (r) => countText(r[7]) },
      {
        title: "Class",
        name: true,
        value: (r) => names[r[0]],
        text: () => undefined,
        cell: (td, r) =>
          td.append(
            r.c === null
              ? scoped(r[0], r[1])
              : link(scoped(r[0], r[1]), "its objects", () => {
                  state.class = r.c;
                  showObjects();
                  $("objects-title").scrollIntoView();
                }),
          ),
      },
    ],
    0,
  );
  classTable.show(classRows, null);
  const showClasses = () => classTable.filter(hits && ((r) => hits[r[0]]));

  objectTable.columns(
    [
      { title: "Retained", value: (i) => g.retained[i], text: (i) => bytesText(g.retained[i]) },
      {
        title: "Share",
        value: (i) => g.retained[i],
        text: (i) => shareText(g.retained[i], whole),
        cell: shareCell(
          (i) => g.retained[i],
          () => whole,
        ),
      },
      { title: "Itself", value: (i) => g.size[i], text: (i) => bytesText(g.size[i]) },
      {
        title: "Below",
        about: "objects that would be freed with it",
        value: (i) => g.below[i],
        text: (i) => countText(g.below[i] - 1),
      },
      {
        title: "Object",
        name: true,
        value: (i) => className(g.class[i]),
        text: () => undefined,
        cell: (td, i) => td.append(objectLink(i)),
      },
    ],
    0,
  );
  function showObjects() {
    const one = state.class,
      any = one === null;
    $("objects-title").textContent = any ? "Objects with the largest retained size" : `Objects of class ${className(one)}`;
    if (!any)
      $("objects-title").append(
        " ",
        element("button", "all classes", {
          type: "button",
          onclick: () => {
            state.class = null;
            showObjects();
          },
        }),
      );
    return objectTable.filter(any && !hits ? null : (i) => (any || g.class[i] === one) && (!hits || fits(i)));
  }

  // The page of an object.

  const objectLink = (i) =>
    link(
      `${className(g.class[i])}${g.name[i] ? ` \u201c${names[g.name[i]]}\u201d` : ""} ${g.id[i]}`,
      `retains ${bytesText(g.retained[i])}`,
      () => showObject(i),
    );
  const callText = (by) => (by > 0 ? names[by] : by < 0 ? `[${-1 - by}]` : "");
  const starts = new Uint32Array(count + 1);
  for (let i = 0; i < count; i++) starts[i + 1] = starts[i] + g.references[i];
  let heldBy = null; /* made on first use: [object, reference] by object */
  function holdersOf(object) {
    if (!heldBy) {
      heldBy = Array.from({ length: count }, () => []);
      for (let i = 0; i < count; i++) for (let k = starts[i]; k < starts[i + 1]; k++) heldBy[g.to[k]].push([i, k]);
    }
    return heldBy[object];
  }

  function listing(title, entries, all) {
    const part = element("div"),
      list = element("ul");
    part.append(element("h3", `${title} (${countText(all)})`), list);
    for (const [text, i] of entries.slice(0, MOST_LISTED)) {
      const li = list.appendChild(element("li", text ? `${text}: ` : ""));
      li.append(objectLink(i), element("span", ` ${bytesText(g.retained[i])}`, { className: "faint" }));
    }
    const shown = Math.min(entries.length, MOST_LISTED);
    if (all > shown)
      list.append(
        element("li", `${countText(all - shown)} more, weak or not on this page: heapdump object --all FILE ID`, {
          className: "faint",
        }),
      );
    return part;
  }

  function showObject(i) {
    const page = $("object"),
      path = [];
    for (let x = i; x >= 0; x = g.holder[x]) path.push(x);
    path.reverse();
    const way = element("ol"),
      gap = `${countText(path.length - 2 * WAY_ENDS)} more: heapdump path --id ${g.id[i]} FILE`;
    way.style.paddingLeft = `${String(path.length).length + 2}ch`;
    path.forEach((x, at) => {
      if (at >= WAY_ENDS && at < path.length - WAY_ENDS) {
        if (at === WAY_ENDS) way.append(element("li", gap, { className: "gap" }));
        return;
      }
      const how = at ? `${callText(g.by[x])}: ` : g.root[x] ? `root, ${names[g.root[x]]}: ` : "";
      const li = way.appendChild(element("li", how, { value: at + 1 }));
      li.append(
        x === i ? element("b", `${className(g.class[x])} ${g.id[x]}`) : objectLink(x),
        element("span", ` retains ${bytesText(g.retained[x])}`, { className: "faint" }),
      );
    });
    const out = [];
    for (let k = starts[i]; k < starts[i + 1]; k++) out.push([callText(g.called[k]), g.to[k]]);
    const lists = element("div", undefined, { className: "lists" });
    const below = [...children(i)];
    lists.append(
      listing("Refers to", out, g.out[i]),
      listing(
        "Referred to by",
        holdersOf(i).map(([x, k]) => [callText(g.called[k]), x]),
        g.in[i],
      ),
      listing(
        "Dominates",
        below.map((x) => ["", x]),
        below.length,
      ),
    );
    const title = element("h2", `${className(g.class[i])} ${g.id[i]}`, { tabIndex: -1 });
    page.replaceChildren(
      title,
      element(
        "p",
        (g.name[i] ? `\u201c${names[g.name[i]]}\u201d, ` : "") +
          `${bytesText(g.size[i])} itself, retains ${bytesText(g.retained[i])} ` +
          `(${shareText(g.retained[i], whole)}) in ${countText(g.below[i])} objects`,
      ),
      element("h3", "Why it is alive: a shortest path from a GC root"),
      way,
      lists,
    );
    title.focus({ preventScroll: true });
    page.scrollIntoView({ block: "nearest" });
  }

  const cursor = cursorOf(map, {
    up: () => "ArrowUp",
    show: (node) => {
      $("map-detail").textContent = about(node.data);
    },
    enter: (node) => {
      const n = node.data;
      if (n.rest) return;
      if (n.i !== undefined) showObject(n.i);
      if (n.list || n === root || (n.i !== undefined && children(n.i).length)) {
        zoomTo(n);
        map.focus({ preventScroll: true });
      }
    },
    out: () => zoomTo(state.zoom.above ?? root),
    whole: () => zoomTo(root),
  });
  searchField($("find"), map, search);
  let waits = 0;
  addEventListener("resize", () => {
    clearTimeout(waits);
    waits = setTimeout(draw, 100);
  });

  $("graph").hidden = false;
  $("objects-told").textContent =
    `${countText(g.live_objects)} live objects, ${bytesText(whole)}; ` +
    `${countText(g.objects)} in all, ${bytesText(g.bytes)}; ${countText(g.roots)} root${g.roots === 1 ? "" : "s"}` +
    (count < g.live_objects
      ? `; the ${countText(count)} with the largest retained size, and their holders, are on this page (--entries)`
      : "");
  state.zoom = root;
  draw();
  objectTable.show(
    Array.from({ length: count }, (_, i) => i),
    null,
  );
}
