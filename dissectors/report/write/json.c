/* Writes entries as JSON. The description of an entry (figures.h) lists its members, so no member
 * can be forgotten.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "output.h"

#include <wsutil/json_dumper.h>

#include "line_members.h"
#include "wire/wire.h"

/* How JSON is written, and where to. */
typedef struct {
    json_dumper dumper;      /* Wireshark's writer of JSON */
    wmem_allocator_t *scope; /* memory pool that owns texts while they are written; NULL: a table is
                                written */
    bool is_line;            /* a line is written, which leaves members out (line_members.h) */
    bool is_full;            /* the line has the members that only full lines have */
    const smcr_json_choice_t *choice; /* chooses the entries of lists; NULL: all */
    GHashTable *texts; /* texts of a table: text -> its index + 1; NULL: texts are written in
                          place */
    GPtrArray *text_list; /* the same texts, by index; NULL: no table is written */
} writer_t;

static void write_entry(writer_t *writer, const void *entry,
                        const smcr_figure_description_t *description);

/* ---- opcodes: InfiniBand Architecture Specification, volume 1, table 38 ---- */

static const char *const services[8] = {
    [SMCR_RC >> 5] = "RC", [SMCR_UC >> 5] = "UC",   [SMCR_RD >> 5] = "RD",
    [SMCR_UD >> 5] = "UD", [SMCR_XRC >> 5] = "XRC",
};

static const char *const operations[SMCR_RC_OPCODES] = {SMCR_RC_OPERATIONS(SMCR_WIRE_TEXT_ROW)};

/* Returns the name of an opcode: service and operation, such as RC_WRITE_FIRST. An opcode that
 * InfiniBand does not define is written as its number, such as 0x95. */
static const char *
opcode_name(wmem_allocator_t *scope, uint8_t opcode)
{
    const char *service = services[smcr_wire_bits(opcode, SMCR_MASK_SERVICE)];
    const char *operation = operations[opcode % SMCR_RC_OPCODES];

    if (opcode == SMCR_IB_CNP)
        return "CNP";
    return service && operation ? wmem_strdup_printf(scope, "%s_%s", service, operation)
                                : wmem_strdup_printf(scope, "0x%02x", opcode);
}

/* ---- values ---- */

/* Writes the name of the next member. A value has to follow. */
static void
write_name(writer_t *writer, const char *name)
{
    json_dumper_set_member_name(&writer->dumper, name);
}

/* Writes null: the value is not known, or does not exist (docs/json.md). */
static void
write_null(writer_t *writer)
{
    json_dumper_value_anyf(&writer->dumper, "null");
}

/* Writes a number; null: not known. */
static void
write_number(writer_t *writer, uint64_t number)
{
    if (number == SMCR_FIGURE_UNKNOWN)
        write_null(writer);
    else
        json_dumper_value_anyf(&writer->dumper, "%" PRIu64, number);
}

/* Writes nanoseconds as seconds; SMCR_FIGURE_UNKNOWN as null. `quote`: text before and after the
 * number. A time since 1970 is quoted, since few readers of JSON keep all digits of such a
 * number. */
static void
write_decimal(writer_t *writer, uint64_t time, const char *quote)
{
    if (time == SMCR_FIGURE_UNKNOWN)
        write_null(writer);
    else if (!time && writer->texts) /* most times of a table are 0, so they are written short */
        json_dumper_value_anyf(&writer->dumper, "0");
    else
        json_dumper_value_anyf(&writer->dumper, "%s%" PRIu64 ".%09" PRIu64 "%s", quote,
                               time / SMCR_TIME_SECOND, time % SMCR_TIME_SECOND, quote);
}

/* Writes nanoseconds as seconds, without zeros at their end, between `before` and `after`. */
static void
write_short_decimal(writer_t *writer, uint64_t time, const char *before, const char *after)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%" PRIu64 ".%09" PRIu64, time / SMCR_TIME_SECOND,
                          time % SMCR_TIME_SECOND);

    while (text[length - 1] == '0')
        length--;
    length -= text[length - 1] == '.';
    json_dumper_value_anyf(&writer->dumper, "%s%.*s%s", before, length, text, after);
}

