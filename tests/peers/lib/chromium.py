"""usage: chromium.py record FILE | same BEFORE AFTER DUMP | allocators FILE

record: traces Debian's chromium with memory-infra. same: all events except those of process PID's dump DUMP are the
same bytes, in the same order. It uses no code of ours."""
import json, os, sys
from browser import Browser

def record(path):
    with Browser(os.path.dirname(path), 1800) as b:
        b.open('data:text/html,<h1>heaps</h1><script>var a=[];for(i=0;i<1e5;i++)a.push({i})</script>')
        b.send('Tracing.start', transferMode='ReturnAsStream', traceConfig={'recordMode': 'recordUntilFull',
               'includedCategories': ['disabled-by-default-memory-infra', 'toplevel', 'v8', 'blink']})
        for level in 'detailed', 'light':
            dump = b.send('Tracing.requestMemoryDump', levelOfDetail=level, deterministic=False)
            if not dump['success']: sys.exit('FAIL: chromium made no memory dump')
        b.post('Tracing.end')
        stream = b.wait('Tracing.tracingComplete')['stream']
        with open(path, 'w', encoding='utf-8', newline='') as f:
            while not (part := b.send('IO.read', handle=stream, size=1 << 20))['eof']: f.write(part['data'])
            f.write(part['data'])

def events(text):
    """The texts of the events as in the trace, and the text around them."""
    at = text.index('[', text.index('"traceEvents"')) + 1
    head, parts, decoder = text[:at], [], json.JSONDecoder()
    while True:
        while text[at] in ' \t\r\n,': at += 1
        if text[at] == ']': return head, parts, text[at:]
        end = decoder.raw_decode(text, at)[1]
        parts.append(text[at:end])
        at = end

def same(before, after, dump):
    head, old, tail = events(open(before, encoding='utf-8', newline='').read())
    new_head, new, new_tail = events(open(after, encoding='utf-8', newline='').read())
    ours = new[len(old):]
    json.loads(open(after, encoding='utf-8').read())       # the whole file is JSON
    if head != new_head or tail != new_tail: sys.exit('FAIL the text around the events differs')
    if old != new[:len(old)]: sys.exit('FAIL an event of the trace differs')
    kinds = [(e['ph'], e.get('id')) for e in map(json.loads, ours)]
    if ('v', dump) not in kinds or any(k not in (('v', dump), ('M', None)) for k in kinds): sys.exit(f'FAIL added were {kinds}')
    print(f'{len(old)} events')

def allocators(path):
    """For each part of a dump: pid, time, number of allocators, number of process totals."""
    for e in json.load(open(path, encoding='utf-8'))['traceEvents']:
        if e['ph'] != 'v': continue
        a = e['args']['dumps'].get('allocators', {})
        print(e['pid'], e['ts'], len(a), len(e['args']['dumps'].get('process_totals', {})))

{'record': record, 'same': same, 'allocators': allocators}[sys.argv[1]](*sys.argv[2:])
