"""Runs programs on a terminal and returns their output."""
import fcntl, os, pty, struct, subprocess, termios, threading

END = b"\0all is written\0"


def run(command, columns=80, rows=24, terminal=("stdout",), **popen):
    """Returns (bytes, exit status) of a command; the streams named by `terminal` are one terminal. Linux sometimes
    drops the last lines when a terminal is closed that is being read. So the terminal stays open until our own end
    mark has arrived."""
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
