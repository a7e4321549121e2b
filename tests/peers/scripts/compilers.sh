#!/usr/bin/env bash
# Compiles heapdump.h in every supported way; `make test` runs only the first part. The ways: optimisation levels,
# standards, rooms left out, clang, Windows, 32 bits, WebAssembly, tcc, link-time optimisation.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc g++ clang lld tcc wasi-libc libclang-rt-14-dev-wasm32 libstb-dev pkg-config gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64
[ "$(uname -m)" != x86_64 ] || need gcc-multilib || true
STB=$(pkg-config --cflags stb) tests/include/run.sh build/peers/compilers > build/peers/compilers.log || failed=1
sed -n 's/^ok   /PASS/p; s/^FAIL /FAIL/p; s/^ \{6\}/      /p; s/^SKIP /SKIP:/p' build/peers/compilers.log
exit $failed