/* Writes nanoseconds as seconds between `quote`; in a line without zeros at their end. */
static void
write_time(writer_t *writer, uint64_t time, const char *quote)
{
    if (writer->is_line && time != SMCR_FIGURE_UNKNOWN)
        write_short_decimal(writer, time, quote, quote);
    else
        write_decimal(writer, time, quote);
}

/* Writes nanoseconds as seconds; null: not known. */
static void
write_seconds(writer_t *writer, uint64_t time)
{
    write_time(writer, time, "");
}

/* Writes the index of a text among the texts of a table. A text that is not among them is added at
 * the end. */
static void
write_text_index(writer_t *writer, const char *text)
{
    unsigned index = GPOINTER_TO_UINT(g_hash_table_lookup(writer->texts, text));

    if (!index) {
        char *copy = g_strdup(text);
        g_ptr_array_add(writer->text_list, copy);
        index = writer->text_list->len;
        g_hash_table_insert(writer->texts, copy, GUINT_TO_POINTER(index));
    }
    write_number(writer, index - 1);
}

/* Writes a text as valid UTF-8; null: not known. In a table a text is written as its index. */
static void
write_text(writer_t *writer, const char *text)
{
    if (writer->texts && text) {
        write_text_index(writer, text);
        return;
    }
    char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

    json_dumper_value_string(&writer->dumper, valid);
    g_free(valid);
}

/* Writes the number of a frame; frame 0 as null. */
static void
write_frame(writer_t *writer, uint32_t frame)
{
    write_number(writer, frame ? frame : SMCR_FIGURE_UNKNOWN);
}

/* Writes the time of a frame as a member. Its name is made of `name`, that of the frame's number:
 * "frame" becomes "time", "xy_frame" becomes "xy_time". */
static void
write_frame_time(writer_t *writer, const smcr_when_t *when, const char *name)
{
    char time_name[32];

    snprintf(time_name, sizeof time_name, "%.*stime", (int)(strlen(name) - strlen("frame")), name);
    write_name(writer, time_name);
    write_time(writer, when->frame ? when->time : SMCR_FIGURE_UNKNOWN, "\"");
}

/* Writes the number of a frame, and the time of the frame as one more member. */
static void
write_when(writer_t *writer, const smcr_when_t *when, const char *name)
{
    write_frame(writer, when->frame);
    write_frame_time(writer, when, name);
}

/* Writes the time from `begin` to `end`, which is negative if the clock went back between them.
 * Both are known. */
static void
write_lasted(writer_t *writer, uint64_t begin, uint64_t end)
{
    bool went_back = end < begin;

    write_name(writer, SMCR_JSON_LINE_LASTED);
    write_short_decimal(writer, went_back ? begin - end : end - begin, went_back ? "-" : "", "");
}

/* Appends the counts of a histogram, from the first to the last that is not 0. */
static void
append_buckets(wmem_strbuf_t *text, const smcr_histogram_t *histogram)
{
    uint32_t begin = 0, end = histogram->length;

    while (begin < end && !histogram->counts[begin])
        begin++;
    while (begin < end && !histogram->counts[end - 1])
        end--;
    wmem_strbuf_append_printf(text, "{\"offset\": %" PRId32 ", \"bucket_counts\": [",
                              begin < end ? histogram->first + (int32_t)begin : 0);
    for (uint32_t i = begin; i < end; i++)
        wmem_strbuf_append_printf(text, "%s%" PRIu64, i > begin ? ", " : "", histogram->counts[i]);
    wmem_strbuf_append(text, "]}");
}

/* Writes quantiles and buckets of a distribution of times, in one line: a report may have millions
 * of histograms. */
