#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# chorus-sweep as users start it. usage: test_bench_sweep.sh CHORUSRUN CHORUS-SWEEP CASE
set -u
chorusrun=$1 sweep=$2 case=$3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "test_bench_sweep: $1" >&2
    exit 1
}

# Run on $1 PEs; standard output and error go to files of the folder, the status to $status.
run() {
    pes=$1
    shift
    "$chorusrun" -n "$pes" "$sweep" "$@" >"$folder/out" 2>"$folder/err"
    status=$?
}

# Run on 2 PEs what must be refused: status 2, and the message once.
refused() {
    says=$1
    shift
    run 2 "$@"
    [ "$status" -eq 2 ] || fail "'$*' exits $status; expected 2"
    count=$(grep -cF -e "$says" "$folder/err")
    [ "$count" -eq 1 ] || fail "'$*' says \"$says\" $count times: $(cat "$folder/err")"
}

# Columns of the CSV file without its comments, from the row after the names.
column() {
    grep -v '^#' "$folder/rows.csv" | tail -n +2 | cut -d, -f"$1"
}

# The algorithms of a collective, as messages list them; of the library's own list.
algos() {
    "$(dirname "$chorusrun")/chorus-info" algorithms |
        awk -v coll="$1" '$1 == coll && !seen[$2]++ { all = all separator $2; separator = ", " } END { printf "%s", all }'
}

# The columns, as every output names them.
names=coll,algo,proto,ctas,dtype,op,pes,bytes,count,time_us_min,time_us_p50,time_us_p99
names=$names,algbw_GBps,busbw_GBps,wrong,rule

every_algorithm() {
    run "$1" -b 4 -e 9K -f 13 -d i16,f32 -o sum,max -n 3 -w 1 -r -1 --algo auto,all \
        --csv "$folder/rows.csv"
    [ "$status" -eq 0 ] || fail "exits $status: $(cat "$folder/err")"
    [ "$(grep -v '^#' "$folder/rows.csv" | head -n 1)" = "$names" ] || fail "wrong columns"
    rows=$(column 1 | wc -l)
    [ "$(tail -n 1 "$folder/out")" = "$rows rows, 0 wrong" ] || fail "wrong last line"
    [ "$(column 7 | sort -u)" = "$1" ] || fail "wrong count of PEs"
    [ "$(column 15 | sort -u)" = 0 ] || fail "wrong data"
    for coll in barrier sync broadcast fcollect alltoall reduce reducescatter collect alltoalls alltoallv inscan \
        exscan gather scatter reduce_to; do
        column 1 | grep -qx "$coll" || fail "no row of $coll"
    done
    column 16 | grep -qx forced || fail "no row of a forced algorithm"
    column 16 | grep -qvx forced || fail "no row of a rule"
}

case $case in
every_algorithm_2 | every_algorithm_3)
    every_algorithm "${case##*_}"
    ;;

stream)
    run 2 -b 8 -e 4K -f 512 -n 3 -w 1 --mode stream --csv "$folder/rows.csv"
    [ "$status" -eq 0 ] || fail "exits $status: $(cat "$folder/err")"
    [ "$(column 1 | wc -l)" -eq 28 ] || fail "not 28 rows"
    ;;

team)
    run 3 -b 8 -e 8 -n 3 -w 1 --team strided:2 --csv "$folder/rows.csv"
    [ "$status" -eq 0 ] || fail "exits $status: $(cat "$folder/err")"
    [ "$(column 7 | sort -u)" = 2 ] || fail "the team of every second PE of 3 has not 2 PEs"
    ;;

alone)
    "$sweep" -b 8 -e 8 -n 3 -w 1 >"$folder/out" || fail "exits $?"
    [ "$(tail -n 1 "$folder/out")" = "15 rows, 0 wrong" ] || fail "wrong last line"
    ;;

