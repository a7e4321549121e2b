// Answers the questions of examples/fleet.sql, one file per question: with an engine (duckdb, clickhouse) or heapdump
// (ours).
//   node fleet-sql.mjs duckdb|clickhouse|ours SQL MODULES HEAPDUMP     in a directory with in/*.rows
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'

const [who, sql, modules, heapdump] = process.argv.slice(2)
const parts = {}
for (const text of readFileSync(sql, 'utf8').split(/^(?=-- )/m)) {
  const title = text.split('\n', 1)[0].slice(3).split(/[,:]/)[0]
  const statements = text.replace(/^--.*\n/gm, '').split(/;\n/).map(s => s.trim()).filter(s => s)
  if (statements.length) parts[title] = statements
}
const questions = Object.keys(parts).filter(title => /^[A-Z]/.test(title))
const answer = (title, rows) => writeFileSync(`${who}.${questions.indexOf(title)}`, rows.map(row => row.join('\t') + '\n').join(''))
const plain = value => typeof value === 'object' ? value.value ?? String(value) : value
const need = createRequire(modules + '/node_modules/')

async function duckdb() {
  const connection = await (await need('@duckdb/node-api').DuckDBInstance.create(':memory:')).connect()
  for (const statement of parts.duckdb) await connection.run(statement)
  for (const title of questions)
    answer(title, (await (await connection.runAndReadAll(parts[title][0])).getRows()).map(row => row.map(plain)))
}

function clickhouse() {
  const { Session } = need('chdb')
  const place = mkdtempSync('chdb-')
  const session = new Session(place)
  for (const statement of parts.clickhouse) session.query(statement)
  for (const title of questions) {
    const found = session.query(parts[title][0], 'TSVRaw')
    answer(title, found.trimEnd().split('\n').map(line => line.split('\t')))
  }
  session.cleanup()
  rmSync(place, { recursive: true, force: true })
}

// heapdump's answers for some files. File names must not contain commas or quotes.
const run = (...args) => execFileSync(heapdump, args, { maxBuffer: 1 << 30, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
const files = pattern => readdirSync('in').filter(name => pattern.test(name)).map(name => 'in/' + name)
function merged(pattern, to) {
  run('merge', '--to', 'rows', '-o', to, ...files(pattern))
  const [names, ...lines] = readFileSync(to, 'utf8').trimEnd().split('\n').map(line => line.split(','))
  return lines.map(line => Object.fromEntries(line.map((cell, i) => [names[i], cell])))
}
const by = (...keys) => (a, b) => {
  for (const key of keys) {
    const x = key(a), y = key(b)
    if (x !== y) return x < y ? -1 : 1
  }
  return 0
}
const grouped = (rows, key) => rows.reduce((sums, row) => sums.set(row[key], (sums.get(row[key]) ?? 0n) + BigInt(row.bytes)), new Map())

// Paths of a diff with their cumulative bytes: only the first route to each, along the backtrace.
function grown() {
  const rows = JSON.parse(run('diff', '--json', '--frames', 'all', '--min-bytes', '1', 'was.csv', 'now.csv')).diffs[0].rows
  const path = []
  return rows.flatMap(row => {
    path.length = Math.max(0, row.depth - 1)
    path.push(row.axis === 'backtrace' && row.name !== '<self>' && row.name !== '<other>' ? row.name : null)
    return row.depth && !path.includes(null) ? [[path.join(';'), BigInt(row.before), BigInt(row.after)]] : []
  }).sort(by(row => row[1] - row[2], row => row[0])).slice(0, 20)
}

function ours() {
  const now = merged(/^2025-11-22/, 'now.csv'), was = merged(/^2025-11-21/, 'was.csv')
  const bytes = row => BigInt(row.bytes)
  answer(questions[0], now.sort(by(row => -bytes(row), row => row.stack, row => row.type)).slice(0, 20)
    .map(row => [row.stack, row.type, row.bytes, row.blocks, row.variance]))
  answer(questions[1], grown())
  const heaps = JSON.parse(run('info', '--json', ...files(/^2025-11-22/))).files
    .map(file => [file.file.match(/host\d+/)[0], BigInt(file.heaps[0].bytes)])
  const all = heaps.reduce((sum, heap) => sum + heap[1], 0n)
  const off = heap => { const d = heap[1] * BigInt(heaps.length) - all; return d < 0n ? d : -d }
  answer(questions[2], heaps.sort(by(off, heap => heap[0])).slice(0, 20).map(heap => [...heap, all]))
  const before = grouped(was, 'stack'), after = grouped(now, 'stack')
  const brought = [...new Set([...before.keys(), ...after.keys()])]
    .map(stack => [stack, (before.get(stack) ?? 0n) - (after.get(stack) ?? 0n)]).sort(by(x => x[1], x => x[0])).slice(0, 5).map(x => x[0])
  const releases = ['1.4', '1.5'].flatMap(release => {
    const names = new RegExp(`^2025-11-22-${release}`), held = grouped(merged(names, release + '.csv'), 'stack')
    const hosts = brought.map(() => 0)
    for (const file of files(names)) {
      const text = readFileSync(file, 'utf8')
      brought.forEach((stack, i) => { hosts[i] += text.includes(`,${stack},`) })
    }
    return brought.flatMap((stack, i) => held.has(stack) ? [[stack, release, held.get(stack), hosts[i]]] : [])
  })
  answer(questions[3], releases.sort(by(row => row[0], row => row[1])))
  merged(/^2025/, 'all.csv')
  answer(questions[4], JSON.parse(run('top', '--json', '--self', '--all', '--frames', 'all', 'all.csv')).heaps[0].rows
    .sort(by(row => -BigInt(row.self_bytes), row => row.name)).slice(0, 20)
    .map(row => [row.name, row.self_bytes, row.self_blocks, row.self_error]))
}

await { duckdb, clickhouse, ours }[who]()
