"""
Histograms as docs/json.md defines them, from the samples alone: OpenTelemetry's exponential
histogram of scale 3. Bounds are compared as whole numbers, so nothing is rounded.
"""

import math

SCALE = 3
PER_POWER = 1 << SCALE
QUANTILES = {"median": 500, "p95": 950, "p99": 990, "p999": 999}
NANOSECONDS = 10**9


def bucket_of(nanoseconds):
    """The last i with 2^(i/8) s below the time: its eighth power is above 2^i times a second's."""
    time, second = nanoseconds**PER_POWER, NANOSECONDS**PER_POWER
    bucket = time.bit_length() - second.bit_length() + 1
    while not (time > second << bucket if bucket >= 0 else time << -bucket > second):
        bucket -= 1
    return bucket


def middle_of(bucket):
    """Seconds, with the same relative distance from both bounds."""
    lower, upper = 2 ** (bucket / PER_POWER), 2 ** ((bucket + 1) / PER_POWER)
    return 2 * lower * upper / (lower + upper)


def counts_of(histogram):
    """{bucket: count}; the bucket of zeros is None."""
    counts = {
        histogram["positive"]["offset"] + place: count
        for place, count in enumerate(histogram["positive"]["bucket_counts"])
        if count
    }
    return ({None: histogram["zero_count"]} if histogram["zero_count"] else {}) | counts


def quantile(counts, ends, per_mille):
    """The sample of this rank, as well as buckets and the smallest and largest sample know it."""
    count, (least, most) = sum(counts.values()), ends
    rank = math.ceil(count * per_mille / 1000)
    if rank in (1, count):
        return least if rank == 1 else most
    for bucket in sorted(counts, key=lambda each: -math.inf if each is None else each):
        rank -= counts[bucket]
        if rank <= 0:
            middle = 0 if bucket is None else middle_of(bucket)
            return min(max(round(middle, 9), least), most)
    raise ValueError("more ranks than samples")


def from_counts(counts, least, most):
    """The member `histogram` of a distribution; None without samples."""
    if not counts:
        return None
    known = [bucket for bucket in counts if bucket is not None]
    buckets = range(min(known), max(known) + 1) if known else ()
    return {
        **{name: quantile(counts, (least, most), rank) for name, rank in QUANTILES.items()},
        "scale": SCALE,
        "zero_count": counts.get(None, 0),
        "positive": {
            "offset": min(known, default=0),
            "bucket_counts": [counts.get(bucket, 0) for bucket in buckets],
        },
    }


def of(samples):
    """The histogram of samples in seconds."""
    counts = {}
    for each in samples:
        time = round(each * NANOSECONDS)
        bucket = bucket_of(time) if time else None
        counts[bucket] = counts.get(bucket, 0) + 1
    return from_counts(counts, min(samples, default=None), max(samples, default=None))


def of_all(distributions):
    """The histogram of several distributions, added up."""
    counts, known = {}, [each for each in distributions if each["count"]]
    for each in known:
        for bucket, count in counts_of(each["histogram"]).items():
            counts[bucket] = counts.get(bucket, 0) + count
    return from_counts(
        counts,
        min((each["min"] for each in known), default=None),
        max((each["max"] for each in known), default=None),
    )
