#!/usr/bin/env bash
# heapdump check: known verdicts, and the rate of false alarms on sampled A/A runs. In those the true values are
# exactly at the limits, so half of all estimates exceed them.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq gcc libstb-dev
work=$PWD/build/peers/check
rm -rf "$work" && mkdir -p "$work"
linked "$work/check_aa" tests/peers/programs/check_aa.c
seeds=$PWD/fuzz/seeds data=$PWD/tests/data
cd "$work"

# trace PROCESS LOAD PARSE: writes a trace; LOAD and PARSE are hexadecimal sizes
trace() { printf '[{"pid":1,"ph":"M","name":"process_name","args":{"name":"%s"}},{"pid":1,"ph":"M","args":{"stackFrames":{"1":{"name":"main"},"2":{"name":"load","parent":"1"},"3":{"name":"parse","parent":"2"}}}},{"pid":1,"ph":"v","id":"7","args":{"dumps":{"heaps":{"malloc":{"entries":[{"size":"%s","bt":""},{"size":"%s","bt":"1"},{"size":"%s","bt":"2"},{"size":"%s","bt":"3"}]}}}}}]' "$1" "$2" "$2" "$2" "$3"; }
trace app 64 10 > base.json
trace app 69 10 > five.json
trace app 6a 20 > six.json
trace other 6a 20 > other.json
verdicts() { "$tool" check --json "$@" | jq -r '[.checks[] | "\(.of) \(.verdict)"] + ["\(.failed)"] | join(", ")'; }
check "growth equal to the limit passes (default limit 5%)" "0 growth ok, 0" "$(status "$tool" check base.json five.json) $(verdicts base.json five.json)"
check "growth above the limit fails" "1 growth failed, 1" "$(status "$tool" check base.json six.json) $(verdicts base.json six.json)"
check "--max-growth" "0 0 1" "$(status "$tool" check --max-growth 6 base.json six.json) $(status "$tool" check --max-growth 6% base.json six.json) $(status "$tool" check --max-growth 5.9% base.json six.json)"
check "... the percent sign may follow a space" "0 0" "$(status "$tool" check --max-growth '6 %' base.json six.json) $(wc -l < err)"
check "... a number below 1 without a percent sign: a hint" "1 heapdump: --max-growth 0.05 means 0.05 %; for 5 % write 5%" "$(status "$tool" check --max-growth 0.05 base.json six.json) $(cat err)"
check "... the row shows the limit in percent" "app, malloc: at most +0.05%" "$(sed -n '2s/.*[0-9] B  //p' out)"
check "--max-total limits only the total" "total ok, 0" "$(verdicts --max-total 106 base.json six.json)"
check "... a total above it fails" "total failed, 1" "$(verdicts --max-total 105 base.json six.json)"
check "several --site limits" "site ok, site failed, 1" "$(verdicts --site 'parse=32' --site '^lo.d$=105' base.json six.json)"
check "a site that BASELINE lacks fails as growth" "growth failed, 1" "$(verdicts base.json other.json)"
check "... but passes if only the total is limited" 0 "$(status "$tool" check --max-total 1k base.json other.json)"
check "less memory passes" 0 "$(status "$tool" check six.json base.json)"
check "the row of a failed limit" "FAILED growth 100 106 +6.0% 105 app, malloc: at most +5%" "$("$tool" check --bytes base.json six.json | sed -n 2p | tr -s ' ')"
kinds() { "$tool" check "$@" "$data/heap-go.txt" "$data/heap-go.txt" | sed 1d | sed 's/.*iB  //; s/: at most.*//' | paste -sd';' | sed 's/;/; /'; }
check "a file with two kinds of heaps: the live ones are checked" "-, go" "$(kinds)"
check "... or those of --kind" "-, go, total" "$(kinds --kind total)"
check "--site that matches no function in either file: status 1" "1 heapdump: --site: no function of base.json or six.json matches 'pars_'" "$(status "$tool" check --site 'pars_=1M' --site 'load=1M' base.json six.json) $(cat err)"
check "... a type" "1 heapdump: --site: no type of base.json or six.json matches 'x'" "$(status "$tool" check --site 'type=x=1M' base.json six.json) $(cat err)"
rows() { printf 'kind,stack,bytes\nlive,main,100\nlive,keep,1\npeak,main,%s\npeak,drop,1\n' "$1"; }
rows 200 > before.csv && rows 300 > after.csv
check "... a function of the peak is no mistake" "0 0" "$(status "$tool" check --site 'drop=1k' before.csv after.csv) $(wc -l < err)"
check "the heading has the kind" "live heap of the last dump;peak heap of the last dump" "$(for k in live peak; do "$tool" check --kind $k before.csv after.csv | sed -n '1s/.*limit  //p'; done | paste -sd';')"
check "a peak that grew beyond the limit: one line" "0 the peak of - grew beyond the limit, from 201 B to 301 B: --kind peak checks it" "$(status "$tool" check before.csv after.csv) $(sed '1,2d' out)"
check "... no line if the kind was chosen, or the limit is larger" "0 0 0" "$(for o in '--kind peak' '--kind live' '--max-growth 60%'; do "$tool" check $o before.csv after.csv | grep -c 'beyond the limit' || :; done | paste -sd' ')"
check "files of objects" 0 "$(status "$tool" check --max-total 1M "$seeds/fuzz_netcf/domains.txt" "$seeds/fuzz_netcf/domains.txt")"
check "wrong usage" "2 2 2 2 2 2" "$(for o in --max-growth=x --max-growth=-1 --site=a --site=a=b --site='(=5' --max-total=0; do status "$tool" check $o base.json six.json; done | paste -sd' ')"
check "a baseline without a second file: usage error" 2 "$(status "$tool" check base.json)"
check "a missing file: status 1" 1 "$(status "$tool" check base.json gone.json)"

