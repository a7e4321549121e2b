// node speedscope.mjs PACKAGE FILE: reads a file with speedscope's own importer and prints JSON: for each profile its
// name, unit, total, number of stacks, weight without a stack, and the cumulative and self weight of each frame, as
// `heapdump top` has them. The package is a web page: its script runs here without a window, and the importer is
// taken from it.
import fs from "node:fs";
import vm from "node:vm";

const [dir, file] = process.argv.slice(2);
const release = `${dir}/dist/release/`;
const page = fs.readFileSync(release + fs.readdirSync(release).find((f) => /^speedscope-.*\.js$/.test(f)), "utf8");
const importer = /\(await ([\w$]+)\)\.importProfileGroupFromText/.exec(page)[1];
const shown = page.lastIndexOf("console.log(`speedscope v");
const end = page.lastIndexOf("})();");

// All browser functions that the page calls exist here, and do nothing.
const nothing = new Proxy(function () {}, { get: (t, k) => (k === Symbol.toPrimitive ? () => "" : nothing), apply: () => nothing, construct: () => nothing, set: () => true });
const context = { console: nothing, setTimeout, clearTimeout, TextDecoder, TextEncoder, URL, Promise, document: nothing, navigator: { userAgent: "", platform: "" }, localStorage: nothing, location: { hash: "", href: "" }, matchMedia: () => nothing, devicePixelRatio: 1, requestAnimationFrame: () => 0, addEventListener: () => {}, performance };
context.window = context.self = context.globalThis = context;
vm.runInNewContext(page.slice(0, shown) + `window.importer=${importer};` + page.slice(end), context);

const { importProfileGroupFromText } = await context.importer;
const group = await importProfileGroupFromText(file, fs.readFileSync(file, "utf8"));
if (!group) throw new Error("speedscope does not recognise this format");
const profiles = group.profiles.map((p) => {
  const names = {}, stack = [];
  let at = 0, stacks = 0, none = 0;
  const pass = (value) => {
    const weight = value - at;
    at = value;
    if (!weight) return;
    if (!stack.length) return void (none += weight);
    stacks++;
    for (const name of new Set(stack)) (names[name] ??= [0, 0])[0] += weight;
    names[stack.at(-1)][1] += weight;
  };
  p.forEachCall(
    (node, value) => { pass(value); stack.push(node.frame.name + (node.frame.file ? ` (${node.frame.file}:${node.frame.line})` : "")); },
    (node, value) => { pass(value); stack.pop(); });
  pass(p.getTotalWeight());
  return { name: p.getName(), unit: p.getWeightUnit(), total: p.getTotalWeight(), stacks, none, names };
});
console.log(JSON.stringify({ name: group.name, profiles }));