static void
write_histogram(writer_t *writer, const smcr_distribution_t *distribution)
{
    static const struct {
        const char *name;
        unsigned per_mille;
    } quantiles[] = {{"median", 500}, {"p95", 950}, {"p99", 990}, {"p999", 999}};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    smcr_histogram_t histogram = smcr_distribution_histogram(distribution, scope);
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "{");

    for (unsigned i = 0; i < G_N_ELEMENTS(quantiles); i++) {
        uint64_t time = smcr_distribution_quantile(distribution, quantiles[i].per_mille);
        wmem_strbuf_append_printf(text, "\"%s\": %" PRIu64 ".%09" PRIu64 ", ", quantiles[i].name,
                                  time / SMCR_TIME_SECOND, time % SMCR_TIME_SECOND);
    }
    wmem_strbuf_append_printf(text, "\"scale\": %d, \"zero_count\": %" PRIu64 ", \"positive\": ",
                              SMCR_HISTOGRAM_SCALE, histogram.zeros);
    append_buckets(text, &histogram);
    json_dumper_value_anyf(&writer->dumper, "%s}", wmem_strbuf_get_str(text));
    wmem_destroy_allocator(scope);
}

/* How a distribution is written. */
typedef struct {
    uint64_t unit;      /* SMCR_TIME_SECOND for times, 1 for figures without unit */
    bool has_histogram; /* the distribution is of kind TIMES */
} spread_form_t;

/* Returns a sum of squares in the square of the unit. */
static double
in_square_units(double sum_of_squares, spread_form_t form)
{
    return sum_of_squares / ((double)form.unit * (double)form.unit);
}

/* Writes the counts of the buckets of a line's distribution of times: the number of times that are
 * 0, and the counts that are not 0, by the number of the bucket. */
static void
write_buckets(writer_t *writer, const smcr_distribution_t *distribution)
{
    smcr_histogram_t histogram = smcr_distribution_histogram(distribution, writer->scope);

    if (histogram.zeros) {
        write_name(writer, "zero_count");
        write_number(writer, histogram.zeros);
    }
    if (histogram.zeros == distribution->count)
        return;
    write_name(writer, "buckets");
    json_dumper_begin_object(&writer->dumper);
    for (uint32_t i = 0; i < histogram.length; i++) {
        if (!histogram.counts[i])
            continue;
        write_name(writer, wmem_strdup_printf(writer->scope, "%" PRId32,
                                              histogram.first + (int32_t)i));
        write_number(writer, histogram.counts[i]);
    }
    json_dumper_end_object(&writer->dumper);
}

/* Writes a number with 15 digits if these are the number, else with the 17 that any number
 * needs. */
static void
write_shortest(writer_t *writer, double number)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(text, sizeof text, "%.15g", number);
    if (g_ascii_strtod(text, NULL) != number)
        g_ascii_dtostr(text, sizeof text, number);
    json_dumper_value_anyf(&writer->dumper, "%s", text);
}

/* Writes a distribution of a line, which has at least one value. If there is only one value, count
 * and sum show it, so nothing else is written. Smallest and largest value are also left out if they
 * are not known. Quantiles are never written, since they follow from the buckets. */
static void
write_line_spread(writer_t *writer, const smcr_distribution_t *spread, spread_form_t form)
{
    void (*write)(writer_t * writer, uint64_t value) =
        form.unit == 1 ? write_number : write_seconds;

    json_dumper_begin_object(&writer->dumper);
    write_name(writer, "count");
    write_number(writer, spread->count);
    write_name(writer, "sum");
    write(writer, spread->sum);
    if (spread->count > 1 && spread->min != SMCR_FIGURE_UNKNOWN) {
        write_name(writer, "min");
        write(writer, spread->min);
        write_name(writer, "max");
        write(writer, spread->max);
    }
    if (spread->count > 1 && form.has_histogram) {
        write_buckets(writer, spread);
    } else if (spread->count > 1) {
        write_name(writer, "sum_of_squares");
        write_shortest(writer, in_square_units(spread->sum_of_squares, form));
    }
    json_dumper_end_object(&writer->dumper);
}

/* Writes a distribution. Outside of lines it always has the same members, so that readers can rely
 * on them: `min` and `max` are null if they are not known. */
