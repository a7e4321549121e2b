#!/usr/bin/env bash
# make with missing packages, as root and as a user; and the totals of tests. Stand-ins for the system's programs
# report missing packages, report the user, and log requests to install.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
work=$PWD/build/peers/make
rm -rf "$work" && mkdir -p "$work/bin"
unset MAKEFLAGS MAKELEVEL INSTALL
cat > "$work/bin/dpkg" <<'P'
#!/bin/sh
case $2 in clang | libcmocka-dev | libdw-dev | libstb-dev) exit 1 ;; esac
P
printf '#!/bin/sh\necho "${ASKED_BY:-}apt-get $*" >>"%s/asked"\nexit ${APT_STATUS:-0}\n' "$work" > "$work/bin/apt-get"
printf '#!/bin/sh\nASKED_BY="sudo " exec "$@"\n' > "$work/bin/sudo"
printf '#!/bin/sh\necho ${ID:-0}\n' > "$work/bin/id"
chmod +x "$work"/bin/*
make_as() { rm -f "$work/asked"; ID=$1 PATH=$work/bin:$PATH status make B="$work/build" "${@:2}"; }
asked() { if [ -e "$work/asked" ]; then cat "$work/asked"; fi; }
here=$PWD
cd "$work"
make() { command make -C "$here" --no-print-directory "$@"; }

check "make, as a user: it stops" 2 "$(make_as 1000)"
check "... it prints one command with all packages that make needs" "  sudo apt-get install -y libdw-dev libstb-dev" "$(grep 'apt-get install' err)"
check "... and nothing is installed" "" "$(asked)"
check "as root: the same" "2 1 " "$(make_as 0) $(grep -c '^  apt-get install -y libdw-dev libstb-dev' err) $(asked)"
check "make test, as a user: it stops" 2 "$(make_as 1000 test)"
check "... it prints one command with all packages that tests need" "  sudo apt-get install -y libcmocka-dev libstb-dev" "$(grep 'apt-get install' err)"
check "... and nothing is installed or built" " 0" "$(asked) $(find build -type f 2> /dev/null | wc -l)"
check "make test, as root: it installs them and says so in one line" "make: installing libcmocka-dev libstb-dev (the tests need them)" \
  "$(APT_STATUS=1 make_as 0 test > status; grep '^make: ' err | head -n 1)"
installs() { printf '%sapt-get update -qq\n%sapt-get install -y -qq -o DPkg::Lock::Timeout=600 %s' "$1" "$1" "$2"; }
check "make library-deps, as root: it installs stb" "0 make: installing libstb-dev (the tests need them)" "$(make_as 0 library-deps) $(cat err)"
check "... by these commands" "$(installs "" libstb-dev)" "$(asked)"
for target in tools-deps fuzz-deps; do
  check "make $target, as root: it stops, and nothing is installed" "2 1 0" \
    "$(sed -i 's/ | libstb-dev//' bin/dpkg; make_as 0 $target) $(grep -c '^  apt-get install -y ' err) $(asked | wc -l)"
done
check "with INSTALL=1, as root: it installs" "0 make: installing libdw-dev (INSTALL=1)" "$(make_as 0 tools-deps INSTALL=1) $(cat err)"
check "... by these commands" "$(installs "" libdw-dev)" "$(asked)"
check "with INSTALL=1, as a user: it installs" "0 make: installing libdw-dev (INSTALL=1)" "$(make_as 1000 tools-deps INSTALL=1) $(cat err)"
check "... by these commands, with sudo" "$(installs "sudo " libdw-dev)" "$(asked)"
check "a peer script, as root: it names the missing packages" "1 missing Debian packages. Install them with INSTALL=1, or with: apt-get install -y clang" \
  "$(ID=0 PATH=$work/bin:$PATH status need clang) $(cat out)"
sed -i 's/clang | libcmocka-dev | libdw-dev/none/' bin/dpkg
check "with all packages present there is no message" "0 " "$(make_as 1000 library-deps tools-deps test-deps) $(cat err)"

make -n B="$work/build" demo > commands
made_by_demo() { grep -c -- " -o [^ ]*/$1 " commands || true; }
check "make demo builds the command, the recorder and the demo program, but no examples" "1 1 1 0" \
  "$(made_by_demo heapdump) $(made_by_demo libheapdump_record.so) $(made_by_demo server) $(made_by_demo to_json.o)"

mkdir logs
printf '[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[  SKIPPED ] b\n[==========] 2 test(s) run.\n[  PASSED  ] 1 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] b\n' > logs/passes
printf '[ RUN      ] a\n[  FAILED  ] a\n[ RUN      ] b\n[       OK ] b\n[==========] 2 test(s) run.\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] a\n== ended with status 1\n' > logs/fails
printf '[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n== ended with status 139\n' > logs/crashes
printf '[ RUN      ] a\n[       OK ] a\n[==========] 1 test(s) run.\n==77==ERROR: LeakSanitizer\n== ended with status 1\n' > logs/leaks
printf 'ok    a\nSKIP  b: why\nFAIL  c\n1 passed, 1 failed\n== ended with status 1\n' > logs/cases
printf 'rooms.sh: 7 passed, 0 failed\n' > logs/rooms
check "totals of tests that pass" "0 total: 2 programs, 8 tests run, 8 passed, 0 failed, 1 skipped" "$(status "$here/tests/totals.sh" logs/passes logs/rooms) $(cat out)"
for one in fails:1:1:0 crashes:1:1:0 leaks:1:1:0 cases:1:1:1 not-there:0:1:0; do
  IFS=: read -r log ok bad skipped <<< "$one"
  check "totals with a program that $log" "1 total: 2 programs, $((1 + ok + bad)) tests run, $((1 + ok)) passed, $bad failed, $((1 + skipped)) skipped" \
    "$(status "$here/tests/totals.sh" logs/passes logs/$log) $(cat out)"
done
exit $failed
