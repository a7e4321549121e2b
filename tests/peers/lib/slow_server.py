"""A debuginfod server that sends single bytes until a file "ran" exists, so names stay unresolved until then. Prints
its port, and writes "yes" into a file "asked" at the first request."""
import http.server
import os
import threading
import time

first = threading.Semaphore()


class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        if first.acquire(blocking=False):
            with open("asked", "w") as asked:
                print("yes", file=asked)
        try:
            while not os.path.exists("ran"):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
print(server.server_port, flush=True)
server.serve_forever()