static void
write_spread(writer_t *writer, const smcr_distribution_t *distribution, spread_form_t form)
{
    const smcr_distribution_t *spread = smcr_distribution_get(distribution);
    void (*write)(writer_t * writer, uint64_t value) =
        form.unit == 1 ? write_number : write_seconds;
    bool any = spread->count > 0;

    if (writer->is_line) {
        write_line_spread(writer, spread, form);
        return;
    }
    json_dumper_begin_object(&writer->dumper);
    write_name(writer, "count");
    write_number(writer, spread->count);
    write_name(writer, "sum");
    write(writer, spread->sum);
    write_name(writer, "sum_of_squares");
    json_dumper_value_double(&writer->dumper, in_square_units(spread->sum_of_squares, form));
    write_name(writer, "min");
    write(writer, any ? spread->min : SMCR_FIGURE_UNKNOWN);
    write_name(writer, "max");
    write(writer, any ? spread->max : SMCR_FIGURE_UNKNOWN);
    if (form.has_histogram)
        write_name(writer, "histogram");
    if (form.has_histogram && any)
        write_histogram(writer, spread);
    else if (form.has_histogram)
        write_null(writer);
    json_dumper_end_object(&writer->dumper);
}

/* Writes the counts of opcodes as an object: names of opcodes, in the order in which they came
 * first. */
static void
write_opcodes(writer_t *writer, const smcr_figure_opcodes_t *opcodes)
{
    json_dumper_begin_object(&writer->dumper);
    for (unsigned i = 0; i < opcodes->length; i++) {
        write_name(writer, opcode_name(writer->scope, opcodes->counts[i].opcode));
        write_number(writer, opcodes->counts[i].count);
    }
    json_dumper_end_object(&writer->dumper);
}

/* Writes the counts of values as an object whose names are the values, as decimal numbers. */
static void
write_tally(writer_t *writer, const smcr_figure_tally_t *tally)
{
    json_dumper_begin_object(&writer->dumper);
    for (uint32_t i = 0; i < tally->length; i++) {
        write_name(writer, wmem_strdup_printf(writer->scope, "%" PRIu32, tally->counts[i].value));
        write_number(writer, tally->counts[i].count);
    }
    json_dumper_end_object(&writer->dumper);
}

/* Writes a list of numbers, in its order. */
static void
write_numbers(writer_t *writer, const smcr_figure_numbers_t *numbers)
{
    json_dumper_begin_array(&writer->dumper);
    for (uint32_t i = 0; i < numbers->length; i++)
        write_number(writer, numbers->numbers[i]);
    json_dumper_end_array(&writer->dumper);
}

/* Writes a list of texts, in its order. */
static void
write_texts(writer_t *writer, const smcr_figure_texts_t *texts)
{
    json_dumper_begin_array(&writer->dumper);
    for (uint32_t i = 0; i < texts->length; i++)
        write_text(writer, texts->texts[i]);
    json_dumper_end_array(&writer->dumper);
}

/* Writes a list of entries, in its order. If the caller chooses entries, writes the chosen ones
 * only. */
static void
write_list(writer_t *writer, const smcr_figure_member_t *member, const smcr_figure_list_t *list)
{
    const smcr_json_choice_t *choice = writer->choice;

    json_dumper_begin_array(&writer->dumper);
    for (uint32_t i = 0; i < list->length; i++) {
        const void *entry = smcr_figure_list_entry(list, &list->entries[i]);
        if (!choice || choice->chooses(choice->data, member->name, entry, i))
            write_entry(writer, entry, member->of);
    }
    json_dumper_end_array(&writer->dumper);
}

/* Writes the value of a member that is a single value: a number, a text, a word, a truth value, a
 * time or a ratio. The number of a frame is followed by its time as one more member. */