# alarms NAME BLOCKS SAMPLE [growth]: 100 A/A runs, 1,000 with FULL=1. The limits are the true values; with `growth`,
# only growth is limited. At most 4 false alarms pass, or 9 with FULL=1.
runs=100 most=4
[ -z "${FULL-}" ] || runs=1000 most=9
alarms() {
  rm -rf aa && mkdir aa
  local limits="--max-growth 0" n=0 alarms=0 noise=0 total of
  read -r total of < <(./check_aa aa $runs "$2" "$3")
  if [ -z "${4-}" ]; then
    limits="$limits --max-total $total"
    for bytes in $of; do limits="$limits --site type=site.$n=$bytes"; n=$((n + 1)); done
  fi
  for i in $(seq 0 $((runs - 1))); do
    "$tool" check $limits "aa/$i.a.json" "aa/$i.b.json" > out 2> err || alarms=$((alarms + 1))
    ! grep -q '^noise' out || noise=$((noise + 1))
  done
  rm -rf aa
  if [ $alarms -le $most ] && [ $noise -gt $((runs * 3 / 10)) ]; then pass "$1: $alarms false alarms in $runs, $noise with an estimate beyond a limit"
  else fail "$1: $alarms false alarms in $runs, $noise with an estimate beyond a limit"; fi
}
alarms "9 MB in 300 blocks, sampled every 512 KiB, 12 limits" 300 524288
alarms "60 MB in 2000 blocks, sampled every 64 KiB, 12 limits" 2000 65536
alarms "2 MB in 60 blocks, sampled every 512 KiB, growth only" 60 524288 growth
alarms "4 MB in 120 blocks, sampled every 512 KiB, growth only" 120 524288 growth
alarms "60 MB in 2000 blocks, sampled every 64 KiB, growth only" 2000 65536 growth

# Real growth is found: 60 MB grow by half.
mkdir more
./check_aa more 20 2000 65536 > out && for i in $(seq 0 19); do mv more/$i.a.json more/$i.base; done
./check_aa more 20 3000 65536 > out
n=0; for i in $(seq 0 19); do "$tool" check more/$i.base more/$i.b.json > out 2> err || n=$((n + 1)); done
check "growth by half, sampled: found in 20 of 20" 20 $n
exit $failed
