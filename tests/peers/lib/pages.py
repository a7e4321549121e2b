"""Counts the pages that hold blocks, without heapdump.

pages.py list FILE PAGE_BYTES: FILE has lines "SITE ADDRESS SIZE". Prints the same JSON as `told`.
pages.py told [KEY]: reads heapdump pages --json from standard input and prints that form; `KEY` is the name of a site.
pages.py redis TOOL PID BLOCKS: stops the process, reads tally.c's table of blocks and /proc/PID/pagemap, and compares
them with the tool's answer."""
import json, os, signal, struct, subprocess, sys

def count(blocks, page_bytes):
    """blocks: (site, address, size). Returns the bytes of each site on each page."""
    pages = {}
    for site, at, size in blocks:
        end = at + (size or 1)
        for page in range(at // page_bytes, (end - 1) // page_bytes + 1):
            here = min(end, (page + 1) * page_bytes) - max(at, page * page_bytes)
            on = pages.setdefault(page, {})
            on[site] = on.get(site, 0) + here
    return pages

def summary(blocks, page_bytes):
    pages, sites = count(blocks, page_bytes), {}
    tenths = [0] * 10
    for site, at, size in blocks:
        s = sites.setdefault(site, dict(bytes=0, blocks=0, pages=0, own_pages=0, used_bytes=0))
        s['bytes'] += size
        s['blocks'] += 1
    for on in pages.values():
        used = sum(on.values())
        tenths[min(9, used * 10 // page_bytes)] += 1
        for site in on:
            sites[site]['pages'] += 1
            sites[site]['own_pages'] += len(on) == 1
            sites[site]['used_bytes'] += used
    return dict(pages=len(pages), shared_pages=sum(len(on) > 1 for on in pages.values()), bytes=sum(b[2] for b in blocks),
                blocks=len(blocks), used_bytes=sum(sum(on.values()) for on in pages.values()), pages_by_tenths=tenths, sites=sites)

def told(process, key='function'):
    sites = {s[key]: {k: s[k] for k in ('bytes', 'blocks', 'pages', 'own_pages', 'used_bytes')} for s in process['sites']}
    shares = sum(s['share_bytes'] for s in process['sites'])
    if shares != process['pages'] * process['page_bytes']: sites['shares'] = shares
    return dict({k: process[k] for k in ('pages', 'shared_pages', 'bytes', 'blocks', 'used_bytes', 'pages_by_tenths')}, sites=sites)

def tallied(path):
    data = open(path, 'rb').read()
    return [('all', at, size) for at, size in struct.iter_unpack('<QQ', data) if at and size != 2**64 - 1]

def resident(pid, pages, page_bytes):
    """Those of these pages that are in memory or swapped out."""
    found = set()
    with open(f'/proc/{pid}/pagemap', 'rb', buffering=0) as f:
        for page in pages:
            word = struct.unpack('<Q', os.pread(f.fileno(), 8, page * 8))[0]
            if word >> 62: found.add(page)
    return found

def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    while any(open(f'/proc/{pid}/task/{t}/stat').read().rsplit(')', 1)[1].split()[0] != 'T' for t in os.listdir(f'/proc/{pid}/task')): pass

def redis(tool, pid, path):
    page_bytes = os.sysconf('SC_PAGESIZE')
    for tries in range(100): # it may be stopped between the tally and the recorder
        stop(pid)
        process = json.loads(subprocess.check_output([tool, 'pages', '--json', str(pid)]))['processes'][0]
        blocks = tallied(path)
        pages = count(blocks, page_bytes)
        small = {p for _, at, size in blocks if size < page_bytes for p in (at // page_bytes, (at + max(size, 1) - 1) // page_bytes)}
        there = resident(pid, pages, page_bytes)
        os.kill(pid, signal.SIGCONT)
        if (process['blocks'], process['bytes']) == (len(blocks), sum(b[2] for b in blocks)): break
    want, got = summary(blocks, page_bytes), told(process)
    del want['sites'], got['sites'], want['shared_pages'], got['shared_pages']
    print('same' if want == got else f'{want} {got}')
    print(len(small - there), len(there), len(pages))

if sys.argv[1] == 'list':
    lines = [line.split() for line in open(sys.argv[2])]
    print(json.dumps(summary([(s, int(a, 16), int(n)) for s, a, n in lines], int(sys.argv[3])), sort_keys=True))
elif sys.argv[1] == 'told':
    process = json.load(sys.stdin)['processes'][0]
    print(json.dumps(told(process, *sys.argv[2:]), sort_keys=True))
else:
    redis(sys.argv[2], int(sys.argv[3]), sys.argv[4])