static void
write_plain(writer_t *writer, const smcr_figure_member_t *member, const void *value)
{
    static const char *const bools[] = {
        [SMCR_FIGURE_MAYBE] = "null", [SMCR_FIGURE_NO] = "false", [SMCR_FIGURE_YES] = "true"};

    switch (member->kind) {
    case SMCR_FIGURE_KIND_COUNT:
    case SMCR_FIGURE_KIND_NUMBER:
        write_number(writer, *(const uint64_t *)value);
        break;
    case SMCR_FIGURE_KIND_SECONDS:
    case SMCR_FIGURE_KIND_SAMPLE:
        write_seconds(writer, *(const uint64_t *)value);
        break;
    case SMCR_FIGURE_KIND_TEXT:
        write_text(writer, *(const char *const *)value);
        break;
    case SMCR_FIGURE_KIND_CHOICE:
        write_text(writer, member->words[*(const unsigned *)value]);
        break;
    case SMCR_FIGURE_KIND_BOOL:
        json_dumper_value_anyf(&writer->dumper, "%s", bools[*(const smcr_figure_maybe_t *)value]);
        break;
    case SMCR_FIGURE_KIND_WHEN:
        write_when(writer, value, member->name);
        break;
    case SMCR_FIGURE_KIND_TIME:
        write_time(writer, *(const uint64_t *)value, "\"");
        break;
    default:
        json_dumper_value_double(&writer->dumper, *(const double *)value);
        break;
    }
}

/* Writes the value of a member of any kind, except SUMMARY. Always writes a value: a name without a
 * value would break the JSON. */
static void
write_member(writer_t *writer, const smcr_figure_member_t *member, const void *value)
{
    switch (member->kind) {
    case SMCR_FIGURE_KIND_SPREAD:
    case SMCR_FIGURE_KIND_TIMES:
    case SMCR_FIGURE_KIND_LENGTHS:
        write_spread(writer, *(smcr_distribution_t *const *)value,
                     (spread_form_t){
                         member->kind == SMCR_FIGURE_KIND_LENGTHS ? 1 : SMCR_TIME_SECOND,
                         member->kind == SMCR_FIGURE_KIND_TIMES});
        break;
    case SMCR_FIGURE_KIND_OPCODES:
        write_opcodes(writer, value);
        break;
    case SMCR_FIGURE_KIND_TALLY:
        write_tally(writer, value);
        break;
    case SMCR_FIGURE_KIND_NUMBERS:
        write_numbers(writer, value);
        break;
    case SMCR_FIGURE_KIND_TEXTS:
        write_texts(writer, value);
        break;
    case SMCR_FIGURE_KIND_OBJECT:
        write_entry(writer, value, member->of);
        break;
    case SMCR_FIGURE_KIND_MAYBE:
        if (*(void *const *)value)
            write_entry(writer, *(void *const *)value, member->of);
        else
            write_null(writer);
        break;
    case SMCR_FIGURE_KIND_LIST:
        write_list(writer, member, value);
        break;
    default:
        write_plain(writer, member, value);
        break;
    }
}

/* ---- the summary ---- */

/* Whether the summary has figures of a kind. Index: the kind. For the parts OBJECT and MAYBE,
 * is_added_up() decides by their members. */
static const bool is_sum_kind[] = {
    [SMCR_FIGURE_KIND_COUNT] = true,   [SMCR_FIGURE_KIND_SECONDS] = true,
    [SMCR_FIGURE_KIND_SAMPLE] = true,  [SMCR_FIGURE_KIND_TIMES] = true,
    [SMCR_FIGURE_KIND_SPREAD] = true,  [SMCR_FIGURE_KIND_LENGTHS] = true,
    [SMCR_FIGURE_KIND_OPCODES] = true,
    [SMCR_FIGURE_KIND_TALLY] = true,
    [SMCR_FIGURE_KIND_LIST] = false, /* last kind: sets the length of the table */
};

/* Whether the summary has the member. It does if figures of the member's kind can be added up, or
 * if the member is an entry with at least one such figure. */
static bool
is_added_up(const smcr_figure_member_t *member)
{
    bool is_entry = member->kind == SMCR_FIGURE_KIND_OBJECT ||
                    member->kind == SMCR_FIGURE_KIND_MAYBE;

    for (unsigned i = 0; is_entry && i < member->of->count; i++)
        if (is_added_up(&member->of->members[i]))
            return true;
    return is_sum_kind[member->kind];
}

