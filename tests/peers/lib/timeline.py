"""usage: timeline.py FILE..., by timeline.sh, in the directory of viewer.html: the trace viewer reads time lines
without a warning, and has all their heaps."""
import json, os, subprocess, sys
from browser import Browser

# A global dump for each moment, each with a heap that has entries.
READS = '''text => {
  const model = new tr.Model();
  new tr.importer.Import(model).importTraces([text]);
  const sizes = [];
  for (const process of Object.values(model.processes))
    for (const dump of process.memoryDumps)
      for (const [name, heap] of Object.entries(dump.heapDumps || {}))
        if (name === 'malloc') sizes.push(heap.entries.reduce((most, e) => Math.max(most, e.size || 0), 0));
  return { sizes, warnings: model.importWarnings.map(w => w.message) };
}'''

failed = False
with Browser(os.getcwd(), 1800) as b:
    b.open('file://' + os.path.abspath('viewer.html'))
    for file in sys.argv[1:]:
        said = json.loads(subprocess.run([os.environ['PWD'] + '/../../heapdump', 'info', '--json', file], check=True, capture_output=True).stdout)
        want = [h['bytes'] for h in said['files'][0]['heaps'] if h['kind'] == 'live']
        got = b.run('(' + READS + ')(' + json.dumps(open(file).read()) + ')')
        right = got['sizes'] == want and not got['warnings']
        failed |= not right
        print(('PASS ' if right else 'FAIL ') + f'{file} in the trace viewer: {len(got["sizes"])} heaps of {len(want)}; '
              + ('no warning' if not got['warnings'] else f'{len(got["warnings"])} warnings, {sorted(set(got["warnings"]))[:5]}'))
sys.exit(failed)
