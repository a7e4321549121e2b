# What the scripts beside this one share; sourced from the root of the checkout.
tool=$PWD/build/heapdump
common_root=$PWD
failed=0
unset MAKEFLAGS MFLAGS MAKELEVEL # a make called by a script has its own jobs, not those of the make above
# bash -x: its lines go where they are seen, not among what functions print on standard error.
case $- in *x*) exec {BASH_XTRACEFD}>&2 ;; esac

# need PACKAGE...: installs missing Debian packages if INSTALL=1, else prints the command that does; false if one stays
# missing. Scripts run side by side, and install one after the other, as make does.
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

# must PACKAGE...: what every machine of ours has.
must() { need "$@" || { echo "FAIL: needs $*"; exit 1; }; }

# skip WHY: what this machine cannot have, said where it is seen.
skip() { echo "SKIP: $*"; exit 0; }

pass() { echo "PASS $*"; }
fail() { echo "FAIL $*"; failed=1; }

# check NAME WANT GOT
check() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1: '$2' expected, '$3' found"; fi; }

# status COMMAND...: prints its status; its output goes to out and err.
status() { local s=0; "$@" > out 2> err || s=$?; echo $s; }

# For Python that is recorded: allocates, and asks for so many dumps of it.
until_dumps="import os, subprocess
def until_dumps(n):
    for i in range(n):
        bytes(1000)
        subprocess.run(['$tool', 'snapshot', str(os.getpid())], env={'HEAPDUMP_JOIN': ''}, check=True, stderr=subprocess.DEVNULL)
"

# made TARGET...: builds targets of this checkout. Peers run side by side; a lock keeps two makes from writing one file.
made() { mkdir -p "$common_root/build" && flock "$common_root/build/made.lock" make -s --no-print-directory -C "$common_root" "$@"; }

# linked OUT SOURCE [OPTIONS]: builds a program of one C source and the tool's copy of the library. Compiling the library
# again would take longer than most peers.
linked() {
  made build/tool/library.o &&
    ${CC:-cc} -std=gnu11 -w -DHD__IMPLEMENTED $(pkg-config --cflags stb 2> /dev/null || echo -I/usr/include/stb) "$2" \
      "$common_root/build/tool/library.o" -o "$1" "${@:3}" -lpthread
}

# live FILE [OPTIONS]: bytes and blocks of the first heap of a dump
live() { "$tool" tree --bytes "$@" | awk 'NR == 1 { print $1, $3 }'; }

# viewer_page FILE: the trace viewer as one page; false when golang-src has none. A browser cannot import an
# HTML file into another any more, so it goes in whole, after the stand-ins for what browsers had in its day.
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