/* Whether entries of this description have a member `count`. Then the summary has the sum of these
 * members, in place of the number of entries. */
static bool
counts_itself(const smcr_figure_description_t *description)
{
    for (unsigned i = 0; i < description->count; i++)
        if (description->members[i].kind == SMCR_FIGURE_KIND_COUNT &&
            strcmp(description->members[i].name, "count") == 0)
            return true;
    return false;
}

/* Writes the distribution of a SAMPLE member over all entries of the list. `offset`: offset of the
 * member in the entry, bytes. */
static void
write_samples(writer_t *writer, const smcr_figure_list_t *list, size_t offset)
{
    smcr_distribution_t *spread = NULL;

    for (uint32_t i = 0; i < list->length; i++) {
        const uint8_t *entry = smcr_figure_list_entry(list, &list->entries[i]);
        uint64_t sample = *(const uint64_t *)(const void *)(entry + offset);
        if (sample != SMCR_FIGURE_UNKNOWN)
            smcr_distribution_add_time(&spread, writer->scope, sample);
    }
    write_spread(writer, spread, (spread_form_t){SMCR_TIME_SECOND, true});
}

/* Writes those members of `sum` that can be added up. `sum` is the sum of the entries of `list`.
 * For an entry within this sum, `list` is NULL. If `sum` is NULL, none of the entries has this
 * entry, and null is written. */
static void
write_sums(writer_t *writer, const smcr_figure_list_t *list, const void *sum,
           const smcr_figure_description_t *description)
{
    if (!sum) {
        write_null(writer);
        return;
    }
    json_dumper_begin_object(&writer->dumper);
    if (list && !counts_itself(description)) {
        write_name(writer, "count");
        write_number(writer, list->length);
    }
    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *member = &description->members[i];
        const void *value = (const uint8_t *)sum + member->offset;

        if (!is_added_up(member))
            continue;
        write_name(writer, member->name);
        if (member->kind == SMCR_FIGURE_KIND_SAMPLE)
            write_samples(writer, list, member->offset);
        else if (member->of)
            write_sums(writer, NULL,
                       member->kind == SMCR_FIGURE_KIND_MAYBE ? *(void *const *)value : value,
                       member->of);
        else
            write_member(writer, member, value);
    }
    json_dumper_end_object(&writer->dumper);
}

/* Returns the sum of the entries of a list, including the entry after the last one (`rest`). */
static void *
sum_of(writer_t *writer, const smcr_figure_list_t *list, const smcr_figure_description_t *of)
{
    void *sum = wmem_alloc(writer->scope, of->size);
    uint32_t count = list->length + list->rest;

    (count ? smcr_entry_forget : smcr_entry_clear)(sum, of); /* a sum begins as not known, so it
                                                                stays not known if the figure of no
                                                                entry is known */
    for (uint32_t i = 0; i < count; i++)
        smcr_entry_join(sum, smcr_figure_list_entry(list, &list->entries[i]), of, writer->scope);
    return sum;
}

/* Writes the sums of each list of an entry. */
static void
write_summary(writer_t *writer, const void *entry, const smcr_figure_description_t *description)
{
    json_dumper_begin_object(&writer->dumper);
    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *member = &description->members[i];
        const smcr_figure_list_t *list = (const void *)((const uint8_t *)entry + member->offset);

        if (member->kind != SMCR_FIGURE_KIND_LIST)
            continue;
        write_name(writer, member->name);
        write_sums(writer, list, sum_of(writer, list, member->of), member->of);
    }
    json_dumper_end_object(&writer->dumper);
}

/* ---- entries ---- */

/* Writes name and value of a member. In a line, the member may have another name than in the
 * report (smcr_json_line_name()). */
