#!/usr/bin/env python3
"""false_sockets.py COUNT silent|reply FILE [PID]: listens on sockets named like those of a recording that writes FILE
or has process PID. It keeps that file open. It stays silent or sends made-up replies, and prints a line when it
listens and for each client."""
import os, re, socket, struct, sys, threading

count, mode, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
kept = open(path)
st = os.stat(path)
names = {f"heapdump-{os.geteuid()}-{st.st_dev:x}-{st.st_ino:x}", f"heapdump-x-{st.st_dev:x}-{st.st_ino:x}"}
for line in open("/proc/net/unix", errors="replace"):
    if m := re.search(r"@(heapdump-\d+-[0-9a-f]+-[0-9a-f]+-)[0-9a-f]+$", line): names.add(m[1])
for u in {os.geteuid(), st.st_uid}: names.add(f"heapdump-{u}-1-{st.st_ino:x}-")
names = sorted(names)
evil = "\x1b[31mEVIL is whole\x07\n second line".encode()
replies = [struct.pack("i", 0) + evil.ljust(4096 + 128, b"\0"),                       # of protocol version 1
           struct.pack("IIiIIIQ", 3, 1, 0, 666, 666, 666, 666) + evil.ljust(4096, b"\0")] # CONTROL_DONE
sockets, held = [], []
for i in range(count):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try: s.bind("\0" + names[i % len(names)] + (f"{i:x}" if i >= len(names) or names[i].endswith("-") else ""))
    except OSError: continue
    s.listen(50)
    sockets.append(s)
print("listening", len(sockets), flush=True)

def serve(s):
    while True:
        c, _ = s.accept()
        held.append(c)
        if mode == "silent": continue
        try:
            for r in replies: c.send(r)
        except OSError: pass
        print("asked", flush=True)
        c.settimeout(1)
        try: c.recv(100000)
        except OSError: pass
        c.close()
for s in sockets: threading.Thread(target=serve, args=(s,), daemon=True).start()
sys.stdin.read()
