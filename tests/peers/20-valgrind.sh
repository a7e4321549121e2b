#!/usr/bin/env bash
# Live bytes and blocks at exit equal valgrind's "in use at exit", to the byte and the block.
set -eu
cd "$(dirname "$0")/../.."
missing=
for p in valgrind gcc libc6-dev; do dpkg -s $p >/dev/null 2>&1 || missing="$missing $p"; done
if [ -n "$missing" ]; then
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq $missing >/dev/null
fi
work=build/peers/valgrind
mkdir -p $work
failed=0
for source in tests/peers/live_*.c; do
  name=$(basename "$source" .c)
  gcc -g -O1 -w "$source" -o $work/$name -lpthread
  theirs=$(valgrind --run-libc-freeres=no --leak-check=no $work/$name 2>&1 >/dev/null |
           sed -n 's/.*in use at exit: \([0-9,]*\) bytes in \([0-9,]*\) blocks.*/\1 \2/p' | tr -d ,)
  build/heapdump record -o $work/$name.json -- $work/$name > /dev/null 2>&1 || true
  ours=$(build/heapdump tree --exact $work/$name.json | awk 'NR == 1 { print $1, $3 }')
  if [ -n "$theirs" ] && [ "$ours" = "$theirs" ]; then echo "PASS $name: $ours (bytes, blocks)"
  else echo "FAIL $name: valgrind $theirs, heapdump $ours (bytes, blocks)"; failed=1; fi
done
# The library's own tests, but for those that take minutes there: the register's and the recorder's, whose
# memory comes from mmap anyway, and the random ones. What is left out is clean under AddressSanitizer.
# test_base asks msync whether pages are mapped, which memcheck does not like.
cat > $work/suppressions <<END
{
  pages_asked_for
  Memcheck:Param
  msync(start)
  fun:msync
}
END
for t in base io json json_write profile tracker chrome chrome_bad; do
  make -s build/tests/plain/test_$t
  if valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect \
     --suppressions=$work/suppressions build/tests/plain/test_$t > $work/test_$t.out 2>&1
  then echo "PASS test_$t under memcheck"
  else echo "FAIL test_$t under memcheck: $work/test_$t.out"; tail -20 $work/test_$t.out; failed=1; fi
done
exit $failed
