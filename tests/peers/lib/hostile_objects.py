"""Makes hostile ELF files for hostile-objects.sh, and times `heapdump record` of programs with them."""
import ctypes, http.server, os, signal, struct, subprocess, sys, time, zlib


def record(tool, seconds, mib, *rest):
    """Prints "quick", or the time or memory beyond the limit."""
    out = open("out", "w"), open("err", "w")
    began = time.monotonic()
    p = subprocess.Popen([tool, "record", "-o", "out.json", *rest], stdout=out[0], stderr=out[1])
    limit = float(seconds)
    while True:
        pid, status, used = os.wait4(p.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() - began > limit:
            p.kill()
            print(f"still running after {limit} s")
            return
        time.sleep(0.02)
    if status:
        print(f"status {status}: {open('err').read()}")
    elif used.ru_maxrss > int(mib) * 1024:
        print(f"{used.ru_maxrss >> 10} MiB of memory, {mib} expected")
    else:
        print("quick")


def children(pid):
    try:
        return [int(c) for c in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except OSError:
        return []


def stop(tool, name, _, *program):
    """Sends a signal while names are resolved. After INT record may leave no file; after TERM the file has no
    names."""
    if os.path.exists("stopped.json"):
        os.remove("stopped.json")
    p = subprocess.Popen([tool, "record", "-o", "stopped.json", "--", *program], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while time.monotonic() < end:              # until only the process that resolves names remains, for a moment
        ids = children(p.pid)
        if len(ids) == 1 and b"--names-of-frames" in open(f"/proc/{ids[0]}/cmdline", "rb").read():
            time.sleep(0.7)
            if children(p.pid) == ids:
                break
        time.sleep(0.02)
    if p.poll() is not None:
        print("it ended before the signal")
        return
    began = time.monotonic()
    p.send_signal(getattr(signal, "SIG" + name))
    try:
        status = p.wait(10)
    except subprocess.TimeoutExpired:
        p.kill()
        print("it continues for 10 s")
        return
    took = time.monotonic() - began
    time.sleep(0.3)
    left = [i for i in ids if os.path.exists(f"/proc/{i}") and open(f"/proc/{i}/stat").read().split()[2] != "Z"]
    if status not in (0, -getattr(signal, "SIG" + name)):
        print(f"status {status}")
    elif took > 1:
        print(f"it took {took:.1f} s")
    elif left:
        print("it leaves a process")
    elif name == "TERM" and not os.path.exists("stopped.json"):
        print("it leaves no file")
    else:
        print("ends within a second")


def slowdown():
    """The factor by which a process takes longer now than on an idle machine."""
    began, used = time.monotonic(), time.process_time()
    while time.process_time() < used + 0.1:
        pass
    return max(1, (time.monotonic() - began) / 0.1)


def hears_ctrl_c():
    """A shell ignores INT in background jobs, and their children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(tool, times, *rest):
    """Ctrl-C, also to the program, at several moments of a recording. Prints the longest time to the end if it is
    above a second of an otherwise idle machine. The shortest of three measurements of each moment counts."""
    own = [] if "-o" in rest else ["-o", "interrupted.json"]

    def run(after):
        p = subprocess.Popen([tool, "record", *own, *rest], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=hears_ctrl_c)
        began = time.monotonic()
        try:
            if p.wait(after) not in (0, 1):
                sys.exit(f"status {p.returncode}")
            return time.monotonic() - began, 0
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGINT)
        sent = time.monotonic()
        try:
            p.wait(10)
        except subprocess.TimeoutExpired:
            p.kill()
        ended = time.monotonic()
        return sent - began, (ended - sent) / slowdown()
    whole, _ = run(12)
    took = []
    for i in range(int(times)):
        took.append(10)
        for _ in range(3):
            took[-1] = min(took[-1], run(whole * (i + 0.5) / int(times))[1])
            if took[-1] <= 1:
                break
    print("ends within a second" if max(took) <= 1 else f"it took {max(took):.1f} s")


def ranges(functions, count):
    """Assembly: the given number of functions whose DW_AT_ranges is one list with the given number of ranges."""
    print(f"""
 .text
 .globl main
main: call some@PLT
 xor %eax, %eax
 ret
 .section .debug_abbrev,"",@progbits
 .uleb128 1, 0x11
 .byte 1
 .uleb128 0x11, 1, 0x12, 7
 .byte 0, 0
 .uleb128 2, 0x2e
 .byte 0
 .uleb128 0x55, 0x17
 .byte 0, 0, 0
 .section .debug_info,"",@progbits
 .4byte .Lend - .Lbegin
.Lbegin: .2byte 4
 .4byte 0
 .byte 8
 .uleb128 1
 .8byte main, 4096
 .rept {functions}
 .uleb128 2
 .4byte 0
 .endr
 .byte 0
.Lend:
 .section .debug_ranges,"",@progbits
 .rept {count}
 .8byte 0, 16
 .endr
 .8byte 0, 0""")


def packed(kind, program, to):
    """A copy whose .debug_info is gigabytes of zeros, compressed."""
    size, chunk = 184 << 24, bytes(1 << 24)
    if kind == "zlib":
        c = zlib.compressobj(9, zlib.DEFLATED, -15)
        block = c.compress(chunk) + c.flush(zlib.Z_FULL_FLUSH)
        data = b"\x78\x9c" + block * (size >> 24) + b"\x03\0" + struct.pack(">I", (size % 65521) << 16 | 1)
    else:
        # zstd's own encoding of blocks that repeat a byte, at most 128 KiB each.
        block, n = 1 << 17, size >> 17
        data = b"\x28\xb5\x2f\xfd" + b"\xe0" + struct.pack("<Q", size)
        data += b"".join(struct.pack("<I", block << 3 | 1 << 1 | (i == n - 1))[:3] + b"\0" for i in range(n))
    elf = bytearray(open(program, "rb").read())
    shoff, = struct.unpack_from("<Q", elf, 0x28)
    count, names = struct.unpack_from("<HH", elf, 0x3c)
    strings, = struct.unpack_from("<Q", elf, shoff + 64 * names + 24)
    for i in range(count):
        at = shoff + 64 * i
        name, = struct.unpack_from("<I", elf, at)
        if elf[strings + name:].startswith(b".debug_info\0"):
            section = struct.pack("<IIQQ", 1 if kind == "zlib" else 2, 0, size, 1) + data
            flags, = struct.unpack_from("<Q", elf, at + 8)
            struct.pack_into("<Q", elf, at + 8, flags | 0x800)
            struct.pack_into("<QQ", elf, at + 24, len(elf), len(section))
            elf += section
    open(to, "wb").write(elf)


def name(levels):
    """A mangled name whose length doubles with each level."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = "_Z1f1AIiiE"
    for i in range(int(levels)):
        text += "S_I" + f"S{digits[i]}_" * 2 + "E"
    print(text, end="")


def relocatable(pages, to):
    """A relocatable file with a relocation in each page of a .debug_info that has no bytes on the disk."""
    pages, page = int(pages), 4096
    names = b"\0.text\0.debug_info\0.rela.debug_info\0.symtab\0.strtab\0.shstrtab\0.note.gnu.build-id\0.debug_abbrev\0"
    name = lambda n: names.index(b"\0" + n + b"\0") + 1
    place, at = {}, 64
    with open(to, "wb") as f:
        def put(what, data):
            nonlocal at
            at = (at + 63) & ~63
            f.seek(at)
            f.write(data)
            place[what] = at, len(data)
            at += len(data)
        put("text", b"\x90" * 0x2000)
        put("note", struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes([1, 2, 3]) + bytes(17)) # as hostile_region.c has it
        put("abbrev", b"\1\x11\0\0\0\0")
        put("symbols", bytes(24) + struct.pack("<IBBHQQ", 0, 3, 0, 1, 0, 0) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0, 0x2000))
        put("strings", b"\0f\0")
        put("names", names)
        put("relocations", b"".join(struct.pack("<QQq", i * page + 64, 1 << 32 | 1, 1 << 60) for i in range(pages)))
        at = (at + page - 1) & -page
        f.seek(at)
        f.write(struct.pack("<IHIB", 7, 4, 0, 8))                                             # an empty unit
        place["info"] = at, pages * page
        at += pages * page
        sections = [(0,) * 10]
        for n, kind, flags, what, link, info, align, each in (
                (b".text", 1, 6, "text", 0, 0, 16, 0), (b".debug_info", 1, 0, "info", 0, 0, 1, 0),
                (b".rela.debug_info", 4, 0x40, "relocations", 4, 2, 8, 24), (b".symtab", 2, 0, "symbols", 5, 2, 8, 24),
                (b".strtab", 3, 0, "strings", 0, 0, 1, 0), (b".shstrtab", 3, 0, "names", 0, 0, 1, 0),
                (b".note.gnu.build-id", 7, 2, "note", 0, 0, 4, 0), (b".debug_abbrev", 1, 0, "abbrev", 0, 0, 1, 0)):
            sections.append((name(n), kind, flags, 0, *place[what], link, info, align, each))
        f.seek(at)
        for s in sections:
            f.write(struct.pack("<IIQQQQIIQQ", *s))
        f.seek(0)
        f.write(b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, at, 0, 64, 0, 0, 64, 9, 6))


class Flood(http.server.BaseHTTPRequestHandler):
    """Sends without end, and prints the number of MiB sent."""
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        sent, much = 0, bytes(1 << 20)
        try:
            while True:
                self.wfile.write(much)
                sent += 1
        except OSError:
            print(sent, flush=True)

    def log_message(self, *_):
        pass


class Junk(Flood):
    """Sends 40 MiB that are not an ELF file."""
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", 40 << 20)
        self.end_headers()
        try:
            for _ in range(40):
                self.wfile.write(bytes(1 << 20))
        except OSError:
            pass


def serve(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def flood():
    serve(Flood)


def junk():
    serve(Junk)


class Drip(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000000")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.2)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def drip():
    serve(Drip)


class Choosy:
    """A FUSE file system with one file under every name. It answers all processes except heapdump, whose requests it
    keeps: a process with such a request cannot even be killed before this server ends."""
    LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, INTERRUPT, FORGETS = (
        1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 29, 36, 42)

    def __init__(self, directory, file):
        self.data = open(file, "rb").read()
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        if ctypes.CDLL(None).mount(b"choosy", directory.encode(), b"fuse", 0, options.encode()):
            sys.exit("cannot mount")

    def attributes(self, node):
        is_file = node != 1
        return struct.pack("<6Q10I", node, len(self.data) if is_file else 0, 8, 0, 0, 0, 0, 0, 0,
                           0o100755 if is_file else 0o40755, 1, 0, 0, 0, 4096, 0)

    def answer(self, operation, node, body):
        if operation == self.INIT:
            return struct.pack("<4I2H2I2HI28x", 7, 31, 1 << 16, 0, 12, 9, 1 << 16, 1, 0, 0, 0)
        if operation == self.LOOKUP:
            return struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + self.attributes(2)
        if operation == self.GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if operation in (self.OPEN, self.OPENDIR):
            return struct.pack("<QII", 1, 0, 0)
        if operation == self.READ:
            at, size = struct.unpack_from("<QI", body, 8)
            return self.data[at:at + size]
        if operation == self.STATFS:
            return bytes(80)
        return b"" if operation in (self.RELEASE, self.RELEASEDIR, self.FLUSH) else None

    def serve(self):
        while True:
            request = os.read(self.fd, 1 << 18)
            _, operation, unique, node, _, _, pid, _ = struct.unpack_from("<IIQQIIII", request)
            if operation in (self.FORGET, self.FORGETS, self.INTERRUPT):
                continue
            try:
                if pid and open(f"/proc/{pid}/comm").read().startswith("heapdump"):
                    continue
            except OSError:
                pass
            body = self.answer(operation, node, request[40:])
            out = struct.pack("<IiQ", 16 + len(body or b""), 0 if body is not None else -38, unique) + (body or b"")
            try:
                os.write(self.fd, out)
            except FileNotFoundError:          # the requesting process has ended
                pass


def choosy(directory, file):
    server = Choosy(directory, file)
    print("mounted", flush=True)
    server.serve()


globals()[sys.argv[1]](*sys.argv[2:])
