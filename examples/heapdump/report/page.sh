#!/usr/bin/env bash
# usage: page.sh LIBRARY.js...
# Prints the page of `heapdump report` up to its data: page.html, with page.css for the line @CSS@, and
# the libraries, their licences and our scripts for @JS@. @POLICY@ becomes the content security policy: the page may
# run this script and use these styles, recognized by their digests, and nothing else.
set -eu -o pipefail
here=$(dirname "$0")
for library in "$@"; do [ -r "$library" ] || { echo "page.sh: no $library" >&2; exit 1; }; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The licence must accompany the library; Debian has it in the package's directory.
for library in "$@"; do
  package=node-$(basename "$library" .min.js)
  copyright=/usr/share/doc/$package/copyright
  if [ -r "$copyright" ]; then { echo "/*"; sed 's/\*\//* \//g' "$copyright"; echo "*/"; } >> "$work/js"; fi
  cat "$library" >> "$work/js"
  echo >> "$work/js"
done
cat "$here/page.js" "$here/heaps.js" "$here/pages.js" "$here/graph.js" >> "$work/js"
if grep -qiE '</script|<!--' "$work/js"; then echo "page.sh: a script would end its element" >&2; exit 1; fi

# The digest covers all text between the tags, so each text is written with a line break at both ends.
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