static void
write_named(writer_t *writer, const smcr_figure_member_t *member, const void *entry,
            const smcr_figure_description_t *description)
{
    const void *value = (const uint8_t *)entry + member->offset;

    write_name(writer, writer->is_line ? smcr_json_line_name(member, description) : member->name);
    if (member->kind == SMCR_FIGURE_KIND_SUMMARY)
        write_summary(writer, entry, description);
    else
        write_member(writer, member, value);
}

/* Writes what a line has of an entry: its members in the order of entries.def, without those that
 * line_members.h leaves out. After them, writes the names of members whose values are not known,
 * and for which a reader would else assume a default, mostly 0. */
static void
write_line_members(writer_t *writer, const void *entry,
                   const smcr_figure_description_t *description)
{
    bool has_frames = smcr_json_line_has_frames(description), any_unknown = false;

    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *member = &description->members[i];
        const void *value = (const uint8_t *)entry + member->offset;
        const uint64_t *begin = smcr_json_line_begin(member, entry, description);

        if (smcr_json_line_leaves_out(member, entry, description, writer->is_full))
            continue;
        if (begin)
            write_lasted(writer, *begin, ((const smcr_when_t *)value)->time);
        else if (member->kind == SMCR_FIGURE_KIND_WHEN && !has_frames)
            write_frame_time(writer, value, member->name);
        else
            write_named(writer, member, entry, description);
    }
    for (unsigned i = 0; i < description->count; i++) {
        if (!smcr_json_line_is_unknown(&description->members[i], entry, description))
            continue;
        if (!any_unknown) {
            write_name(writer, SMCR_JSON_LINE_UNKNOWN);
            json_dumper_begin_array(&writer->dumper);
        }
        any_unknown = true;
        write_text(writer, description->members[i].name);
    }
    if (any_unknown)
        json_dumper_end_array(&writer->dumper);
}

/* Writes an entry as an object: all members in the order of entries.def, known or not. Readers rely
 * on this: the schema requires each member. A line leaves members out (line_members.h). */
static void
write_entry(writer_t *writer, const void *entry, const smcr_figure_description_t *description)
{
    json_dumper_begin_object(&writer->dumper);
    if (writer->is_line) {
        write_line_members(writer, entry, description);
    } else {
        for (unsigned i = 0; i < description->count; i++)
            write_named(writer, &description->members[i], entry, description);
    }
    json_dumper_end_object(&writer->dumper);
}

/* Pretty-printed JSON is for people, so a report has line breaks. */
void
smcr_json_write(FILE *file, const smcr_entry_report_t *report)
{
    writer_t writer = {
        .dumper = {.output_file = file, .flags = JSON_DUMPER_FLAGS_PRETTY_PRINT},
        .scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK),
    };

    write_entry(&writer, report, &smcr_entry_report_description);
    json_dumper_finish(&writer.dumper); /* writes a newline, too */
    wmem_destroy_allocator(writer.scope);
}

/* The memory of a line is freed at once, since a live capture writes lines as long as it runs. */
void
smcr_json_write_line(GString *text, const smcr_entry_line_t *line)
{
    writer_t writer = {
        .dumper = {.output_string = text},
        .scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT),
        .is_line = true,
        .is_full = line->is_full == SMCR_FIGURE_YES,
    };

    write_entry(&writer, line, &smcr_entry_line_description);
    json_dumper_finish(&writer.dumper);
    wmem_destroy_allocator(writer.scope);
}

/* The choice limits lists only: sums are those of the whole report. */
void
smcr_json_append_chosen(GString *text, const smcr_entry_report_t *report,
                        const smcr_json_choice_t *choice)
{
    writer_t writer = {
        .dumper = {.output_string = text},
        .scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK),
        .choice = choice,
    };

    write_entry(&writer, report, &smcr_entry_report_description);
    json_dumper_finish(&writer.dumper);
    wmem_destroy_allocator(writer.scope);
}

/* ---- tables ---- */

/* Whether `path` names the time of this member. A member of kind WHEN is written as two:
 * "first_frame" has its time in "first_time". */
