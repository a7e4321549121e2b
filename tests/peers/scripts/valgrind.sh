#!/usr/bin/env bash
# Live bytes and blocks at exit equal valgrind's "in use at exit" exactly.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must valgrind gcc libc6-dev libcmocka-dev libstb-dev pkg-config
work=build/peers/valgrind
mkdir -p $work
for source in tests/peers/programs/live_*.c; do
  name=$(basename "$source" .c)
  gcc -g -O1 -w "$source" -o $work/$name -lpthread
  theirs=$(valgrind --run-libc-freeres=no --leak-check=no $work/$name 2>&1 >/dev/null |
           sed -n 's/.*in use at exit: \([0-9,]*\) bytes in \([0-9,]*\) blocks.*/\1 \2/p' | tr -d ,)
  "$tool" record -o $work/$name.json -- $work/$name > /dev/null 2>&1 || true
  ours=$(live $work/$name.json)
  if [ -n "$theirs" ] && [ "$ours" = "$theirs" ]; then pass "$name: $ours (bytes, blocks)"
  else fail "$name: valgrind $theirs, heapdump $ours (bytes, blocks)"; fi
done
# The library's own tests, except slow ones that take minutes here: random tests, and tests of the register and the
# recorder, which take their memory from mmap anyway. AddressSanitizer covers the exceptions. test_base asks msync
# whether pages are mapped, which memcheck reports.
cat > $work/suppressions <<END
{
  pages_asked_for
  Memcheck:Param
  msync(start)
  fun:msync
}
END
for t in base io json json_write profile tracker chrome chrome_bad; do
  made build/tests/plain/test_$t
  if valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect \
     --suppressions=$work/suppressions build/tests/plain/test_$t > $work/test_$t.out 2>&1
  then pass "test_$t under memcheck"
  else fail "test_$t under memcheck: $work/test_$t.out"; tail -20 $work/test_$t.out; fi
done
# The command frees all its memory, including its options.
for input in small.dartheap node-small.heapsnapshot; do
  for command in info classes suspects; do
    kept=$(valgrind --leak-check=no "$tool" "$command" tests/data/$input 2>&1 >/dev/null |
           sed -n 's/.*in use at exit: \([0-9,]*\) bytes.*/\1/p')
    if [ "$kept" = 0 ]; then pass "$command $input: all memory is freed"
    else fail "$command $input: $kept bytes are in use at exit"; fi
  done
done
exit $failed
