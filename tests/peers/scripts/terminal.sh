#!/usr/bin/env bash
# Text in a file, or a file's name, cannot control the terminal, break a line or hide output, in any command.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev python3
sources=$PWD/tests/peers/lib
work=$PWD/build/peers/terminal
rm -rf "$work" && mkdir -p "$work" && cd "$work"

cat > app.c <<'END'
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void HOSTILE_FUNCTION_NAME______________(void) { kept = malloc(1000003); }
int main(void) { HOSTILE_FUNCTION_NAME______________(); return 0; }
END
gcc -g -O0 app.c -o app
python3 "$sources/terminal.py" "$tool" app || failed=1
exit $failed
