# Opens heapdump.h for the tests: private functions and variables get external linkage, so that all tests can share
# one object of the library.
#
#   awk -v as=library -f private.awk heapdump.h     the whole header, its private functions and variables not static
#   awk -v as=names -f private.awk heapdump.h       the same without the bodies of functions, for tests to include
#
# Inline functions and constants stay unchanged; only the rows of the registry are opened too. as=library keeps the
# numbers of lines. as=names leaves out empty lines and comments of the implementation. So a change inside a function
# does not change that text.
function bad(what) { print FILENAME ":" NR ": private.awk: " what ": " $0 > "/dev/stderr"; failed = 1; exit 1 }
function head_of(line) { sub(/ *\{.*$/, ";", line); return line }
function give(line) { if (as == "library" || line != "") print line }

NR == 1 && as == "library" { print "#line 1 \"heapdump.h\"" }
as == "names" && inside && !body && /^ *\/\*/ { comment = 1 }
comment { if (/\*\//) comment = 0; if (!/\*\/ *[^ ]/) next; bad("code after a comment") }
/^#if defined\(HEAPDUMP_IMPLEMENTATION\)/ { inside = 1 }
body { if (/^}/) body = 0; give(as == "names" ? "" : $0); next }
value { if (/;( HD__FORMAT_END)?$/) value = 0; give(as == "names" ? "" : $0); next }
fields {                         # of a variable that is declared with its type, and may have a value
  line = $0
  if (/^}/) {
    fields = 0
    if (/=/) { value = !/;$/; if (as == "names") sub(/ *=.*/, ";", line) }
  }
  give(line)
  next
}
head {
  line = $0
  if (/\{$/) { head = 0; body = 1 }
  else if (/;$/ || /\{.*\}( *\/\*.*\*\/)?$/) head = 0
  give(as == "names" ? head_of(line) : line)
  next
}
/^static const hd_format hd__[a-z0-9_]+ = \{/ { # a row of the registry: its address identifies it
  value = !/;$/
  sub(/^static /, "")
  if (as == "names") { sub(/ =.*/, ";"); $0 = "extern " $0 }
  give($0)
  next
}
/^HD__FORMAT_BEGIN / { value = !/; HD__FORMAT_END$/; give(as == "names" ? "" : $0); next } # public ones
as == "names" && inside && /^[a-z0-9_]+ hd__[a-z0-9_]+ = .*;$/ { sub(/ =.*/, ";"); give("extern " $0); next }
!inside || !/^((HD__NOINLINE|HD_UNUSED|__attribute__\(\(.*\)\)) )?static / && !/^HEAPDUMP_API / { give($0); next }
{
  line = $0
  api = /^HEAPDUMP_API /
  if (!api) sub(/(^| )static /, /^static / ? "" : " ", line)
  rest = line
  sub(/^(HD__NOINLINE|HD_UNUSED|HEAPDUMP_API|__attribute__\(\(.*\)\)) /, "", rest)
  match(rest, /[(=;[{]/)
  first = substr(rest, RSTART, 1)
  if (first == "(" && substr(rest, RSTART, 2) != "(*") {
    if (line ~ /\{$/) body = 1
    else if (line !~ /;$/ && line !~ /\{.*\}( *\/\*.*\*\/)?$/) head = 1
    give(as == "names" ? head_of(line) : line)
  } else if (api || rest ~ /^const / || rest ~ /^[^=]*\*const /) {
    give($0)
  } else if (first == ";" || first == "{") {
    fields = first == "{"
    give(as == "names" ? "extern " line : line)
  } else {
    bad("neither a function nor a constant nor a variable without a value")
  }
}
END { if (!failed && (!inside || body || value || fields || head)) bad("the end comes inside of something") }
