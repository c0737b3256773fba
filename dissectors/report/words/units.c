/* units.c
 * Writes numbers with their units. Decimals come from whole numbers: printf would take the decimal
 * point from the locale.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "words.h"

#include <inttypes.h>

#include "wire/wire.h"

#define MINUTE (60 * SMCR_TIME_SECOND)
#define HOUR (60 * MINUTE)

const char *
smcr_words_number(wmem_allocator_t *scope, uint64_t number)
{
    const char *upper;

    if (number < 1000)
        return wmem_strdup_printf(scope, "%" PRIu64, number);
    upper = smcr_words_number(scope, number / 1000);
    return wmem_strdup_printf(scope, "%s,%03" PRIu64, upper, number % 1000);
}

const char *
smcr_words_things(wmem_allocator_t *scope, uint64_t number, const char *thing)
{
    return wmem_strdup_printf(scope, "%s %s%s", smcr_words_number(scope, number), thing,
                              number == 1 ? "" : "s");
}

/* number / unit, with that many decimals, 0 to 2, rounded. */
static const char *
quotient(wmem_allocator_t *scope, double number, double unit, unsigned decimals)
{
    static const uint64_t scales[] = {1, 10, 100};
    uint64_t scale = scales[decimals];
    uint64_t scaled = (uint64_t)(number / unit * (double)scale + 0.5);
    const char *whole = smcr_words_number(scope, scaled / scale);

    if (!decimals)
        return whole;
    return wmem_strdup_printf(scope, "%s.%0*" PRIu64, whole, (int)decimals, scaled % scale);
}

static const char *
with_unit(wmem_allocator_t *scope, const char *number, const char *unit)
{
    return wmem_strdup_printf(scope, "%s %s", number, unit);
}

/* ---- bytes ---- */

static const char *
binary_size(wmem_allocator_t *scope, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double unit = 1024;
    unsigned i = 0;

    for (; i + 1 < G_N_ELEMENTS(units) && (double)bytes >= 1023.95 * unit; i++)
        unit *= 1024;
    return with_unit(scope, quotient(scope, (double)bytes, unit, 1), units[i]);
}

const char *
smcr_words_bytes(wmem_allocator_t *scope, uint64_t bytes)
{
    return bytes < 100000 ? smcr_words_things(scope, bytes, "byte") : binary_size(scope, bytes);
}

const char *
smcr_words_size(wmem_allocator_t *scope, uint64_t bytes)
{
    if (bytes < 1024)
        return with_unit(scope, smcr_words_number(scope, bytes), "B");
    return binary_size(scope, bytes);
}

/* ---- time ---- */

static const char *
long_duration(wmem_allocator_t *scope, uint64_t time)
{
    uint64_t seconds = (time + SMCR_TIME_SECOND / 2) / SMCR_TIME_SECOND;

    if (time < HOUR)
        return wmem_strdup_printf(scope, "%" PRIu64 " min %" PRIu64 " s", seconds / 60,
                                  seconds % 60);
    return wmem_strdup_printf(scope, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600,
                              seconds / 60 % 60);
}

/* At least two digits, where the unit has them. */
static unsigned
decimals_of(uint64_t time, uint64_t unit)
{
    return time < 10 * unit ? 1 : 0;
}

const char *
smcr_words_duration(wmem_allocator_t *scope, uint64_t time)
{
    if (time < SMCR_TIME_MILLISECOND)
        return with_unit(scope, quotient(scope, (double)time, SMCR_TIME_MICROSECOND, 0), "µs");
    if (time < SMCR_TIME_SECOND)
        return with_unit(scope,
                         quotient(scope, (double)time, SMCR_TIME_MILLISECOND,
                                  decimals_of(time, SMCR_TIME_MILLISECOND)),
                         "ms");
    if (time < 2 * MINUTE)
        return with_unit(scope,
                         quotient(scope, (double)time, SMCR_TIME_SECOND,
                                  decimals_of(time, SMCR_TIME_SECOND) + 1),
                         "s");
    return long_duration(scope, time);
}

const char *
smcr_words_moment(wmem_allocator_t *scope, uint64_t time)
{
    GDateTime *moment = g_date_time_new_from_unix_utc((gint64)(time / SMCR_TIME_SECOND));
    const char *text;

    if (!moment)
        return wmem_strdup_printf(scope, "%" PRIu64 " s after 1970", time / SMCR_TIME_SECOND);
    text = wmem_strdup_printf(scope, "%04d-%02d-%02d %02d:%02d:%02d.%06" PRIu64 " UTC",
                              g_date_time_get_year(moment), g_date_time_get_month(moment),
                              g_date_time_get_day_of_month(moment), g_date_time_get_hour(moment),
                              g_date_time_get_minute(moment), g_date_time_get_second(moment),
                              time % SMCR_TIME_SECOND / 1000);
    g_date_time_unref(moment);
    return text;
}

/* ---- rates and shares ---- */

const char *
smcr_words_rate(wmem_allocator_t *scope, uint64_t bytes, uint64_t time)
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    double rate = time ? 8e9 * (double)bytes / (double)time : 0;
    unsigned i = 0;

    if (!time)
        return NULL;
    for (; i + 1 < G_N_ELEMENTS(units) && rate >= 999.5; i++)
        rate /= 1000;
    return with_unit(scope, quotient(scope, rate, 1, i && rate < 99.95 ? 1 : 0), units[i]);
}

const char *
smcr_words_share(wmem_allocator_t *scope, uint64_t part, uint64_t whole)
{
    double percent = 100 * (double)part / (double)whole;

    if (part && percent < 0.1)
        return "below 0.1 %";
    return with_unit(scope, quotient(scope, percent, 1, percent < 9.95 && part ? 1 : 0), "%");
}
