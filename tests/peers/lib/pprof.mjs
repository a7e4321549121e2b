/* Reads pprof profiles with npm's decoders: pprof.mjs FORMAT|SPEEDSCOPE MODULES FILE...

   `format`: pprof-format's reading of a file: the name, unit and total of each sample type. `speedscope`: the reading of
   the importer in speedscope's page: the name, unit and total of each profile, and the frames with the largest self
   bytes, "bytes name file:line". */
import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import vm from 'node:vm'

const [what, modules, ...files] = process.argv.slice(2)
const require = createRequire(modules + '/')

/* All browser functions that a page calls. */
const anything = () => new Proxy(function () {}, {
  get: (target, key) => key === Symbol.toPrimitive ? () => 0 : key === Symbol.iterator ? [][Symbol.iterator] : anything(),
  apply: anything,
  construct: anything
})

/* The page's function that imports a file: its bundle runs until it calls a function that does not exist. */
function importer() {
  const release = modules + '/node_modules/speedscope/dist/release/'
  const name = readdirSync(release).find(f => /^speedscope-.*\.js$/.test(f))
  const text = readFileSync(release + name, 'utf8')
  const called = /loadFileFromBase64:\((\w+),(\w+)\)=>\{this\.loadProfile\(\(\)=>([\w$]+)\(/.exec(text)[3]
  const sandbox = {
    console: { ...console, log() {}, warn() {} }, TextDecoder, TextEncoder, URLSearchParams, Uint8Array, ArrayBuffer, DataView, Promise, setTimeout,
    atob, document: anything(), navigator: { userAgent: '' }, location: { hash: '', protocol: 'http:' }, localStorage: anything(),
    matchMedia: anything(), requestAnimationFrame: anything(), addEventListener: anything(), customElements: anything()
  }
  sandbox.window = sandbox.self = sandbox.globalThis = sandbox
  const marked = text.replace('(()=>{', `(()=>{globalThis.imported=(n,b)=>${called}(n,b);`)
  try { vm.runInNewContext(marked, sandbox) } catch (e) { if (process.env.VERBOSE) console.error(e) }
  return sandbox.imported
}

for (const file of files) {
  const bytes = readFileSync(file)
  if (what === 'format') {
    const { Profile } = require('pprof-format')
    const p = Profile.decode(bytes), text = i => p.stringTable.strings[Number(i)]
    p.sampleType.forEach((t, i) => console.log(text(t.type), text(t.unit), p.sample.reduce((n, s) => n + BigInt(s.value[i]), 0n).toString()))
    continue
  }
  const group = await importer()(file, bytes.toString('base64'))
  if (!group) throw new Error(file + ' is not imported')
  for (const profile of group.profiles) {
    const self = new Map()
    profile.forEachFrame(f => self.set(`${f.name} ${f.file ?? ''}:${f.line ?? ''}`, f.getSelfWeight()))
    console.log(profile.getName(), profile.getWeightUnit(), profile.getTotalWeight())
    for (const [name, weight] of [...self].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 10)) if (weight) console.log(' ', weight, name)
  }
}
