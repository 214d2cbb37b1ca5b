/* faultline run --page-map: where the pages of each allocation were, over time. */
#include "base/units.h"
#include "cli/watch.h"

enum { MOST_ROWS = 48, DEVICES = 16 };

static char glyph(uint8_t cell)
{
    unsigned place = cell & CELL_PLACE;
    if (cell & CELL_MIXED) return ':';
    if (cell & CELL_DUPLICATED) return '=';
    if (place < 2) return place ? 'H' : '-';
    return place - 2 < DEVICES ? "0123456789ABCDEF"[place - 2] : '?';
}

/* Background colours: none, blue, then one for each device; duplicates and mixtures. */
static int colour_of(char g)
{
    switch (g) {
    case '-': return 49;
    case 'H': return 44;
    case '=': return 45;
    case ':': return 100;
    default: return g >= '0' && g <= '9' ? (int[]){ 42, 43, 46, 41 }[(g - '0') % 4] : 47;
    }
}

/* An allocation of few pages has as many characters. */
static unsigned width_of(const struct trace_allocation *a)
{
    uint64_t pages = a->bytes / PAGE_BYTES + (a->bytes % PAGE_BYTES != 0);
    return pages && pages < MAP_CELLS ? (unsigned)pages : MAP_CELLS;
}

static void print_cells(FILE *to, const struct trace_map_row *row, unsigned width, bool colour)
{
    char last = 0;
    fputc('|', to);
    for (unsigned k = 0; k < width; k++) {
        char g = glyph(row->cell[k * MAP_CELLS / width]);
        if (colour && g != last) fprintf(to, "\033[%dm", colour_of(g));
        fputc(g, to);
        last = g;
    }
    fputs(colour ? "\033[49m|" : "|", to);
}

static void print_row(FILE *to, const struct trace_region *r, const struct trace_map_row *row, unsigned width,
                      bool colour)
{
    static const char *const moments[] = { "launch of", "after", "at", "at the end" };
    double ms = row->time > r->started ? (double)(row->time - r->started) / 1e6 : 0;
    char kernel[21];
    snprintf(kernel, sizeof kernel, "%s", trace_name(r, row->name));
    for (char *c = kernel; *c; c++) /* it is cut, and not at the end of a character */
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') *c = '?';
    fprintf(to, "  %9.2f ms %-10s %-20s ", ms, moments[row->moment <= MOMENT_END ? row->moment : MOMENT_TIME], kernel);
    print_cells(to, row, width, colour);
    if (row->repeats) fprintf(to, " and %u more time%s", row->repeats, row->repeats == 1 ? "" : "s");
    fputc('\n', to);
}

static void print_allocation(FILE *to, struct trace_region *r, const struct trace_allocation *a, bool colour)
{
    char size[16], cell[16];
    uint64_t rows = atomic_load(&r->map_rows), mine = 0, seen = 0;
    if (rows > MAP_ROWS) rows = MAP_ROWS;
    for (uint64_t k = 0; k < rows; k++) mine += r->map[k].ordinal == a->ordinal;
    unsigned width = width_of(a);
    if (!mine) return;
    fprintf(to, " #%llu at 0x%llx, %s; a character is %s\n", (unsigned long long)a->ordinal,
            (unsigned long long)a->address, bytes_text(a->bytes, size),
            bytes_text(width < MAP_CELLS ? PAGE_BYTES : a->bytes / width, cell));
    for (uint64_t k = 0; k < rows; k++) {
        if (r->map[k].ordinal != a->ordinal) continue;
        if (mine <= MOST_ROWS || seen < MOST_ROWS / 2 || seen >= mine - MOST_ROWS / 2)
            print_row(to, r, &r->map[k], width, colour);
        else if (seen == MOST_ROWS / 2)
            fprintf(to, "  ... %llu rows ...\n", (unsigned long long)(mine - MOST_ROWS));
        seen++;
    }
}

void page_map_print(FILE *to, struct trace_region *r, bool colour)
{
    char name[256];
    uint64_t entries = allocation_entries(r), lost = atomic_load(&r->map_rows);
    fprintf(
        to,
        "faultline: where pages were in %s, process %u\n"
        " H on the host; 0-F on that device; - nowhere; = on several, to read; : its pages are not all in one place\n",
        program_text(r, name, sizeof name), r->pid);
    for (uint64_t k = 1; k < entries; k++)
        if (r->allocations[k].ordinal) print_allocation(to, r, &r->allocations[k], colour);
    if (lost > MAP_ROWS) fprintf(to, " %llu later rows were not kept\n", (unsigned long long)(lost - MAP_ROWS));
}
