"""usage: chromium.py record FILE | same BEFORE AFTER DUMP | allocators FILE

record: a trace of Debian's chromium with memory-infra on, over the DevTools protocol (a pipe: chromium reads
commands from file 3 and answers on file 4, JSON ended by NUL). same: all events but those of process PID's dump
DUMP are the same, byte for byte, in the same order. Nothing of ours is used."""
import json, os, shutil, subprocess, sys, tempfile, threading

def record(path):
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    profile = tempfile.mkdtemp(dir=os.path.dirname(path))
    def place():
        os.setsid()
        a, b = os.dup(to_browser), os.dup(from_browser)   # out of the way of 3 and 4
        os.dup2(a, 3), os.dup2(b, 4)
    log = open(path + '.log', 'w')
    browser = subprocess.Popen(['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
        '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-breakpad',
        '--user-data-dir=' + profile, '--remote-debugging-pipe', 'about:blank'],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=place, close_fds=False)
    os.close(to_browser), os.close(from_browser)
    late = threading.Timer(1800, lambda: os.killpg(browser.pid, 9))
    late.start()
    answers, last = os.fdopen(to_us, 'rb'), 0
    def receive():
        message = bytearray()
        while (c := answers.read(1)) != b'\0':
            if not c: sys.exit('FAIL: chromium ended: see ' + path + '.log')
            message += c
        return json.loads(message)
    def wait(fits):
        while not fits(m := receive()): pass
        if 'error' in m: sys.exit('FAIL: ' + str(m['error']))
        return m.get('result', m.get('params'))
    def send(method, **params):
        nonlocal last
        last += 1
        session = params.pop('session', None)
        message = {'id': last, 'method': method, 'params': params}
        if session: message['sessionId'] = session
        os.write(from_us, json.dumps(message).encode() + b'\0')
        return wait(lambda m, id=last: m.get('id') == id)
    try:
        target = send('Target.createTarget', url='data:text/html,<h1>heaps</h1><script>var a=[];for(i=0;i<1e5;i++)a.push({i})</script>')
        page = send('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        send('Tracing.start', transferMode='ReturnAsStream', traceConfig={'recordMode': 'recordUntilFull',
             'includedCategories': ['disabled-by-default-memory-infra', 'toplevel', 'v8', 'blink']}, session=page)
        for level in 'detailed', 'light':
            dump = send('Tracing.requestMemoryDump', levelOfDetail=level, deterministic=False, session=page)
            if not dump['success']: sys.exit('FAIL: chromium made no memory dump')
        send('Tracing.end', session=page)
        stream = wait(lambda m: m.get('method') == 'Tracing.tracingComplete')['stream']
        with open(path, 'w', encoding='utf-8', newline='') as f:
            while not (part := send('IO.read', handle=stream, size=1 << 20, session=page))['eof']: f.write(part['data'])
            f.write(part['data'])
        os.write(from_us, b'{"id":0,"method":"Browser.close"}\0')
        browser.wait()
    finally:
        late.cancel()
        try: os.killpg(browser.pid, 9)
        except ProcessLookupError: pass
        shutil.rmtree(profile, ignore_errors=True)

def events(text):
    """The texts of the events, as they stand in the trace, and what stands around them."""
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
    json.loads(open(after, encoding='utf-8').read())       # and all of it is JSON
    if head != new_head or tail != new_tail: sys.exit('FAIL what stands around the events is not the same')
    if old != new[:len(old)]: sys.exit('FAIL an event of the trace is not the same')
    kinds = [(e['ph'], e.get('id')) for e in map(json.loads, ours)]
    if ('v', dump) not in kinds or any(k not in (('v', dump), ('M', None)) for k in kinds): sys.exit(f'FAIL added were {kinds}')
    print(f'{len(old)} events')

def allocators(path):
    """Of each part of a dump: pid, time, number of allocators, number of process totals."""
    for e in json.load(open(path, encoding='utf-8'))['traceEvents']:
        if e['ph'] != 'v': continue
        a = e['args']['dumps'].get('allocators', {})
        print(e['pid'], e['ts'], len(a), len(e['args']['dumps'].get('process_totals', {})))

{'record': record, 'same': same, 'allocators': allocators}[sys.argv[1]](*sys.argv[2:])
