"""Makes pprof profiles for pprof.sh, and converts them and trees to stacks.

    addresses SOURCE DIR   programs, and profiles of the addresses of calls in them
    mappings N PATH        a profile with N mappings; %d in PATH is their number
    drops DIR              profiles with drop_frames; prints their names
    stacks                 stacks of "go tool pprof -raw" on standard input
    rows                   stacks of "heapdump tree --json" on standard input
"""
import json
import os
import random
import re
import subprocess
import sys


def varint(n):
    out = b''
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n) if n else b''


def message(field, *parts):
    data = b''.join(parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


class Profile:
    def __init__(self):
        self.strings = ['', 'inuse_objects', 'count', 'inuse_space', 'bytes']
        self.data = message(1, number(1, 1), number(2, 2)) + message(1, number(1, 3), number(2, 4))

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def sample(self, locations, size):
        self.data += message(2, message(1, *map(varint, locations)), message(2, varint(1), varint(size)))

    def write(self, path):
        for text in self.strings:
            self.data += message(6, text.encode())
        with open(path, 'wb') as file:
            file.write(self.data)


def read(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def calls(binary):
    """File offsets of the calls of leak, work and malloc, each in another function; and the build id."""
    build_id = re.search(r'Build ID: ([0-9a-f]+)', read('readelf', '-n', binary)).group(1)
    segments = [[int(x, 16) for x in line.split()[1:5]] for line in read('readelf', '-lW', binary).splitlines()
                if line.split()[:1] == ['LOAD']]
    function, at = None, {}
    for line in read('objdump', '-d', '--no-show-raw-insn', binary).splitlines():
        begin = re.match(r'[0-9a-f]+ <(\w+)>:', line)
        call = re.match(r'\s*([0-9a-f]+):\s+call[q ]', line)
        if begin:
            function = begin.group(1)
        elif call and function in ('leak', 'work', 'main'):
            at[function] = int(call.group(1), 16)
    offsets = []
    for name in ('leak', 'work', 'main'):
        for offset, start, _, size in segments:
            if start <= at[name] < start + size:
                offsets.append((at[name] - start + offset, at[name]))
    return offsets, build_id


def addresses(source, directory):
    def profile(name, binary, offsets, build_id, start, offset):
        p = Profile()
        path, text = p.string(os.path.join(directory, binary)), p.string(build_id)
        p.sample([1, 2, 3], 100)
        p.data += message(3, number(1, 1), number(2, start), number(3, start + 0x4000), number(4, offset),
                          number(5, path), number(6, text))
        for i, at in enumerate(offsets):
            p.data += message(4, number(1, i + 1), number(2, 1), number(3, start + at[0] - offset))
        p.write(name)

    flags = {'pie': ['-pie'], 'no-pie': ['-no-pie'], 'moved': ['-pie', '-Wl,-z,noseparate-code', '-Wl,-Ttext-segment=0x10000']}
    for name, more in flags.items():
        subprocess.run(['cc', '-g', '-O1', '-fPIE' if '-pie' in more else '-fno-pie', '-fno-optimize-sibling-calls', '-Wl,--build-id',
                        *more, source, '-o', name + '.bin'], check=True)
        offsets, build_id = calls(name + '.bin')
        base = offsets[0][0] & ~0xfff
        start = offsets[0][1] & ~0xfff if name == 'no-pie' else 0x555555555000
        profile(name + '.pb', name + '.bin', offsets, build_id, start, base)
        if name == 'pie':
            profile('other.pb', 'gone/pie.bin', offsets, build_id[::-1], start, base)
            profile('without.pb', 'gone/pie.bin', offsets, '', start, base)


def mappings(count, path):
    p, parts = Profile(), []
    for i in range(1, int(count) + 1):
        p.strings += [path.replace('%d', str(i)), '%040x' % i]
        parts.append(message(3, number(1, i), number(2, i * 4096), number(3, i * 4096 + 4096), number(5, 2 * i + 3), number(6, 2 * i + 4)))
        parts.append(message(4, number(1, i), number(2, i), number(3, i * 4096 + 16)))
        parts.append(message(2, message(1, varint(i)), message(2, varint(1), varint(100))))
    p.data += b''.join(parts + [message(6, text.encode()) for text in p.strings])
    p.strings = []
    p.write('mappings%s.pb' % count)


PATTERNS = [('dropped', ''), ('dropped|inner.*', ''), ('(dropped|inner)::[a-f]+', '.*::a'), (r'dro(p)+ed::\w?|x\.y', ''),
            ('.*', 'user.*'), (r'[^u]\w*(::.)?', ''), (r'(?:in)?(ner)*::?:b|user1', 'user1|inner::b'), ('dropped::a$|^user2', '')]


def drops(directory):
    names = ['user1', 'user2', 'user3', 'dropped', 'dropped::a', 'dropped::b(int, (anonymous namespace)::t)', 'inner::a', 'inner::b', 'x.y', 'xzy']
    seed = random.Random(7)
    for k, (drop, keep) in enumerate(PATTERNS):
        p = Profile()
        for _ in range(40):
            p.sample([seed.randrange(len(names)) + 1 for _ in range(seed.randrange(1, 8))], seed.randrange(1, 1000))
        for i, name in enumerate(names):
            p.data += message(4, number(1, i + 1), message(4, number(1, i + 1))) + message(5, number(1, i + 1), number(2, p.string(name)))
        p.data += number(7, p.string(drop)) + number(8, p.string(keep))
        path = 'drop%d.pb' % k
        p.write(path)
        print(path)


def plain(name):
    return re.sub(r'\(.*', '', name)


def put(sums):
    for path, size in sorted(sums.items()):
        if size:
            print(path, size)


def stacks():
    """Samples come before locations; a line of the locations reads "1: 0x0 M=1 main.f /file:12 s=0"."""
    samples, names, part = [], {}, None
    for line in sys.stdin:
        if line.strip() in ('Samples:', 'Locations', 'Mappings'):
            part = line.strip()
        elif part == 'Samples:' and re.match(r'\s*\d+\s+\d+:', line):
            values, _, ids = line.partition(':')
            samples.append((ids.split(), int(values.split()[1])))
        elif part == 'Locations':
            found = re.match(r'\s*(\d+): 0x0 (?:M=\d+ )?(.*?) :0(:0)? s=0', line)
            if found:
                names[found.group(1)] = plain(found.group(2))
    sums = {}
    for ids, size in samples:
        path = ';'.join(names[i] for i in reversed(ids))
        sums[path] = sums.get(path, 0) + size
    put(sums)


def rows():
    sums, path = {}, []
    for row in json.load(sys.stdin)['heaps'][0]['rows']:
        del path[row['depth']:]
        if path:
            above = ';'.join(path[1:])
            sums[above] = sums.get(above, 0) - row['bytes']
        path.append(plain(row['name']))
        own = ';'.join(path[1:-1] if row['name'] == '<self>' else path[1:])
        sums[own] = sums.get(own, 0) + row['bytes']
    put(sums)


if __name__ == '__main__':
    {'addresses': addresses, 'mappings': mappings, 'drops': drops, 'stacks': stacks, 'rows': rows}[sys.argv[1]](*sys.argv[2:])
