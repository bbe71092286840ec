/* See manners.h. */
#include "manners.h"

void emq_line_up(struct emq_line *line, const struct emq_sight *sight, void *who, long long size, bool owes) {
    *line = (struct emq_line){.sight = sight, .who = who, .size = size, .waiting = size, .began = -1, .owes = owes};
}

/* In mint order, as long as no two jobs in a row are not fresh: shared/serve_heads.lua. */
static long long serve_heads(struct emq_line *line, long long most, long long *reads) {
    long long served = 0, upto = line->began < 0 ? line->size : line->began;
    while (served < most && *reads > 0 && line->oldest < upto) {
        enum emq_head head = line->sight->look(line->who, line->oldest, line->slot);
        --*reads;
        if (head == EMQ_HEAD_TRIED && line->owes) {
            line->held = true;
            break;
        }
        line->sight->leave(line->who, line->slot, head != EMQ_HEAD_NONE);
        line->oldest++;
        line->waiting--;
        if (head == EMQ_HEAD_NONE) continue;
        served++;
        line->owes = head == EMQ_HEAD_TRIED;
    }
    return served;
}

static void begin_run_at(struct emq_line *line, long long place) {
    line->began = line->run = place;
    line->running = true;
}

/* Finds the first fresh job behind the oldest: among the next 50 one by one, since fresh jobs may lie between retries;
 * farther behind by halving, as if all behind it were fresh. */
static void begin_run(struct emq_line *line) {
    long long low = line->oldest, high = line->size - 1;
    line->searched = true;
    for (long long place = low + 1; place <= low + EMQ_NEAR && place <= high; place++) {
        if (line->sight->is_fresh(line->who, place)) {
            begin_run_at(line, place);
            return;
        }
    }
    if (high - low <= EMQ_NEAR || !line->sight->is_fresh(line->who, high)) return;
    while (high - low > 1) {
        long long middle = low + (high - low) / 2;
        if (line->sight->is_fresh(line->who, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    begin_run_at(line, high);
}

/* True: a fresh job behind the oldest was served. False, and still running: no more rows may be read. */
static bool serve_of_run(struct emq_line *line, long long *reads) {
    if (!line->searched) begin_run(line);
    while (line->running && *reads > 0) {
        if (line->run >= line->size) {
            line->running = false;
            return false;
        }
        enum emq_head head = line->sight->look(line->who, line->run, !line->slot);
        --*reads;
        if (head == EMQ_HEAD_TRIED) {
            line->ended = true;
            line->running = false;
            return false;
        }
        line->sight->leave(line->who, !line->slot, head == EMQ_HEAD_FRESH);
        line->run++;
        line->waiting--;
        if (head == EMQ_HEAD_FRESH) return true;
    }
    return false;
}

static void serve_held(struct emq_line *line) {
    line->sight->leave(line->who, line->slot, true);
    line->held = false;
    line->oldest++;
    line->waiting--;
    line->owes = true;
}

static void go_behind_run(struct emq_line *line) {
    line->oldest = line->run;
    line->held = line->ended;
    line->slot = !line->slot;
    line->began = -1;
    line->running = line->ended = false;
}

long long emq_line_serve(struct emq_line *line, long long most, long long *reads) {
    long long served = 0;
    while (served < most && line->waiting > 0 && *reads > 0) {
        if (line->held && !line->owes) {
            serve_held(line);
            served++;
        } else if (line->held) {
            if (serve_of_run(line, reads)) {
                line->owes = false;
            } else if (line->running) {
                return served;
            } else {
                serve_held(line);
            }
            served++;
        } else if (line->began >= 0 && line->oldest == line->began) {
            go_behind_run(line);
        } else {
            served += serve_heads(line, most - served, reads);
        }
    }
    return served;
}
