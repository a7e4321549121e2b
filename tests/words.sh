#!/usr/bin/env bash
# Checks that the project's English is plain: counts six habits that make a sentence hard to read, and long sentences.
#
#   words.sh [--list | --enforce | --self-test] [FILE...]
#
# Prints one line per file that has a counted place, and one for all files together [default: all files of the
# repository that hold prose]. --list prints each place with its file and line. --enforce also compares with the
# limits, and ends with status 1 if one is exceeded. A FILE named - is text on standard input.
#
# Prose is: comments of C, C++, JavaScript, shell, Python and make; strings of C that hold a sentence (messages, help);
# Markdown and text outside code; man pages outside examples. Each habit has one pattern below. They are counted in
# text whose identifiers and expressions are replaced by "it".
#
# Limits: 6 places in 1,000 words of a file (3 places in a file under 500 words), 3 in 1,000 words in README.md and
# in text on standard input, 3 in 1,000 words in all files together; 40 words in a sentence. Sentences are not taken
# from lists, tables, the licence and preprocessor lines.
set -u
command -v perl >/dev/null || { echo "SKIP: words.sh needs perl, which this system lacks"; exit 0; }

read -r -d '' program <<'PERL'
use strict;
use warnings;

my ($mode, @files) = @ARGV;
my ($per_file, $per_small, $small, $per_strict, $per_all, $longest) = (6, 3, 500, 3, 3, 40);
my @habits = (
    ['no noun', qr/\b(?:what|whatever|whoever|that which|those that|those who|those of|that of|the ones? that|one that|all that|and none)\b|\b(?:for|to|of|by|and|or|is|as|than|says) who\b|[.;:] +who\b/i],
    ['told', qr/\b(?:tells?|told|telling)\b(?! (?:whether|you|us|the caller))/i],
    ['Of in front', qr/(?:\A|^|[.;:(] )\W*Of (?!course|all)[a-z]/m],
    ['alone', qr/(?<!leave )(?<!left )\b(?:alone)\b|\bstands?\b(?! for)|\bbeside\b/i],
    ['amounts', qr/\b(?:as (?:many|much) as|so (?:many|much)|such(?!\s+(?:as|an?|that)\b)|thereof|therein|of which|of whom|by whom|in whose|whose)\b/i],
    ['be there', qr/\b(?:is had|be had|is none|are none|has none|have none|what there is)\b/i],
);

# The pieces of prose in a text, each with the offset of its first character.
sub prose {
    my ($name, $s) = @_;
    my @out;
    if ($name =~ /\.(?:py|sh)$|Makefile$/) {
        push @out, [$-[1], $1] while $s =~ /(?:^|\s)#(?!!)([^\n]*)/mg;
        return joined($s, @out);
    }
    if ($name =~ /\.(?:md|txt)$|^-$/) {
        $s =~ s/(```.*?```)/"\n" x ($1 =~ tr|\n||)/gse;
        $s =~ s/^(?: {4}|\t).*$//mg unless $name eq '-';
        $s =~ s/`[^`\n]*`/it/g;
        $s =~ s/^\|[-:| ]*\|$//mg;
        $s =~ s/\|/. /g;
        return [0, $s];
    }
    if ($name =~ /\.[1-9]$/) {
        $s =~ s/^(\.(?:nf|EX).*?^\.(?:fi|EE))/"\n" x ($1 =~ tr|\n||)/gsme;
        $s =~ s/^\.(?:SH|SS|TP|IP|PP|TH).*$/. /mg;
        $s =~ s/^\.\w+ ?//mg;
        $s =~ s/\\f.|\\-|\\&|\\\(../ /g;
        return [0, $s];
    }
    while ($s =~ m{/\*(.*?)\*/|//([^\n]*)|"((?:[^"\\\n]|\\.)*(?:"\s*"(?:[^"\\\n]|\\.)*)*)"}sg) {
        my ($at, $comment, $t) = ($-[0], $1 // $2, $3);
        if (defined $t) {
            $t =~ s/"\s*"//g;
            next if ($t =~ tr/ //) < 3 || $t !~ /[a-z]{3} [a-z]{2}/;
            $t =~ s/\\n/\n/g;
            $t =~ s/\\"/"/g;
            push @out, [$at, $t];
        } else {
            $comment =~ s/[=-]{5,}|>>[\w.]+/ /g if $comment =~ /[=-]{20}/;
            push @out, [$at, $comment];
        }
    }
    return @out;
}

# Lines of comment that follow each other are one piece.
sub joined {
    my ($s, @lines) = @_;
    my @out;
    for my $line (@lines) {
        my $end = @out ? $out[-1][0] + length $out[-1][1] : -1;
        if (@out && substr($s, $end, $line->[0] - $end) =~ /^\n[ \t]*#$/) {
            $out[-1][1] .= substr $s, $end, $line->[0] - $end;
            $out[-1][1] =~ s/#$/ /;
            $out[-1][1] .= $line->[1];
        } else {
            push @out, [@$line];
        }
    }
    return @out;
}

# Sentences of a piece, each with its line in the piece. A sentence also ends at an empty line, an item of a list, a
# line of a table or of code, and an indented line. "Errors: ONE; ANOTHER" is a list.
sub sentences {
    my ($t) = @_;
    my ($line, $at, $now, $indent, @out) = (0, 0, '', 0);
    for (split /\n/, $t, -1) {
        my ($space, $text) = /^([\s*]*)(.*)$/;
        my $breaks = $text eq '' || $text =~ /^(?:[-*.|]|\d+[.)] |#|\w+\)|\$ |heapdump )/ || $text =~ /\S {2,}\S/ ||
                     ($now ne '' && length $space > $indent + 4) || $text =~ /^(?:Permission|THE SOFTWARE|This is free)/;
        if ($breaks) { push @out, [$at, $now]; $now = ''; }
        $text = '' if $text =~ /\S {2,}\S/ || $text =~ /^[#\$|]/;
        if ($now eq '') { $at = $line; $indent = length $space; }
        $now .= ' ' . $text;
        $line++;
    }
    push @out, [$at, $now];
    return map { my $o = $_; map { [$o->[0], $_] } map { /^\s*(?:Errors(?: also)?|Columns.*?|HD_MALFORMED \(.*?\)):/ ? split /;/ : $_ } split /(?<=[.!?])["')]*\s+|: (?=[A-Z])|\b(?=Errors(?: also)?: )/, $o->[1] } @out;
}

my (%all, $failed);
for my $name (@files) {
    my ($words, %hits, @places) = (0);
    local $/;
    my $in = \*STDIN;
    if ($name ne '-') { open $in, '<', $name or die "words.sh: $name: $!\n"; }
    my $s = <$in> // '';
    $s =~ s/\n[^\n]*This is free and unencumbered.*//s; # the licence at the end of heapdump.h
    for my $piece (prose($name, $s)) {
        my ($offset, $t) = @$piece;
        my $line = 1 + (substr($s, 0, $offset) =~ tr/\n//);
        $t =~ s/\b[\w>]*[_(){}<>=\/\\]+[\w.>]*/it/g;
        (my $plain = $t) =~ s/[^\S\n]+/ /g;
        $words++ while $plain =~ /[A-Za-z][A-Za-z'-]*/g;
        (my $said = $plain) =~ s/\bwhat\b[^.?!]*\?//gi;
        for my $habit (@habits) {
            while ($said =~ /$habit->[1]/g) {
                $hits{$habit->[0]}++;
                my $place = substr $said, $-[0] < 30 ? 0 : $-[0] - 30, 70 + $+[0] - $-[0];
                my $in_piece = substr($said, 0, $-[0]) =~ tr/\n//;
                $place =~ s/\s+/ /g;
                push @places, [$line + $in_piece, $habit->[0], $place];
            }
        }
        next if substr($s, $offset, 1) eq '"' && $t =~ /[{}\$=]/; # code in a string
        for my $sentence (sentences($t)) {
            my $n = () = $sentence->[1] =~ /[A-Za-z][A-Za-z'-]*/g;
            next if $n <= $longest;
            $hits{long}++;
            push @places, [$line + $sentence->[0], "$n words", substr $sentence->[1], 0, 70];
        }
    }
    my $long = delete $hits{long} // 0;
    my $sum = 0;
    $sum += $_ for values %hits;
    my $limit = $name eq '-' || $name =~ /README\.md$/ && $words >= $small ? $per_strict : $per_file;
    my $over = $words < $small ? $sum > $per_small : 1000 * $sum > $limit * $words;
    $over ||= $long;
    $failed ||= $over;
    if ($mode ne 'table') { print "$name:$_->[0]: $_->[1]: $_->[2]\n" for sort { $a->[0] <=> $b->[0] } @places; }
    printf "%-44s %6d words, %3d places, %5.1f in 1,000, %d long sentence%s%s\n", $name, $words, $sum,
        1000 * $sum / ($words || 1), $long, $long == 1 ? '' : 's', $over ? ': over the limit' : ''
        if ($sum || $long) && ($mode ne 'enforce' || $over) || @files == 1;
    $all{words} += $words;
    $all{sum} += $sum;
    $all{long} += $long;
}
if (@files > 1) {
    my $over = 1000 * $all{sum} > $per_all * $all{words};
    printf "%-44s %6d words, %3d places, %5.1f in 1,000, %d long sentences%s\n", 'all files', $all{words}, $all{sum},
        1000 * $all{sum} / ($all{words} || 1), $all{long}, $over ? ': over the limit' : '';
    $failed ||= $over;
}
exit($mode eq 'enforce' && $failed ? 1 : 0);
PERL

words() { perl -e "$program" "$@"; }

# The repository's files that hold prose; files that a test compares byte by byte are data.
all_files() {
  cd "$(dirname "$0")/.." || exit 2
  local list='git ls-files'
  git rev-parse --git-dir >/dev/null 2>&1 || list='find . -type f -not -path ./build/*'
  $list | sed 's,^\./,,' | grep -E '\.(c|h|cc|sh|py|js|mjs|css|html|md|1)$|(^|/)Makefile$' | grep -v '^tests/data/\|^tests/words.sh$\|^fuzz/seeds/'
}

self_test() {
  local checks=0 failed=0
  dir=$(mktemp -d) || exit 2
  trap 'rm -rf "$dir"' EXIT
  # found WANT FILE: the kinds of places in the text on standard input, read as FILE
  found() {
    local got
    cat >"$dir/$2"
    got=$(cd "$dir" && words list "$2" | sed -n 's/^[^ ]*:[0-9]*: \([^:]*\): .*/\1/p' | sort -u | paste -sd, -)
    checks=$((checks + 1))
    [ "$got" = "$1" ] || { failed=$((failed + 1)); echo "FAIL words.sh: '$1' expected in $(cat "$dir/$2"), '$got' found"; }
  }
  # limit STATUS FILE: what --enforce ends with
  limit() {
    local got=0
    cat >"$dir/$2"
    (cd "$dir" && words enforce "$2" >/dev/null) || got=$?
    checks=$((checks + 1))
    [ "$got" = "$1" ] || { failed=$((failed + 1)); echo "FAIL words.sh: status $1 expected of $2, $got found"; }
  }
  found 'no noun' a.c <<<'/* What it holds counts. */'
  found 'no noun' b.c <<<'int x; // a list of those that ended'
  found 'told' c.c <<<'void f(void) { puts("the reader is told about it"); }'
  found 'Of in front' d.md <<<'Of a breakdown, self is listed.'
  found 'alone' e.sh <<<'x=1 # the index beside it'
  found 'amounts' f.py <<<'x = 1 # a block of so many bytes'
  found 'be there' g.1 <<<'The name is there if it is to be had.'
  found 'amounts' Makefile <<<'all: # packages whose names are long'
  found '' h.c <<<'/* What grew? Of course, a library such as zlib stands for it. */ int what_there_is;'
  found '' i.md <<<'    code that stands beside it, of which nobody reads'
  found '' j.c <<<'const char *s = "so many";'
  found '41 words' k.c <<<"/* $(printf 'word %.0s' {1..41}) */"
  found '' l.c <<<"/* $(printf 'word %.0s' {1..20}). $(printf 'word %.0s' {1..21}) */"
  found '' m.md <<<"$(printf -- '- an item of a list with seven words\n%.0s' {1..9})"
  found '41 words' n.sh < <(for i in {1..40}; do echo "# word"; done; echo "# end")
  found '' o.c < <(echo '/* x */'; for i in {1..41}; do echo "#define WORD$i a word"; done)
  limit 0 p.c <<<"/* What it is. What it has. What it was. $(printf 'One word. %.0s' {1..200}) */"
  limit 1 q.c <<<"/* What it is. What it has. What it was. What it does. $(printf 'One word. %.0s' {1..200}) */"
  limit 1 README.md <<<"What it is. What it has. What it was. $(printf 'One word. %.0s' {1..300})"
  limit 1 r.c <<<"/* $(printf 'word %.0s' {1..41}) */"
  echo "words.sh: $((checks - failed)) passed, $failed failed"
  [ $failed = 0 ]
}

mode=table
case ${1-} in
  --self-test) self_test; exit ;;
  --list) mode=list; shift ;;
  --enforce) mode=enforce; shift ;;
  -) ;;
  -*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
if [ $# = 0 ]; then
  mapfile -t files < <(all_files)
  cd "$(dirname "$0")/.." || exit 2
  set -- "${files[@]}"
fi
words $mode "$@"