files)
    run 2 -b 8 -e 1K -f 2 -n 3 -w 1 --coll barrier,reduce --algo auto,one_shot \
        --csv "$folder/rows.csv" --json "$folder/rows.json" --plot "$folder/it's.svg"
    [ "$status" -eq 0 ] || fail "exits $status: $(cat "$folder/err")"
    for fact in program machine cores reach kernel compiler commit date command; do
        grep -q "^# $fact: ." "$folder/rows.csv" || fail "CSV does not tell the $fact"
    done
    grep -q '</svg>' "$folder/it's.svg" || fail "no whole plot"
    for text in 'chorus-sweep on .*, 2 PEs' '>reduce<' '>one_shot:ll f32 sum<' '>choice of the rule table f32 sum<'; do
        grep -q "$text" "$folder/it's.svg" || fail "no $text in the plot"
    done
    # A sweep beside itself, and beside one whose times are others for some rows.
    "$sweep" --diff "$folder/rows.csv" "$folder/rows.csv" >"$folder/out" || fail "--diff with itself exits $?"
    [ "$(tail -n 1 "$folder/out" | cut -d ';' -f 1)" = "33 rows compared: 0 slower, 0 faster, 33 within noise" ] ||
        fail "--diff with itself: $(cat "$folder/out")"
    awk -F , -v OFS=, '{ is = $2 == "one_shot" && $3 == "ll" && $NF == "forced" }
        is && $8 == 8 { $10 = 900; $11 = 1000 } is && $8 == 16 { $10 = 0.0001; $11 = 0.0002 }
        !is || $8 != 32 { print }' "$folder/rows.csv" >"$folder/after.csv"
    "$sweep" --diff "$folder/rows.csv" "$folder/after.csv" >"$folder/out"
    [ $? -eq 1 ] || fail "--diff with a slower row does not exit 1"
    for row in 'one_shot:ll/1 .* 8 .* 1000.000 .* slower$' 'one_shot:ll/1 .* 16 .* 0.000 .* faster$' \
        '^32 rows compared: 1 slower, 1 faster, 30 within noise; 1 only in .*rows.csv, 0 only in'; do
        [ "$(grep -c "$row" "$folder/out")" -eq 1 ] || fail "--diff, no $row: $(cat "$folder/out")"
    done
    echo "reduce,x" >>"$folder/after.csv"
    "$sweep" --diff "$folder/rows.csv" "$folder/after.csv" >"$folder/out" 2>"$folder/err"
    [ $? -eq 2 ] || fail "--diff of no sweep does not exit 2"
    grep -q '^chorus-sweep: .*after.csv:43: too few cells; expected what --csv writes' "$folder/err" ||
        fail "--diff of no sweep: $(cat "$folder/err")"
    python3 - "$folder/rows.csv" "$folder/rows.json" <<'END' || fail "CSV and JSON differ"
import csv, json, sys

with open(sys.argv[1]) as file:
    rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
with open(sys.argv[2]) as file:
    head, *objects = map(json.loads, file)
assert "chorus-sweep" in head["command"], head
assert len(rows) == len(objects) == 1 + 8 + 3 * 8, (len(rows), len(objects))
for row, row_object in zip(rows, objects):
    assert list(row) == list(row_object), row
    for name, text in row.items():
        value = row_object[name]
        assert value == (text if isinstance(value, str) else type(value)(text)), (name, row)
END
    run 2 -b 8 -e 16 -n 3 --coll broadcast -c 0 --csv "$folder/rows.csv" --plot "$folder/p.png"
    [ "$status" -eq 0 ] || fail "exits $status: $(cat "$folder/err")"
    [ "$(column 15 | sort -u)" = "" ] || fail "wrong elements counted without a check"
    [ "$(tail -n 1 "$folder/out")" = "2 rows, not checked" ] || fail "said to be checked"
    [ -s "$folder/p.png" ] || fail "no plot"
    ;;

refusals)
    refused 'unknown option "--bogus"' --bogus
    refused 'did you mean "fcollect"?' --coll fcolect
    refused 'did you mean "one_shot"?' --algo oneshot
    refused "--algo: unknown \"two_shot\"; Known: auto, all; for fcollect $(algos fcollect)" \
        --algo two_shot --coll fcollect
    refused "; for barrier $(algos barrier); for reduce $(algos reduce)" \
        --algo foo --coll barrier,reduce,sync
    refused '--algo: unknown "ring"; Known: auto, all' --algo ring --coll sync
    refused '--ctas 999: --algo "auto" forces no algorithm' --ctas 999
    refused '--ctas 1,...: --algo "all" forces no algorithm' --ctas 1,2 --algo all --coll sync
    refused '--radix 5: --algo "auto" forces no algorithm that takes a radix; name one that does' \
        --radix 5
    refused 'one that does; for reduce recursive_exchange' --radix 5 --algo ring --coll reduce
    refused 'leave it out, for none of these collectives has one' --radix 5 --algo all --coll sync
    refused '-r 2: expected -1, or a PE from 0 to 1' -r 2
    refused 'no rows' --coll reduce -d f32 -o xor
    for kind in csv json; do
        run 2 --$kind "$folder/none/rows"
        [ "$status" -eq 1 ] || fail "a file in no folder exits $status; expected 1"
        grep -q "^chorus-sweep: $folder/none/rows: cannot write: No such file" "$folder/err" ||
            fail "a file in no folder: $(cat "$folder/err")"
    done
    refused 'CTAs were requested' --coll reduce --algo one_shot:ll --ctas 1000
    refused '--mode graph: CUDA graphs need a heap on GPUs' --mode graph
    refused '--vs: those libraries need streams of GPUs' --mode stream --vs nccl
    refused 'unknown "mpi"; expected a list of: nccl, nccl_windows' --vs nccl,mpi
    refused 'cannot serve this call: it needs whole: partial results keep' \
        --coll reduce --algo recursive_exchange:ll -d bf16 -e 8
    run 2 --coll barrier -n 3 --plot "$folder/p.svg"
    [ "$status" -eq 1 ] || fail "a plot of nothing exits $status; expected 1"
    grep -q "^chorus-sweep: $folder/p.svg: not drawn" "$folder/err" || fail "a plot of nothing: $(cat "$folder/err")"
    run 2 --help
    [ "$status" -eq 0 ] || fail "--help exits $status"
    [ "$(grep -c '^Usage: chorus-sweep' "$folder/out")" -eq 1 ] || fail "no help, or twice"
    ;;

*) fail "no case '$case'" ;;
esac
