# Functions that the scripts share; sourced from the root of the checkout.
tool=$PWD/build/heapdump
common_root=$PWD
failed=0
unset MAKEFLAGS MFLAGS MAKELEVEL # a make started by a script has its own jobs
# bash -x: its lines go to the real standard error, not into the captured standard error of functions.
case $- in *x*) exec {BASH_XTRACEFD}>&2 ;; esac

# need PACKAGE...: installs missing Debian packages if INSTALL=1, else prints the command for it; returns false if a
# package stays missing. Scripts run in parallel, and install one after the other, as make does.
need() {
  local p missing= sudo=
  for p in "$@"; do dpkg -s "$p" >/dev/null 2>&1 || missing="$missing $p"; done
  [ -n "$missing" ] || return 0
  [ "$(id -u)" = 0 ] || sudo=sudo
  [ "${INSTALL-}" = 1 ] || { echo "missing Debian packages. Install them with INSTALL=1, or with: ${sudo:+sudo }apt-get install -y$missing"; return 1; }
  { flock 9 && command -v apt-get && $sudo apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends $missing
  } >/dev/null 9</var/lib/dpkg
}

# must PACKAGE...: packages that every test machine has; without them the script fails.
must() { need "$@" || { echo "FAIL: needs $*"; exit 1; }; }

# skip REASON: ends the script if this machine lacks something, and prints the reason.
skip() { echo "SKIP: $*"; exit 0; }

pass() { echo "PASS $*"; }
fail() { echo "FAIL $*"; failed=1; }

# check NAME WANT GOT
check() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1: '$2' expected, '$3' found"; fi; }

# status COMMAND...: prints its status; its output goes to the files out and err
status() { local s=0; "$@" > out 2> err || s=$?; echo $s; }

# For recorded Python programs: until_dumps(n) allocates, and requests n snapshots of itself.
until_dumps="import os, subprocess
def until_dumps(n):
    for i in range(n):
        bytes(1000)
        subprocess.run(['$tool', 'snapshot', str(os.getpid())], env={'HEAPDUMP_JOIN': ''}, check=True, stderr=subprocess.DEVNULL)
"

# made TARGET...: builds targets of this checkout. Scripts run in parallel; a lock stops two makes from writing the
# same file.
made() { mkdir -p "$common_root/build" && flock "$common_root/build/made.lock" make -s --no-print-directory -C "$common_root" "$@"; }

# linked OUT SOURCE [OPTIONS]: builds a program from one C source and the tool's copy of the library. Compiling the
# library again would take longer than most scripts.
linked() {
  made build/tool/library.o &&
    ${CC:-cc} -std=gnu11 -w -DHD__IMPLEMENTED $(pkg-config --cflags stb 2> /dev/null || echo -I/usr/include/stb) "$2" \
      "$common_root/build/tool/library.o" -o "$1" "${@:3}" -lpthread
}

# live FILE [OPTIONS]: bytes and blocks of the first heap of a dump
live() { "$tool" tree --bytes "$@" | awk 'NR == 1 { print $1, $3 }'; }

# viewer_page FILE: the trace viewer as one page; false if golang-src does not contain it. Current browsers cannot
# import one HTML file into another, so the page contains all of it, after substitutes for functions of old browsers.
viewer_page() {
  local viewer
  viewer=$(find -L /usr/share/go-* -name trace_viewer_full.html 2>/dev/null | sort -V | tail -n 1)
  [ -n "$viewer" ] || return 1
  { echo '<!DOCTYPE html><html><head><meta charset="utf-8"><script>'
    cat "$(dirname "$viewer")/webcomponents.min.js"
    echo '</script></head><body>'
    cat "$viewer"
    echo '</body></html>'
  } > "$1"
}
