#!/usr/bin/env bash
# Loads the scripts that heapdump --completion writes into bash, zsh and fish, and checks the completions there.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
work=$PWD/build/peers/completion
rm -rf "$work" && mkdir -p "$work"
cd "$work"
PATH=$(dirname "$tool"):$PATH
export LC_ALL=C HOME=$work XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data TERM=dumb
touch some.dartheap other.json
for shell in bash zsh fish; do "$tool" --completion $shell > $shell; done
check "an unknown shell is refused" "2 heapdump: --completion takes bash, zsh or fish, not 'sh'; see heapdump --help" "$(status "$tool" --completion sh) $(cat err)"
listed=$("$tool" help all | sed -n 's/^  \([a-z]\+\)  .*/\1/p' | grep -v '^heapdump$' | sort | xargs)

# cases FUNCTION: the completions that all shells share. FUNCTION prints the words that can complete a command line.
cases() {
  check "$shell: the start of a command's name" "$listed" "$($1 heapdump '' | grep -v -e '^help$' -e '^-' | sort | xargs)"
  check "$shell: a command's name after help" "$(tr ' ' '\n' <<< "$listed" | grep '^c' | xargs)" "$($1 heapdump c | sort | xargs)"
  check "$shell: a command to help with" "$(tr ' ' '\n' <<< "$listed" | grep '^m' | xargs)" "$($1 heapdump help m | sort | xargs)"
  check "$shell: no options of other commands" "--json" "$($1 heapdump tree --js)"
  check "$shell: options after a file name" "" "$($1 heapdump info --inv)"
  check "$shell: values of an option" "--invert" "$($1 heapdump tree other.json --inv)"
  check "$shell: forms of a value" "live peak temporary total" "$($1 heapdump top --kind '' | sort | xargs)"
  check "$shell: forms of a value" "every= exit peak signal" "$($1 heapdump record --at '' | sort | xargs)"
  check "$shell: formats that convert writes" "heap-text heapsnapshot heaptrack" "$($1 heapdump info --format hea | sort | xargs)"
  check "$shell: a file name" "memprof-index memprof-raw memprof-yaml" "$($1 heapdump convert --to memprof- | sort | xargs)"
  check "$shell: a file name as the value of an option" "some.dartheap" "$($1 heapdump retained so)"
  check "$shell: names of shells" "other.json" "$($1 heapdump merge --add-to ot)"
  check "$shell: shells" "bash fish zsh" "$($1 heapdump --completion '' | sort | xargs)"
}

# Split as readline does: = is a word of its own.
in_bash() {
  bash --norc -c '. ./bash
    complete -p heapdump | grep -q -- "-o default" && files=1
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _heapdump
    if ((${#COMPREPLY[@]})); then printf "%s\n" "${COMPREPLY[@]}"; elif [[ $files && ${!#} != -* ]]; then compgen -f -- "${!#}"; fi' bash "$@"
}
shell=bash
cases in_bash
check "bash: --name=value" "live" "$(in_bash heapdump top --kind = l)"
check "bash: --name=" "live peak temporary total" "$(in_bash heapdump top --kind = | sort | xargs)"
check "bash: a program to record" 1 "$(in_bash heapdump record --at peak -- hea | grep -cx heapdump)"
for c in $listed; do
  check "bash: all options of $c" "$("$tool" help $c | sed -n 's/^  \(-o, \)\?\(--[a-z-]*\).*/\2/p' | sort -u | xargs)" \
    "$(in_bash heapdump $c -- | grep -v -e '^--help$' -e '^-o$' | sort -u | xargs)"
done

# zsh completes only in a terminal. The script logs the words that compadd would show.
if need zsh; then
  in_zsh() {
    local line="$*"
    zsh -f -c 'zmodload zsh/zpty
      zpty z zsh -f -i
      setup="PATH=$3; PS1= PS2=; unsetopt zle_bracketed_paste beep; fpath=($1 \$fpath); autoload -Uz compinit && compinit -u -D
        zstyle \":completion:*\" list-grouped false; zstyle \":completion:*\" insert-tab false
        compadd() { local -a shown; builtin compadd -O shown \"\$@\"; print -rl -- \"\${shown[@]/#/<}\" >>found; builtin compadd \"\$@\" }
        done_now() { zle -I; print -r ready-now }; zle -N done_now; bindkey ^X done_now; bindkey ^I complete-word; print set-\up"
      zpty -w z "$setup"; zpty -r z line "*set-up*"
      zpty -w -n z "$2"$'"'\t\x18'"'; zpty -r z line "*ready-now*"; zpty -d z' zsh "$work/functions" "$line" "$PATH"
    sed -n 's/^<//p' found | sort -u
    rm -f found
  }
  mkdir functions && cp zsh functions/_heapdump
  shell=zsh
  cases in_zsh
  check "zsh: --name=value" "live" "$(in_zsh heapdump top --kind=l)"
  check "zsh: a program to record" 1 "$(in_zsh heapdump record --at peak -- hea | grep -cx heapdump)"
else
  echo "SKIP: zsh is not installed: its completion is not loaded"
fi

if need fish; then
  in_fish() {
    fish --no-config -c 'source fish; complete -C "$argv"' "$*" | cut -f1
  }
  shell=fish
  cases in_fish
  check "fish: --name=value" "--kind=live" "$(in_fish heapdump top --kind=l)"
  check "fish: a program to record" 1 "$(in_fish heapdump record --at peak -- hea | grep -cx heapdump)"
else
  echo "SKIP: fish is not installed: its completion is not loaded"
fi
exit $failed
