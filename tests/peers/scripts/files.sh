#!/usr/bin/env bash
# Owners and permissions of the files that the tool writes, and symbolic links in directories of others.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev
work=$PWD/build/peers/files
rm -rf "$work" && mkdir -p "$work" && cd "$work"

cat > app.c <<'END'
#include <stdlib.h>
void *volatile kept;
int main(void) { return !(kept = malloc(10007)); }
END
# links TARGET: links the default names of the next recordings to TARGET, as somebody does who guesses the next PIDs
cat > links.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char name[64];
    int most = 0;
    FILE *f = fopen("/proc/sys/kernel/pid_max", "r");
    if (!f || fscanf(f, "%d", &most) != 1) return 1;
    for (int pid = getpid() + 1; pid < getpid() + 3000; pid++) {
        snprintf(name, sizeof name, "heapdump.app.%d.json", pid < most ? pid : pid - most + 300);
        if (argc > 1 && symlink(argv[1], name)) return 1;
    }
    return argc < 2;
}
END
gcc -g -O1 links.c -o links
gcc -g -O1 app.c -o app
mode() { stat -c '%a %U' "$1"; }
is_dump() { "$tool" info --strict "$1" 2> /dev/null | grep -q malloc && echo yes; }
me=$(id -un)

# Permissions.
umask 022
check "a new file is readable only by its owner" "0 600 $me" "$(status "$tool" record -o new.json -- ./app) $(mode new.json)"
chmod 644 new.json
check "a replaced file keeps its permissions" "0 644 $me" "$(status "$tool" convert --to chrome -o new.json new.json) $(mode new.json)"
chmod 6777 new.json
check "... except its set-id bits" "0 777 $me" "$(status "$tool" convert --to chrome -o new.json new.json) $(mode new.json)"
if [ "$(id -u)" = 0 ]; then
  chown nobody new.json
  chmod 6777 new.json
  check "the permissions of another user's file are not kept" "0 600 root" "$(status "$tool" convert --to chrome -o new.json new.json) $(mode new.json)"
else
  echo "SKIP: files of another user: needs root"
fi

# Default names in a directory that others can write to.
mkdir shared spools
chmod 1777 shared
echo precious > victim
check "a link at a default name is not followed" "1 precious 1" \
  "$(cd shared && ../links ../victim && TMPDIR=$work/spools status "$tool" record -- ../app) $(cat victim) $(grep -c 'cannot create heapdump.app.[0-9]*.json: File exists' shared/err)"
check "... the recording is kept elsewhere, and a message names the place" "1 1" \
  "$(grep -c 'the recording is in ' shared/err) $(find spools -name 'heapdump.*.json' | wc -l)"
check "a link at a given name is followed" "0 yes" \
  "$(cd shared && ln -s ../victim mine.json && status "$tool" record -o mine.json -- ../app) $(is_dump victim)"
echo precious > victim
check "a link at a default name is followed if only the user can write there" "0 yes" "$(./links victim && status "$tool" record -- ./app) $(is_dump victim)"
find . -name 'heapdump.app.*.json' -delete

# Pipes and devices are written to, not replaced.
mkfifo pipe
cat pipe > piped &
check "a pipe stays a pipe" "0 yes" "$(status "$tool" convert --to chrome -o pipe new.json) $([ -p pipe ] && echo yes)"
wait
check "... and the whole dump goes through it" yes "$(is_dump piped)"
check "a device stays a device" "0 yes" "$(status "$tool" convert --to chrome -o /dev/null new.json) $([ -c /dev/null ] && echo yes)"
exit $failed
