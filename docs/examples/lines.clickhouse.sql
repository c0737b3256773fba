-- A table of ClickHouse for lines of tshark -z smcr,lines (docs/lines.md), and three of the ten questions of
-- lines.duckdb.sql. Not run by the tests of the project: written for ClickHouse 25, whose type JSON keeps members that
-- are missing as NULL. A count that is 0 is missing, too, if docs/lines.schema.json has a default for it: sums need
-- nothing, averages need ifNull(..., 0).
--
--     clickhouse-client --query "INSERT INTO smcr_lines FORMAT JSONEachRow" < lines.ndjson
--
-- SPDX-License-Identifier: GPL-2.0-or-later

CREATE TABLE smcr_lines
(
    schema LowCardinality(String),
    line LowCardinality(String),
    time Decimal(20, 9),
    host LowCardinality(String),
    point LowCardinality(String),
    interface LowCardinality(String),
    uid String,
    uid_partial Nullable(Bool),
    client_keys Array(String),
    server_keys Array(String),
    community_id String,
    group_uid String,
    ended LowCardinality(String),
    continues Nullable(Bool),
    from_time Nullable(Decimal(20, 9)),
    to_time Nullable(Decimal(20, 9)),
    late_packets Nullable(UInt64),
    connection JSON, tcp JSON, link_group JSON, link JSON, flow JSON,
    finding JSON, breach JSON, pause JSON, capture JSON, ip JSON, other_roce JSON, probe JSON
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(toDateTime(time))
ORDER BY (line, host, time)
TTL toDateTime(time) + INTERVAL 90 DAY;

-- Which pairs of hosts fall back, and why?
SELECT connection.client.addr, connection.server.addr, connection.fallback.reason, count()
FROM smcr_lines WHERE line = 'connection' AND connection.fallback.reason IS NOT NULL
GROUP BY ALL ORDER BY count() DESC;

-- Which flows see congestion marks, and loss?
SELECT host, flow.src, flow.dst, sum(flow.packets.:UInt64), sum(flow.ecn.ce.:UInt64), sum(flow.repeated.:UInt64)
FROM smcr_lines WHERE line = 'flow' GROUP BY ALL;

-- How long did it take until connections could carry data, by hour?
SELECT toStartOfHour(toDateTime(time)) AS hour, quantiles(0.5, 0.99)(connection.setup_s.:Float64)
FROM smcr_lines WHERE line = 'connection' GROUP BY hour ORDER BY hour;
