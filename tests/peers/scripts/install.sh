#!/usr/bin/env bash
# make install into a DESTDIR: CMake and pkg-config build projects against it, and the installed tool runs from there.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must cmake pkg-config man-db
work=$PWD/build/peers/install
rm -rf "$work" && mkdir -p "$work"
unset MAKEFLAGS HEAPDUMP_RECORDER
root=$PWD
make_to() { make -s "$@" DESTDIR="$work/dest" PREFIX=/opt/h > "$work/make.log" 2>&1 || cat "$work/make.log"; }
(umask 077; make_to install)
at=$work/dest/opt/h
cd "$work"

cat > app.c <<'C'
#define HEAPDUMP_IMPLEMENTATION
#include <heapdump.h>
#include <stdio.h>
int main(int argc, char **argv) {
    hd_dump *dump;
    hd_error err;
    (void)argc;
    if (hd_read_file(argv[1], NULL, &dump, &err)) return puts(err.message), 1;
    printf("%s %u\n", hd_version(), (unsigned)hd_dump_heap_count(dump));
    hd_dump_free(dump);
    return 0;
}
C
version=$("$at/bin/heapdump" --version | cut -d' ' -f2)
printf 'main;load 64\nmain;parse 32\n' > app.folded

check "pkg-config: the version" "$version" "$(PKG_CONFIG_PATH=$at/share/pkgconfig pkg-config --modversion heapdump)"
PKG_CONFIG_PATH=$at/share/pkgconfig pkg-config --cflags --libs heapdump > flags
check "pkg-config: the include path is in the DESTDIR" "-I$at/share/pkgconfig/../../include" "$(tr ' ' '\n' < flags | grep pkgconfig)"
"${CC:-cc}" app.c -o by_pkg_config $(cat flags)
check "a program built with pkg-config" "$version 1" "$(./by_pkg_config app.folded)"

mkdir cmake
cat > cmake/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.10)
project(app C)
find_package(heapdump ${WANTED} REQUIRED)
add_executable(app ../app.c)
target_link_libraries(app PRIVATE heapdump::heapdump)
C
by_cmake() { cmake -S cmake -B "$1" -DCMAKE_PREFIX_PATH="$at" "${@:2}" > cmake.log 2>&1; }
by_cmake built && cmake --build built >> cmake.log 2>&1 || cat cmake.log
check "a program built with CMake" "$version 1" "$(built/app app.folded)"
check "CMake: the exact version is found" 0 "$(status by_cmake exact "-DWANTED=${version%-*};EXACT")"
check "CMake: a later version is not found" 1 "$(status by_cmake later -DWANTED=99)"
check "... and the message gives the reason" 1 "$(grep -c "compatible with requested version" cmake.log)"
check "CMake: stb_ds.h is missing" 1 "$(status by_cmake without -DHEAPDUMP_STB_INCLUDE_DIR=HEAPDUMP_STB_INCLUDE_DIR-NOTFOUND -DCMAKE_FIND_ROOT_PATH="$work/dest" -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY)"
check "... the message says what to install" 1 "$(tr -s '\n ' '  ' < cmake.log | grep -c "stb_ds.h not found")"

check "completions are installed under the names that shells look for" "$(for s in bash zsh fish; do "$tool" --completion $s; done | cksum)" \
  "$(cd "$at/share" && cat bash-completion/completions/heapdump zsh/site-functions/_heapdump fish/vendor_completions.d/heapdump.fish | cksum)"

check "all installed files are readable by all users" "" "$(find "$at" ! -perm -004)"
check "the man page" 0 "$(MANPATH=$at/share/man status man --warnings heapdump)"

mkdir elsewhere
check "the installed tool reads a file" "96 B" "$("$at/bin/heapdump" tree app.folded | awk 'NR == 1 { print $1, $2 }')"
check "... and records" "0 1" "$(status "$at/bin/heapdump" record -o installed.json -- /bin/sh -c 'echo') $(grep -c '^heapdump: wrote installed.json' err)"
check "... with its own recorder; without one, the message names HEAPDUMP_RECORDER" "1 1" "$(cp "$at/bin/heapdump" elsewhere/ && status elsewhere/heapdump record -- /bin/true) $(grep -c 'set HEAPDUMP_RECORDER to its path' err)"
check "HEAPDUMP_RECORDER names the recorder" "0 1" \
  "$(HEAPDUMP_RECORDER=dest/opt/h/lib/heapdump/libheapdump_record.so status elsewhere/heapdump record -o named.json -- /bin/sh -c 'echo') $(grep -c '^heapdump: wrote named.json' err)"
check "... and a missing one is reported" "1 heapdump: HEAPDUMP_RECORDER: cannot read no.so: No such file or directory" \
  "$(HEAPDUMP_RECORDER=no.so status "$at/bin/heapdump" record -- /bin/true) $(cat err)"
ln -s "$at/bin/heapdump" link
check "record works through a link to the tool" 0 "$(status ./link record -o link.json -- /bin/sh -c 'echo')"

check "--version prints the licence of heapdump.h" "$(sed -n '/^\/\* Licence: /,$p' "$root/heapdump.h" | tr -cd '[:alpha:]')" \
  "$("$at/bin/heapdump" --version --license | sed 1d | tr -cd '[:alpha:]')"
check "--version takes no other words" 2 "$(status "$tool" --version --licence)"

cd "$root"
make_to uninstall
check "make uninstall removes all files" "" "$(find "$at" ! -type d; find "$at" -name '*heapdump*')"
exit $failed