static bool
is_time_of(const smcr_figure_member_t *member, const char *path)
{
    size_t stem = strlen(member->name) - MIN(strlen(member->name), strlen("frame"));

    return member->kind == SMCR_FIGURE_KIND_WHEN && strncmp(path, member->name, stem) == 0 &&
           strcmp(path + stem, "time") == 0;
}

/* Returns the member of the entry that the first name of `path` names, by its own name or by that
 * of its time (is_time_of()). The name ends at a dot or with `path`. NULL: there is none. */
static const smcr_figure_member_t *
member_of(const smcr_figure_description_t *description, const char *path)
{
    size_t length = strcspn(path, ".");

    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *member = &description->members[i];
        if (strlen(member->name) == length && strncmp(member->name, path, length) == 0)
            return member;
        if (is_time_of(member, path))
            return member;
    }
    return NULL;
}

/* Writes the frame, or the time, of a member that has both. */
static void
write_one_of(writer_t *writer, const smcr_when_t *when, bool is_time)
{
    if (is_time)
        write_time(writer, when->frame ? when->time : SMCR_FIGURE_UNKNOWN, "\"");
    else
        write_frame(writer, when->frame);
}

/* Writes the value of a figure. `path`: names of members, separated by dots, from `entry` to the
 * figure. If an entry or a member on this way does not exist, writes null. */
static void
write_path(writer_t *writer, const void *entry, const smcr_figure_description_t *description,
           const char *path)
{
    const smcr_figure_member_t *member = member_of(description, path);
    const char *dot = strchr(path, '.');
    const void *value = member ? (const uint8_t *)entry + member->offset : NULL;

    if (member && member->kind == SMCR_FIGURE_KIND_MAYBE)
        value = *(void *const *)value;
    if (!value)
        write_null(writer);
    else if (dot)
        write_path(writer, value, member->of, dot + 1);
    else if (member->kind == SMCR_FIGURE_KIND_WHEN)
        write_one_of(writer, value, is_time_of(member, path));
    else
        write_member(writer, member, value);
}

/* Writes the rows of a table. A row has a value for each path, in the order of the paths: readers
 * find the values by the names in `columns`. */
static void
write_rows(writer_t *writer, const smcr_json_table_t *table)
{
    json_dumper_begin_array(&writer->dumper);
    for (uint32_t i = 0; i < table->list->length; i++) {
        const void *entry = smcr_figure_list_entry(table->list, &table->list->entries[i]);
        json_dumper_begin_array(&writer->dumper);
        for (unsigned path = 0; path < table->path_count; path++)
            write_path(writer, entry, table->description, table->paths[path]);
        json_dumper_end_array(&writer->dumper);
    }
    json_dumper_end_array(&writer->dumper);
}

/* Writes an array of texts. */
static void
write_text_array(writer_t *writer, const char *const *texts, unsigned count)
{
    json_dumper_begin_array(&writer->dumper);
    for (unsigned i = 0; i < count; i++)
        write_text(writer, texts[i]);
    json_dumper_end_array(&writer->dumper);
}

/* `texts` comes last, after all rows have added theirs. The writer has no memory pool (`scope`), so
 * no path may name counts of opcodes or values, or a sum. */
void
smcr_json_append_table(GString *text, const smcr_json_table_t *table)
{
    writer_t writer = {.dumper = {.output_string = text}};
    GHashTable *texts = g_hash_table_new(g_str_hash, g_str_equal);

    writer.text_list = g_ptr_array_new_with_free_func(g_free);
    json_dumper_begin_object(&writer.dumper);
    write_name(&writer, "columns");
    write_text_array(&writer, table->paths, table->path_count);
    write_name(&writer, "rows");
    writer.texts = texts;
    write_rows(&writer, table);
    writer.texts = NULL;
    write_name(&writer, "texts");
    write_text_array(&writer, (const char *const *)writer.text_list->pdata, writer.text_list->len);
    json_dumper_end_object(&writer.dumper);
    json_dumper_finish(&writer.dumper);
    g_hash_table_destroy(texts);
    g_ptr_array_free(writer.text_list, TRUE);
}
