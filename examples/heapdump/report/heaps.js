/* The page of heaps: the call stacks that allocated the memory. */

function profilePage(data, names) {
  const ROW = 18,
    THINNEST = 1.5,
    MOST_BESIDE = 1200,
    LEVELS = 200,
    MOST_CELLS = 20000;
  const heaps = data.heaps,
    hides = data.heaps.some((heap) => heap.tables?.some((t) => t.axes.some((a) => a.hidden?.length))),
    short = new Map(data.short.map(([i, name]) => [i, visible(name)]));
  const sizeText = data.counted ? countText : bytesText;
  const other = names.indexOf("<other>");
  for (const heap of heaps) if (!heap.tables?.length) heap.tables = null; /* only totals are on the page */
  const view = $("stacks");
  const state = {
    heap: null,
    then: null,
    axis: "",
    metric: "bytes",
    invert: false,
    flame: false,
    all: false,
    only: null,
    root: null,
    zoom: null,
  };
  let tree = null,
    hits = null,
    drawn = [];

  // Trees.

  const tableOf = (heap, axis) => heap?.tables?.find((t) => t.axes.some((a) => a.name === axis));
  const axisIn = (table, axis) => (table ? table.axes.findIndex((a) => a.name === axis) : -1);

  /** Puts an axis of a table into a tree. Returns the tree's node for each node of the axis. */
  function place(tree, table, axis) {
    const { parent, names: name, hidden } = table.axes[axisIn(table, axis)];
    const gone = new Set(axis === "backtrace" && !state.all ? hidden : []);
    const to = new Uint32Array(parent.length);
    for (let i = 1; i < parent.length; i++) {
      const above = to[parent[i]];
      if (gone.has(i)) {
        to[i] = above;
        continue;
      }
      const key = above * names.length + name[i];
      let node = tree.at.get(key);
      if (node === undefined) {
        tree.at.set(key, (node = tree.parent.length));
        tree.parent.push(above);
        tree.name.push(name[i]);
      }
      to[i] = node;
    }
    return to;
  }

  /** The rows of a table below the selected part; null: all. */
  function rowsOf(table, only) {
    const k = only ? axisIn(table, only.axis) : -1;
    if (k < 0) return null;
    const t = { parent: [-1], name: [0], at: new Map() },
      to = place(t, table, only.axis);
    let target = 0;
    for (const name of only.path) target = t.at.get(target * names.length + name) ?? -1;
    const inside = t.parent.map(() => 0);
    inside.forEach((_, i) => {
      inside[i] = i === target || (i && inside[t.parent[i]]) ? 1 : 0;
    });
    return table.node[k].map((node) => inside[to[node]]);
  }

  /** One heap along an axis, or two compared heaps: own and cumulative sizes of the nodes, now and before. */
  function makeTree() {
    const t = { parent: [-1], name: [0], at: new Map(), estimated: false };
    const placed = [state.heap, state.then].map((heap) => {
      const table = tableOf(heap, state.axis);
      return table && { table, to: place(t, table, state.axis), inside: rowsOf(table, state.only) };
    });
    const column = () => new Float64Array(t.parent.length),
      blocks = state.metric === "blocks";
    (t.self = column()), (t.selfThen = column()), (t.variance = column());
    placed.forEach((p, side) => {
      if (!p) return;
      const node = p.table.node[axisIn(p.table, state.axis)],
        amount = blocks ? p.table.blocks : p.table.bytes;
      const into = side ? t.selfThen : t.self,
        error = blocks ? null : p.table.error;
      for (let i = 0; i < node.length; i++) {
        if (p.inside && !p.inside[i]) continue;
        into[p.to[node[i]]] += Math.max(0, amount[i]);
        if (error) {
          t.variance[p.to[node[i]]] += error[i] * error[i];
          t.estimated = true;
        }
      }
    });
    const own = {
      then: t.selfThen,
      grown: t.self.map((x, i) => Math.max(0, x - t.selfThen[i])),
      shrunk: t.self.map((x, i) => Math.max(0, t.selfThen[i] - x)),
    };
    t.width = (own[state.metric] ?? t.self).slice();
    t.ownWidth = own[state.metric] ?? t.self;
    t.ownVariance = t.variance.slice();
    (t.now = t.self.slice()), (t.then = t.selfThen.slice());
    for (let i = t.parent.length - 1; i > 0; i--)
      for (const c of [t.width, t.now, t.then, t.variance]) c[t.parent[i]] += c[i];
    t.children = childrenOf(t.parent, t.width);
    return t;
  }

  // Nodes of the view: made as far as they are wide enough to be seen.

  const topDown = (i) => ({
    i,
    name: tree.name[i],
    width: tree.width[i],
    now: tree.now[i],
    then: tree.then[i],
    self: tree.self[i],
    variance: tree.variance[i],
  });

  /** Bottom-up: nodes with the same name at the same place of their inverted path. items: nodes with own bytes, each
      with the ancestor that is at this place. */
  function bottomUp(name, items) {
    const node = { name, items, width: 0, now: 0, then: 0, self: 0, variance: 0 };
    for (let k = 0; k < items.length; k += 2) {
      const leaf = items[k];
      (node.width += tree.ownWidth[leaf]), (node.now += tree.self[leaf]), (node.then += tree.selfThen[leaf]);
      node.variance += tree.ownVariance[leaf];
    }
    return node;
  }

  function callersOf(node) {
    const groups = new Map();
    for (let k = 0; k < node.items.length; k += 2) {
      const above = node.items[k + 1] < 0 ? node.items[k] : tree.parent[node.items[k + 1]];
      if (above <= 0) continue;
      const list = groups.get(tree.name[above]);
      if (list) list.push(node.items[k], above);
      else groups.set(tree.name[above], [node.items[k], above]);
    }
    const kids = [...groups].map(([name, items]) => Object.assign(bottomUp(name, items), below(node)));
    return kids.sort((a, b) => b.width - a.width || (names[a.name] < names[b.name] ? -1 : 1));
  }

  const below = (node) => ({ above: node, level: node.level + 1 });

  /** One node for all children that are too narrow to be drawn. */
  function narrow(kids, parent) {
    const node = { narrow: kids, width: 0, now: 0, then: 0, self: 0, variance: 0, ...below(parent) };
    for (const kid of kids) {
      const from = parent.items ? kid : topDown(kid);
      (node.width += from.width), (node.now += from.now), (node.then += from.then), (node.variance += from.variance);
    }
    return node;
  }

  /** The children that are at least `least` wide, and one node for all others. Zoomed into, that node has up to a
      hundred children of this kind. */
  function childrenIn(node, least) {
    if (node.narrow && node !== state.zoom) return [];
    const parent = node.narrow ? node.above : node;
    const all = node.narrow ?? (parent.items ? (parent.kids ??= callersOf(parent)) : tree.children(parent.i));
    const list = [];
    let n = 0; /* children are sorted, the widest first */
    parent.made ??= new Map(); /* a zoomed node stays the same object when it is drawn again */
    for (const kid of all) {
      const width = parent.items ? kid.width : tree.width[kid];
      if (width < least || width <= 0) break;
      if (!parent.items && !parent.made.has(kid)) parent.made.set(kid, { ...topDown(kid), ...below(parent) });
      list.push(parent.items ? kid : parent.made.get(kid));
      n++;
    }
    const step = node.narrow ? Math.ceil((all.length - n) / 100) : all.length;
    for (; n < all.length; n += step) {
      const rest = narrow(all.slice(n, n + step), parent);
      if (rest.width > 0 && rest.width >= least) list.push(rest);
    }
    return list;
  }

  function rootNode() {
    if (!state.invert) return { ...topDown(0), level: 0 };
    const items = [];
    tree.self.forEach((_, i) => {
      if (tree.self[i] || tree.selfThen[i]) items.push(i, -1);
    });
    const root = bottomUp(0, items);
    return Object.assign(root, { now: tree.now[0], then: tree.then[0], width: tree.width[0], level: 0 });
  }

  const pathOf = (node) => {
    const path = [];
    for (; node && node !== state.root; node = node.above) path.unshift(node);
    return path;
  };
  const namesTo = (node) => pathOf(node).filter((n) => !n.narrow).map((n) => n.name);
  const nameOf = (node) =>
    node === state.root ? "all" : node.narrow ? `${countText(node.narrow.length)} smaller` : names[node.name];

  // Drawing.

  function change(node) {
    const before = node.then,
      after = node.now;
    return {
      by: after - before,
      share: before + after ? (after - before) / (before + after) : 0,
      noise: tree.estimated && node.variance > 0 && Math.abs(after - before) <= 2 * Math.sqrt(node.variance),
    };
  }

  function about(node) {
    const text = [nameOf(node)],
      whole = state.root;
    if (state.then) {
      const c = change(node);
      text.push(
        `${signed(c.by, unit())}: ${unit()(node.then)} before, ${unit()(node.now)} after` +
          (c.noise ? ", which sampling may explain" : ""),
      );
    } else {
      text.push(`${unit()(node.now)}, ${shareText(node.now, whole.now)}`);
      if (node.self && !node.items && node.self !== node.now) text.push(`${unit()(node.self)} itself`);
      if (node.variance && tree.estimated) text.push(`\u00b1 ${sizeText(Math.sqrt(node.variance))}`);
    }
    return text.join(" \u2013 ");
  }
  const unit = () => (state.metric === "blocks" ? (n) => `${countText(n)} blocks` : sizeText);

  function dress(cell, node) {
    const name = nameOf(node.data),
      label = about(node.data) + (node.deeper ? " \u2013 zoom in for more" : ""),
      width = node.x1 - node.x0;
    cell.textContent = width < 12 ? "" : width < 7 * name.length ? (short.get(node.data.name) ?? name) : name;
    cell.title = label;
    cell.setAttribute("aria-label", label);
    cell.classList.toggle("deeper", !!node.deeper);
    if (node.data.narrow || node.data.name === other || node.data === state.root) cell.classList.add("other");
    else if (node.lifted) cell.classList.add("above");
    if (state.then) {
      const c = change(node.data);
      cell.classList.add(c.noise ? "noise" : "change");
      cell.style.setProperty("--h", c.by > 0 ? 8 : 215);
      cell.style.setProperty("--k", `${Math.round(100 * Math.min(1, Math.abs(c.share) * 1.6))}%`);
    } else
      cell.style.setProperty("--h", state.axis === "backtrace" ? (hueOf(name) % 44) + 8 : (hueOf(name) % 120) + 150);
  }

  function draw() {
    const width = Math.max(300, view.clientWidth),
      zoom = state.zoom,
      above = [state.root, ...pathOf(zoom).slice(0, -1)].filter((n) => n !== zoom);
    const least = zoom.width / Math.min(width / THINNEST, MOST_BESIDE);
    let levels = 2 * LEVELS,
      laid;
    do {
      levels /= 2; /* fewer levels if there are too many cells to draw */
      laid = d3.hierarchy(zoom, (node) => (node.level - zoom.level < levels ? childrenIn(node, least) : []));
    } while (laid.descendants().length > MOST_CELLS && levels > 1);
    laid.each((node) => {
      node.value = node.data.width;
      node.deeper = node.data.level - zoom.level >= levels && childrenIn(node.data, least).length > 0;
    });
    d3.partition().size([width, (laid.height + 1) * ROW])(laid);
    const rows = above.length + laid.height + 1;
    const lifted = above.map((data, i) => ({
      data,
      depth: i,
      x0: 0,
      x1: width,
      y0: i * ROW,
      y1: (i + 1) * ROW,
      lifted: true,
    }));
    lifted.forEach((node, i) => {
      node.parent = lifted[i - 1];
      node.children = [lifted[i + 1] ?? laid];
    });
    laid.each((node) => {
      node.depth += above.length;
      node.y0 = node.depth * ROW;
      node.y1 = node.y0 + ROW;
    });
    if (lifted.length) laid.parent = lifted.at(-1);
    drawn = [...lifted, ...laid.descendants()];
    if (state.flame) for (const node of drawn) [node.y0, node.y1] = [rows * ROW - node.y1, rows * ROW - node.y0];
    view.style.height = `${rows * ROW + 2}px`;
    drawCells(view, drawn, width, dress);
    const top = Math.max(0, lifted.length - 3) * ROW;
    view.scrollTop = state.flame ? rows * ROW - top - view.clientHeight : top;
    $("whole").hidden = zoom === state.root;
    mark();
    cursor.reset(drawn, lifted.length);
    $("detail").textContent = about(zoom);
  }

  /** Marks the matches of the search, and prints their sum in the view and in all. */
  function mark() {
    const cells = view.children;
    view.classList.toggle("searching", !!hits);
    drawn.forEach((node, i) => {
      node.hit = !!hits && node.data !== state.root && hits[node.data.name] === 1;
      cells[i].classList.toggle("hit", node.hit);
    });
    if (!hits) {
      $("hits").textContent = "";
      return;
    }
    const covered = new Uint8Array(tree.parent.length);
    let sum = 0;
    for (let i = 1; i < covered.length; i++) {
      covered[i] = covered[tree.parent[i]] || hits[tree.name[i]];
      if (covered[i] && !covered[tree.parent[i]]) sum += tree.width[i];
    }
    $("hits").textContent = sum ? `${unit()(sum)}, ${shareText(sum, tree.width[0])}` : "no match";
  }

  // Totals of names.

  /** The total of each name, which counts once per path, and its own bytes. */
  function sitesOf() {
    const sites = new Map(),
      times = new Uint32Array(names.length),
      path = [0],
      next = [0];
    while (path.length) {
      const i = path.at(-1),
        children = tree.children(i);
      if (next[next.length - 1] < children.length) {
        const child = children[next[next.length - 1]++],
          name = tree.name[child];
        if (!sites.has(name)) sites.set(name, { name, now: 0, then: 0, self: 0, selfThen: 0 });
        const site = sites.get(name);
        (site.self += tree.self[child]), (site.selfThen += tree.selfThen[child]);
        if (!times[name]++) {
          (site.now += tree.now[child]), (site.then += tree.then[child]);
        }
        path.push(child), next.push(0);
      } else {
        times[tree.name[i]]--; /* the root does not count: it has no name */
        path.pop(), next.pop();
      }
    }
    return [...sites.values()];
  }

  const table = sortedTable($("sites"), $("sites-more"), [], 0);
  function siteColumns() {
    const nameColumn = {
      title: state.axis === "backtrace" ? "Function" : visible(state.axis),
      name: true,
      value: (s) => names[s.name],
      text: () => undefined,
      cell: (td, s) =>
        td.append(
          element("button", names[s.name], {
            type: "button",
            className: "link",
            title: names[s.name],
            onclick: () => look(names[s.name]),
          }),
        ),
    };
    const columns = state.then
      ? [
          {
            title: "Change",
            value: (s) => s.now - s.then,
            text: (s) => signed(s.now - s.then, unit()),
            cell: changeCell((s) => s.now - s.then),
          },
          {
            title: "Itself",
            value: (s) => s.self - s.selfThen,
            text: (s) => signed(s.self - s.selfThen, unit()),
            cell: changeCell((s) => s.self - s.selfThen),
          },
          { title: "Before", value: (s) => s.then, text: (s) => unit()(s.then) },
          { title: "After", value: (s) => s.now, text: (s) => unit()(s.now) },
        ]
      : [
          { title: "Total", about: "with callees", value: (s) => s.now, text: (s) => unit()(s.now) },
          {
            title: "Share",
            value: (s) => s.now,
            text: (s) => shareText(s.now, tree.now[0]),
            cell: shareCell(
              (s) => s.now,
              () => tree.now[0],
            ),
          },
          {
            title: "Itself",
            about:
              tableOf(state.heap, state.axis) && state.heap.condensed
                ? "or callees that the dump does not list"
                : "without callees",
            value: (s) => s.self,
            text: (s) => unit()(s.self),
          },
          {
            title: "Share",
            value: (s) => s.self,
            text: (s) => shareText(s.self, tree.now[0]),
            cell: shareCell(
              (s) => s.self,
              () => tree.now[0],
            ),
          },
        ];
    table.columns([...columns, nameColumn], state.then ? 1 : 2);
  }
  const isFound = () => hits && ((s) => hits[s.name] === 1);

  function look(text) {
    $("search").value = text;
    search();
    view.scrollIntoView({ block: "nearest" });
  }
  function search() {
    hits = matching(names, $("search").value);
    mark();
    table.filter(isFound());
  }

  // Selection.

  const sideText = (heap) =>
    [
      data.files.length > 1 ? data.files[heap.file] : "",
      heap.process || (heap.pid ? "process" : ""),
      heap.pid || "",
      heap.allocator ?? "",
      heap.kind === "live" ? "" : heap.kind,
    ]
      .filter(Boolean)
      .map((part) => visible(String(part)))
      .join(" ");
  const groupOf = (heap) => JSON.stringify([heap.file, heap.pid, heap.process, heap.allocator, heap.kind]);
  const groups = new Map();
  for (const heap of heaps) {
    if (!groups.has(groupOf(heap))) groups.set(groupOf(heap), []);
    groups.get(groupOf(heap)).push(heap);
  }
  const begin = heaps.reduce((first, heap) => Math.min(first, heap.time_us), Infinity);
  const timeText = (heap) => `${((heap.time_us - begin) / 1e6).toFixed(1)} s`;
  const dumpText = (heap) =>
    groups.get(groupOf(heap)).length > 1
      ? `${heap.dump ? `dump ${visible(heap.dump)} ` : ""}at ${timeText(heap)}`
      : "";

  function rebuild() {
    const zoomed = namesTo(state.zoom);
    const tables = [state.heap, state.then].filter(Boolean).map((heap) => tableOf(heap, state.axis));
    if (state.only && tables.some((table) => axisIn(table, state.only.axis) < 0)) state.only = null;
    tree = makeTree();
    state.root = rootNode();
    state.zoom = state.root;
    for (const name of zoomed) {
      const next = childrenIn(state.zoom, 0).find((kid) => kid.name === name);
      if (!next) break;
      state.zoom = next;
    }
    siteColumns();
    draw();
    table.show(sitesOf(), isFound());
    $("only").hidden = !state.only;
    if (state.only) $("only").textContent = `only ${names[state.only.path.at(-1)]} \u00d7`;
    tell();
  }

  function tell() {
    const heap = state.heap,
      table = tableOf(heap, state.axis),
      text = [sizeText(heap.bytes)];
    if (heap.blocks !== null && !data.counted) text.push(`${countText(heap.blocks)} blocks`);
    if (heap.sample_bytes) text.push(`estimated from a sample of one block per ${sizeText(heap.sample_bytes)}`);
    if (groups.get(groupOf(heap)).length > 1) text.unshift(dumpText(heap));
    if (heap.condensed) text.push("the dump lists only its largest entries");
    if (heap.more)
      text.push(`a sum of heaps that list different entries: shown entries may hold up to ${sizeText(heap.more)} more (heapdump tree shows the bound of each)`);
    if (table?.kept < table?.of)
      text.push(
        `of ${countText(table.of)} entries the ${countText(table.kept)} with most bytes are on this page, ` +
          `the rest, at most ${sizeText(table.least)} each, is <other> (--entries)`,
      );
    const then = tableOf(state.then, state.axis);
    if (then?.kept < then?.of) text.push(`the other heap has entries of ${sizeText(then.least)} or more`);
    if (state.then && (heap.condensed || state.then.condensed))
      text.push("entries that one heap does not list count there for their callers");
    if (state.then) text.push("red grew, blue shrank" + (tree.estimated ? ", striped may be by chance" : ""));
    $("told").textContent = text.join("; ");
  }

  function options(select, list, chosen) {
    select.replaceChildren(
      ...list.map(([value, text]) => element("option", text, { value, selected: value === chosen })),
    );
    select.value = chosen;
  }

  /** Offers the choices that depend on the heap. */
  function offer() {
    const axes = new Set();
    for (const heap of [state.heap, state.then])
      for (const t of heap?.tables ?? []) for (const a of t.axes) if (a.parent.length > 1) axes.add(a.name);
    if (!axes.size) axes.add(state.heap.tables[0].axes[0].name);
    if (!axes.has(state.axis)) state.axis = data.by && axes.has(data.by) ? data.by : [...axes][0];
    options(
      $("axis"),
      [...axes].map((a) => [a, visible(a)]),
      state.axis,
    );
    const metrics = state.then
      ? [
          ["bytes", "size after"],
          ["then", "size before"],
          ["grown", "growth"],
          ["shrunk", "decrease"],
        ]
      : [["bytes", data.counted ? "amount" : "bytes"]];
    if (!state.then && !data.counted && !state.heap.tables.some((t) => t.blocks.includes(-1)))
      metrics.push(["blocks", "blocks"]);
    if (!metrics.some(([m]) => m === state.metric)) state.metric = "bytes";
    options($("metric"), metrics, state.metric);
    $("metric").parentElement.hidden = metrics.length < 2;
    options(
      $("heap"),
      [...groups].map(([key, list]) => [
        key,
        [sideText(list.at(-1)), list.length > 1 ? `${list.length} dumps` : sizeText(list[0].bytes)]
          .filter(Boolean)
          .join(" \u2013 "),
      ]),
      groupOf(state.heap),
    );
    const others = heaps
      .map((heap, i) => [String(i), heap])
      .filter(([, heap]) => heap !== state.heap && heap.tables && heap.kind === state.heap.kind);
    options(
      $("compare"),
      [
        ["", "nothing"],
        ...others.map(([i, heap]) => [
          i,
          [sideText(heap), dumpText(heap), sizeText(heap.bytes)].filter(Boolean).join(" \u2013 "),
        ]),
      ],
      state.then ? String(heaps.indexOf(state.then)) : "",
    );
    $("compare").parentElement.hidden = !others.length;
    $("unhide").hidden = !hides || state.axis !== "backtrace";
  }

  function choose(changes) {
    Object.assign(state, changes);
    if (changes.heap && state.then === state.heap) state.then = null;
    offer();
    timeLine();
    rebuild();
  }

  // Time line.

  function timeLine() {
    const dumps = groups.get(groupOf(state.heap)),
      svg = d3.select("#line");
    $("time").hidden = dumps.length < 2;
    if (dumps.length < 2) return;
    const width = Math.max(300, $("line").clientWidth || view.clientWidth),
      height = 110,
      left = 70,
      bottom = 92,
      top = 8;
    const t0 = dumps[0].time_us,
      t1 = dumps.at(-1).time_us,
      most = dumps.reduce((most, d) => Math.max(most, d.bytes), 1);
    const x = (d) =>
      left + (width - left - 10) * (t1 > t0 ? (d.time_us - t0) / (t1 - t0) : dumps.indexOf(d) / (dumps.length - 1));
    const y = (bytes) => bottom - ((bottom - top) * bytes) / most;
    const curve = dumps.map((d) => `${x(d).toFixed(1)},${y(d.bytes).toFixed(1)}`).join("L");
    svg
      .attr("viewBox", `0 0 ${width} ${height}`)
      .attr(
        "aria-label",
        `${sizeText(dumps[0].bytes)} at first, ${sizeText(most)} at most, ${sizeText(dumps.at(-1).bytes)} at last, ` +
          `in ${dumps.length} dumps over ${((t1 - t0) / 1e6).toFixed(1)} seconds`,
      );
    svg
      .selectAll("line.grid")
      .data([0, 0.5, 1])
      .join("line")
      .attr("class", "grid")
      .attr("x1", left)
      .attr("x2", width - 10)
      .attr("y1", (v) => y(v * most))
      .attr("y2", (v) => y(v * most));
    svg
      .selectAll("path.area")
      .data([0])
      .join("path")
      .attr("class", "area")
      .attr("d", `M${x(dumps[0])},${bottom}L${curve}L${x(dumps.at(-1))},${bottom}Z`);
    svg.selectAll("path.curve").data([0]).join("path").attr("class", "curve").attr("d", `M${curve}`);
    const marks = [["at", state.heap]];
    if (state.then && dumps.includes(state.then)) marks.push(["then", state.then]);
    svg
      .selectAll("line.mark")
      .data(marks)
      .join("line")
      .attr("class", ([kind]) => `mark ${kind}`)
      .attr("x1", ([, d]) => x(d))
      .attr("x2", ([, d]) => x(d))
      .attr("y1", top)
      .attr("y2", bottom);
    const texts = [
      [left - 6, y(most) + 8, "end", sizeText(most)],
      [left - 6, bottom, "end", "0"],
      [left, height - 4, "start", timeText(dumps[0])],
      [width - 10, height - 4, "end", timeText(dumps.at(-1))],
    ];
    svg
      .selectAll("text")
      .data(texts)
      .join("text")
      .attr("x", (t) => t[0])
      .attr("y", (t) => t[1])
      .attr("text-anchor", (t) => t[2])
      .text((t) => t[3]);
    const slider = $("dump");
    slider.max = dumps.length - 1;
    slider.value = dumps.indexOf(state.heap);
    slider.setAttribute("aria-valuetext", `${dumpText(state.heap)}, ${sizeText(state.heap.bytes)}`);
    $("line").onclick = (event) => {
      const at = ((event.clientX - $("line").getBoundingClientRect().left) / $("line").clientWidth) * width;
      nearest(dumps.reduce((best, d, i) => (Math.abs(x(d) - at) < Math.abs(x(dumps[best]) - at) ? i : best), 0));
    };
    slider.oninput = () => nearest(+slider.value);
    function nearest(i) {
      /* this dump, or the nearest one with entries on the page */
      for (let k = 0; k < dumps.length; k++)
        for (const d of [dumps[i - k], dumps[i + k]]) if (d?.tables) return choose({ heap: d });
    }
  }

  // Keys and buttons.

  const toggle = (id, key, field, also) => {
    $(id).onclick = keys[key] = () => {
      state[field] = !state[field];
      $(id).ariaPressed = String(state[field]);
      also();
    };
  };
  const zoomTo = (node) => {
    state.zoom = node;
    draw();
  };
  const unzoomed = () => {
    state.zoom = state.root;
    rebuild();
  };
  toggle("invert", "i", "invert", unzoomed);
  toggle("flame", "f", "flame", draw);
  toggle("unhide", "h", "all", unzoomed);
  $("whole").onclick = () => zoomTo(state.root);
  $("only").onclick = () => {
    state.only = null;
    rebuild();
  };
  function by(axis) {
    /* the zoomed part only */
    const path = namesTo(state.zoom);
    const table = tableOf(state.heap, state.axis);
    if (path.length && !state.invert && axisIn(table, axis) >= 0) state.only = { axis: state.axis, path };
    state.zoom = state.root;
    choose({ axis });
  }
  $("axis").onchange = () => by($("axis").value);
  keys.b = () => {
    const list = [...$("axis").options].map((o) => o.value);
    by(list[(list.indexOf(state.axis) + 1) % list.length]);
  };
  $("metric").onchange = () => choose({ metric: $("metric").value });
  $("heap").onchange = () =>
    choose({ heap: groups.get($("heap").value).findLast((heap) => heap.tables), only: null });
  $("compare").onchange = () => choose({ then: heaps[$("compare").value] ?? null });
  searchField($("search"), view, search);
  const cursor = cursorOf(view, {
    up: () => (state.flame ? "ArrowDown" : "ArrowUp"),
    show: (node) => {
      $("detail").textContent = about(node.data);
    },
    enter: (node) => zoomTo(node.data),
    out: () => zoomTo(pathOf(state.zoom).at(-2) ?? state.root),
    whole: () => zoomTo(state.root),
  });
  let waits = 0;
  addEventListener("resize", () => {
    clearTimeout(waits);
    waits = setTimeout(() => {
      timeLine();
      draw();
    }, 100);
  });

  // Initial view: the largest of the last heaps, live if possible, compared with the other file's heap.

  $("profile").hidden = false;
  const lasts = [...groups.values()].map((list) => list.findLast((heap) => heap.tables)).filter(Boolean);
  const best = (list) => list.reduce((a, b) => (b.bytes > (a?.bytes ?? -1) ? b : a), null);
  const first = (list) => best(list.filter((heap) => heap.kind === "live")) ?? best(list);
  const heap = first(lasts.filter((h) => h.file === data.files.length - 1)) ?? first(lasts);
  if (!heap) {
    $("told").textContent = "no heap";
    return;
  }
  const like = (h) => h.file !== heap.file && h.allocator === heap.allocator && h.kind === heap.kind;
  const then =
    data.files.length < 2
      ? null
      : (lasts.find((h) => like(h) && h.process === heap.process) ??
        lasts.find(like) ??
        best(lasts.filter((h) => h.file !== heap.file && h.kind === heap.kind)));
  choose({ heap, then, metric: "bytes" });
}
