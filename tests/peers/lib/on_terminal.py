"""Programs with a terminal: what they write to it."""
import fcntl, os, pty, struct, subprocess, termios, threading

END = b"\0all is written\0"


def run(command, columns=80, rows=24, terminal=("stdout",), **popen):
    """(bytes, exit status) of a command whose streams named by `terminal` are one. Linux now and then forgets the last
    lines when a terminal is closed that somebody reads, so it stays open until an end mark of ours has come through."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(command, **dict.fromkeys(terminal, its), **popen)
    ends = threading.Thread(target=lambda: (process.wait(), os.write(its, END)))
    ends.start()
    out = b""
    while END not in out:
        out += os.read(ours, 65536)
    ends.join()
    os.close(its)
    os.close(ours)
    return out.partition(END)[0], process.returncode
