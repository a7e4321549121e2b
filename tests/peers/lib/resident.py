"""Counts the composition of resident.c's resident memory from /proc/PID/smaps and the addresses that it prints.
Compares that with heapdump: resident.py count PID SAID > COUNT; resident.py compare COUNT INFO.json [DUMP]"""
import json, re, sys

def maps(pid):
    found = []
    for line in open(f'/proc/{pid}/smaps', errors='surrogateescape'):
        m = re.match(r'([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+)\s*(.*)$', line)
        if m:
            found.append({'start': int(m[1], 16), 'end': int(m[2], 16), 'may': m[3], 'name': m[5], 'rss': 0, 'flags': []})
        elif line.startswith('Rss:'):
            found[-1]['rss'] = int(line.split()[1]) * 1024
        elif line.startswith('VmFlags:'):
            found[-1]['flags'] = line.split()[1:]
    return found

def count(pid, said):
    all_maps, parts, live = maps(pid), {}, 0
    at = lambda address: next(m for m in all_maps if m['start'] <= address < m['end'])
    for line in open(said):
        words = line.split()
        if words[0] == 'block':
            at(int(words[1], 16))['part'] = 'allocator'
            live += int(words[2])
        elif words[0] == 'stack':
            at(int(words[1], 16))['part'] = 'stacks'
        elif words[0] == 'own':
            at(int(words[1], 16))['part'] = 'anonymous'
    before = None
    for m in all_maps:
        if 'part' not in m:
            name = m['name']
            if 'libheapdump_record' in name or name.startswith('/memfd:heapdump'):
                m['part'] = 'recorder'
            elif name.startswith('/'):
                m['part'] = 'files'
            elif name == '[heap]':
                m['part'] = 'allocator'
            elif not name and 'rr' in m['flags'] and 'nr' in m['flags']:
                m['part'] = 'recorder'
            elif not name and before and before['end'] == m['start'] and before['name'].startswith('/') and 'w' in m['may']:
                m['part'] = before['part']
            else:
                m['part'] = 'anonymous' if not name else 'unexplained'
        parts[m['part']] = parts.get(m['part'], 0) + m['rss']
        before = m
    parts['live_blocks'] = live
    parts['allocator'] -= live
    print(json.dumps(parts))

def compare(counted, info, dump=None):
    want = json.load(open(counted))
    got, dumps = {}, {}
    for s in json.load(open(info))['files'][0]['scalars']:
        if (s['allocator'] or '').startswith('resident') and (not dump or s['dump'] == dump):
            dumps.setdefault(s['dump'], {})[(s['allocator'], s['name'])] = s['value']
    got = list(dumps.values())[-1]
    wrong = []
    for part in ('live_blocks', 'allocator', 'stacks', 'files', 'anonymous', 'recorder'):
        n = got['resident/' + part, 'size']
        if abs(n - want[part]) > 0.02 * want[part]:
            wrong.append(f'{part} {n}, counted {want[part]}')
    all_parts = sum(v for (a, n), v in got.items() if a.startswith('resident/'))
    if all_parts != got['resident', 'size'] or abs(all_parts - sum(want.values())) > 0.02 * all_parts:
        wrong.append(f"all {got['resident', 'size']}, parts {all_parts}, counted {sum(want.values())}")
    if got['resident/unexplained', 'size'] > 0.05 * all_parts:
        wrong.append(f"unexplained {got['resident/unexplained', 'size']}")
    if not 0 <= got['resident', 'age'] < 3600000:
        wrong.append(f"age {got['resident', 'age']}")
    print('; '.join(wrong) or 'agrees')

{'count': count, 'compare': compare}[sys.argv[1]](*sys.argv[2:])
