-- Five questions about the profiles of a fleet, for DuckDB or ClickHouse. The rows come from
--     heapdump rows --label host=a1 --label release=1.5 -o in/a1.rows app.pb.gz
-- The first part makes a table of the rows, in the dialect of each engine; the questions are the same for both. Each
-- question names the heapdump command with the same answer (checked by tests/peers/scripts/fleet-sql.sh).
-- Rows of profiles are `self` sizes: they add up. Rows of breakdowns (cumulative = 'cumulative') add up only if they
-- have the same stack. In CSV, ";" and "\" in a name are written with "\" before them: if names contain them, load JSON
-- lines, which have arrays.

-- duckdb
CREATE TABLE fleet AS SELECT * FROM read_csv('in/*.rows', types = {'time': 'TIMESTAMP', 'stack': 'VARCHAR',
    'type': 'VARCHAR', 'bytes': 'UBIGINT', 'blocks': 'UBIGINT', 'variance': 'HUGEINT', 'stack_hash': 'VARCHAR'});
CREATE MACRO arrayJoin(x) AS unnest(x);
CREATE MACRO frames(s) AS string_split(s, ';');
CREATE MACRO innermost(s) AS string_split(s, ';')[-1];
CREATE MACRO paths(s) AS list_transform(range(1, len(frames(s)) + 1), lambda i: array_to_string(frames(s)[1:i], ';'));

-- clickhouse
CREATE TABLE fleet ENGINE = MergeTree ORDER BY time AS SELECT * FROM file('in/*.rows', CSVWithNames, 'profile String,
    time DateTime64(6), host String, release String, kind String, cumulative String, stack String, type String,
    bytes UInt64, blocks UInt64, variance Int128, stack_hash String') SETTINGS date_time_input_format = 'best_effort',
    input_format_skip_unknown_fields = 1;
CREATE FUNCTION frames AS s -> splitByChar(';', s);
CREATE FUNCTION innermost AS s -> splitByChar(';', s)[-1];
CREATE FUNCTION paths AS s -> arrayMap(i -> arrayStringConcat(arraySlice(splitByChar(';', s), 1, i), ';'),
    range(1, length(splitByChar(';', s)) + 1));

-- What holds the most memory on all hosts: heapdump merge --to rows in/*2025-11-22*.rows
SELECT stack, type, sum(bytes) AS held, sum(blocks) AS of_blocks, sum(variance) AS squared
FROM fleet WHERE CAST(time AS DATE) = '2025-11-22' AND kind = 'live'
GROUP BY stack, type ORDER BY held DESC, stack, type LIMIT 20;

-- What grew since yesterday, callees included: heapdump diff, of the sums of each day's rows
SELECT path, sum(was) AS before, sum(is_now) AS after
FROM (SELECT arrayJoin(paths(stack)) AS path, was, is_now FROM
    (SELECT stack, sum(CASE WHEN CAST(time AS DATE) = '2025-11-21' THEN bytes ELSE 0 END) AS was,
            sum(CASE WHEN CAST(time AS DATE) = '2025-11-22' THEN bytes ELSE 0 END) AS is_now
     FROM fleet WHERE kind = 'live' GROUP BY stack) AS by_stack) AS by_path
GROUP BY path ORDER BY sum(is_now) - sum(was) DESC, path LIMIT 20;

-- Which hosts differ most from the average host: heapdump info in/*2025-11-22*.rows
SELECT host, held, of_all FROM
    (SELECT host, sum(bytes) AS held FROM fleet WHERE CAST(time AS DATE) = '2025-11-22' AND kind = 'live' GROUP BY host)
    AS each CROSS JOIN (SELECT sum(bytes) AS of_all, count(DISTINCT host) AS hosts FROM fleet
    WHERE CAST(time AS DATE) = '2025-11-22' AND kind = 'live') AS whole
ORDER BY abs(CAST(held * hosts AS DOUBLE) - CAST(of_all AS DOUBLE)) DESC, host LIMIT 20;

-- Which release brought the growth, and on how many hosts: heapdump merge, of the rows of each release
SELECT stack, release, sum(bytes) AS held, count(DISTINCT host) AS on_hosts
FROM fleet WHERE CAST(time AS DATE) = '2025-11-22' AND kind = 'live' AND stack IN
    (SELECT stack FROM fleet WHERE kind = 'live' GROUP BY stack
     ORDER BY sum(CASE WHEN CAST(time AS DATE) = '2025-11-22' THEN bytes ELSE 0 END) -
              sum(CASE WHEN CAST(time AS DATE) = '2025-11-21' THEN bytes ELSE 0 END) DESC, stack LIMIT 5)
GROUP BY stack, release ORDER BY stack, release;

-- How sure are we: heapdump top --self --frames all, of the sum of all rows
SELECT innermost(stack) AS function, sum(bytes) AS held, sum(blocks) AS of_blocks,
    CAST(round(sqrt(CAST(sum(variance) AS DOUBLE))) AS BIGINT) AS give_or_take
FROM fleet WHERE kind = 'live' GROUP BY function ORDER BY held DESC, function LIMIT 20;
