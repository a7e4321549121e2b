#!/usr/bin/env bash
# usage: page.sh LIBRARY.js...
# Prints the page of `heapdump report` up to where its data go: page.html, with page.css in place of the line @CSS@, and
# the libraries, their licences and our scripts in place of @JS@. @POLICY@ becomes what a browser is to let the page do:
# run this script and use these styles, known by their digests, and nothing else, from nowhere else.
set -eu -o pipefail
here=$(dirname "$0")
for library in "$@"; do [ -r "$library" ] || { echo "page.sh: no $library" >&2; exit 1; }; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The licence asks to stand beside the library; Debian has it in the package's own directory.
for library in "$@"; do
  package=node-$(basename "$library" .min.js)
  copyright=/usr/share/doc/$package/copyright
  if [ -r "$copyright" ]; then { echo "/*"; sed 's/\*\//* \//g' "$copyright"; echo "*/"; } >> "$work/js"; fi
  cat "$library" >> "$work/js"
  echo >> "$work/js"
done
cat "$here/page.js" "$here/heaps.js" "$here/pages.js" "$here/graph.js" >> "$work/js"
if grep -qiE '</script|<!--' "$work/js"; then echo "page.sh: a script would end its element" >&2; exit 1; fi

# What stands between the tags is digested, so each is written with a line break at both ends.
digest() { printf "$({ echo; cat "$1"; } | sha256sum | cut -d' ' -f1 | sed 's/../\\x&/g')" | base64; }
policy="default-src 'none'; script-src 'sha256-$(digest "$work/js")'; style-src 'sha256-$(digest "$here/page.css")'; base-uri 'none'; form-action 'none'"
while IFS= read -r line; do
  case $line in
    @CSS@) cat "$here/page.css" ;;
    @JS@) cat "$work/js" ;;
    *@POLICY@*) printf '%s\n' "${line/@POLICY@/$policy}" ;;
    *@DATA@*) printf '%s' "${line/@DATA@/}" ;;
    *) printf '%s\n' "$line" ;;
  esac
done < "$here/page.html"
