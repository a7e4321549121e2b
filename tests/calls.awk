# Makes a table of calls of all public functions of heapdump.h, for tests/test_calls.c.
#
#   awk -f calls.awk heapdump.h >calls.h
#
# Each function of the API becomes a row: its name, number of parameters, type of the first one, and a function that
# calls it. Argument i is ARG_TYPE(variant), where TYPE is the parameter's type in one word ("hd_graph_p" for
# "const hd_graph *"). It is followed by the parameter's name if the type is no struct of the library ("uint32_t_axis")
# or the name is "out" or "heaps". RESULT_TYPE(call) checks the result. A function with a new type does not compile
# until test_calls.c defines arguments of that type.
BEGIN { count = 0 }
function bad(what) { print "calls.awk: " what > "/dev/stderr"; failed = 1; exit 1 }
function trim(s) { gsub(/^ +| +$/, "", s); return s }

# "const hd_graph *const *graphs" -> hd_graph_list; "hd_graph **out" -> hd_graph_pp; "uint32_t axis" -> uint32_t_axis
function word(p, own, name, type, stars, list) {
  list = p ~ /\*const \*/
  if (match(p, /\(\*[a-z0-9_]+\)/)) return "fn_" called "_" substr(p, RSTART + 2, RLENGTH - 3)
  gsub(/const|struct /, "", p)
  stars = gsub(/\*/, "", p) + gsub(/\[[A-Z0-9_]*\]/, "", p)
  p = trim(p)
  name = p
  sub(/^.* /, "", name)
  type = p
  sub(/ [^ ]*$/, "", type)
  type = trim(type)
  gsub(/ /, "_", type)
  own = type ~ /^hd_/ && type != "hd_str"
  if (name ~ /^(out|heaps)$/ && stars == 1) own = 0
  return type (!own ? "_" name : "") (list ? "_list" : stars ? "_" substr("ppp", 1, stars) : "")
}

/^#if defined\(HEAPDUMP_IMPLEMENTATION\)/ { exit }
/^HEAPDUMP_API / { text = ""; inside = 1 }
inside {
  line = $0
  sub(/ *\/\*.*$/, "", line)
  sub(/^ +/, " ", line)
  text = text line
  if (text !~ /;/) next
  inside = 0
  sub(/;.*/, "", text)
  sub(/^HEAPDUMP_API /, "", text)
  if (text !~ /\(/) next                # a variable
  if (!match(text, /hd_[a-z0-9_]+\(/)) bad("no name: " text)
  called = substr(text, RSTART, RLENGTH - 1)
  result = trim(substr(text, 1, RSTART - 1))
  rest = substr(text, RSTART + RLENGTH)
  sub(/\)$/, "", rest)
  n = depth = 0
  parameter = ""
  for (i = 1; i <= length(rest) + 1; i++) {
    c = substr(rest, i, 1)
    if (c == "(") depth++
    if (c == ")") depth--
    if (c == "" || (c == "," && !depth)) {
      parameter = trim(parameter)
      if (parameter != "void" && parameter != "") parameters[n++] = word(parameter)
      parameter = ""
    } else {
      parameter = parameter c
    }
  }
  returns = word(result " r")
  sub(/_r(_p)?$/, result ~ /\*/ ? "_p" : "", returns)
  gsub(/ /, "", returns)
  arguments = ""
  for (i = 0; i < n; i++) arguments = arguments (i ? ", " : "") "ARG_" parameters[i] "(v[" i "])"
  printf "static void call_%s(const int *v) { (void)v; RESULT_%s(%s(%s)) }\n", called, returns, called, arguments
  rows[count++] = sprintf("    { \"%s\", %d, \"%s\", call_%s },", called, n, n ? parameters[0] : "", called)
}
END {
  if (failed) exit 1
  if (count < 100) bad("only " count + 0 " functions found")
  print "static const call_row calls[] = {"
  for (i = 0; i < count; i++) print rows[i]
  print "};"
}
