# Removes comments and strings from lines of C, for rooms.sh and floors.sh. The caller resets in_comment at each file.

# A line without its comments, with "" for each string.
function bare(s,    out, at, c) {
    out = ""
    for (;;) {
        if (in_comment) {
            at = index(s, "*/")
            if (!at) return out
            s = " " substr(s, at + 2)
            in_comment = 0
        }
        if (!match(s, /\/\*|\/\/|"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/)) return out s
        c = substr(s, RSTART, 2)
        out = out substr(s, 1, RSTART - 1)
        if (c == "//") return out
        if (c == "/*") { in_comment = 1; s = substr(s, RSTART + 2) }
        else { out = out "\"\""; s = substr(s, RSTART + RLENGTH) }
    }
}
