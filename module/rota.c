/* See rota.h. */
#include "rota.h"

static long long least(long long one, long long other) { return one < other ? one : other; }

void emq_rota_begin(struct emq_rota *rota, emq_step step, void *who, struct emq_stall *flat, long long length,
                    long long room) {
    rota->step = step;
    rota->who = who;
    rota->flat = flat;
    rota->length = length;
    rota->window = least(length, room + EMQ_SPARE);
    rota->flat_at = length;
    rota->resumed = rota->share = 0;
    rota->room = room;
    rota->passed = rota->damaged = rota->ahead = 0;
    rota->unfinished = NULL;
    rota->tail_count = rota->back_from = rota->back_to = 0;
}

static bool has_back(const struct emq_rota *rota) { return rota->back_from < rota->back_to; }

static void put_back(struct emq_rota *rota, struct emq_stall *stall) {
    if (rota->back_to < EMQ_BACK_MAX) rota->back[rota->back_to++] = stall;
}

static void put_to_tail(struct emq_rota *rota, struct emq_stall *stall) {
    if (rota->tail_count <= EMQ_WINDOW_MAX) rota->tail[rota->tail_count++] = stall;
}

/* A lane that stands in front for the first time. */
static void meet(struct emq_rota *rota, struct emq_stall *stall) {
    if (stall->lane->troubled) {
        rota->damaged++;
    } else if (rota->passed == 1 && stall->resumes) {
        stall->left = rota->resumed;
    }
}

/* Takes the next off the rota. False: the turns end. *stall NULL: a second entry, which does not come back. */
static bool next_entry(struct emq_rota *rota, struct emq_stall **stall, bool *in_front) {
    *in_front = true;
    if (rota->flat_at == rota->passed) {
        rota->flat_at = -1;
        *stall = rota->flat;
    } else if (rota->passed < rota->window) {
        *stall = rota->step(rota->who, rota->passed++);
        if (*stall != NULL) meet(rota, *stall);
    } else if (rota->window == rota->length && has_back(rota)) {
        *in_front = false;
        *stall = rota->back[rota->back_from++];
    } else {
        return false;
    }
    return true;
}

/* As much as its weight, its limit and the room leave. What is alone on the rota has all its turns at once. */
static long long take_turn(struct emq_rota *rota, struct emq_stall *stall, long long *reads, long long *left) {
    long long share = stall->left > 0 ? stall->left : stall->weight, most = least(share, rota->room);
    if (rota->passed == rota->length && !has_back(rota) && rota->flat_at < 0) most = rota->room;
    if (stall->lane->limited) most = least(most, stall->lane->limit - stall->lane->act);
    long long served = emq_line_serve(&stall->line, most, reads);
    rota->room -= served;
    stall->served += served;
    stall->lane->depth = stall->line.waiting;
    if (!stall->is_flat && served > 0) emq_fly(stall->lane, served);
    if (served > share) share += (served - share + stall->weight - 1) / stall->weight * stall->weight;
    *left = share - served;
    return served;
}

static void end_turn(struct emq_rota *rota, struct emq_stall *stall, bool in_front, long long left, long long served) {
    if (!emq_serviceable(stall->lane)) return;
    if (left == 0) {
        stall->left = 0;
        put_back(rota, stall);
        return;
    }
    /* The room or the rows are used up in the middle of it: it stays where it is. */
    if (!in_front) {
        rota->back_from--;
    } else if (stall->is_flat) {
        rota->flat_at = rota->passed;
    } else {
        rota->passed--;
        stall->lane->stands = true;
    }
    if (!stall->is_flat && (served > 0 || stall->left > 0)) {
        rota->unfinished = stall;
        rota->share = left;
    }
}

static void gather(struct emq_rota *rota) {
    rota->ahead = rota->flat_at < 0 ? 0 : rota->flat_at - rota->passed;
    for (uint32_t place = rota->back_from; place < rota->back_to; place++) {
        struct emq_stall *stall = rota->back[place];
        if (stall->is_flat) {
            rota->ahead = rota->length - rota->passed + rota->tail_count;
        } else {
            stall->lane->stands = true;
            put_to_tail(rota, stall);
        }
    }
}

void emq_go_round(struct emq_rota *rota, long long *reads) {
    struct emq_stall *stall;
    bool in_front;
    while (rota->room > 0 && *reads > 0 && next_entry(rota, &stall, &in_front)) {
        if (stall == NULL) continue;
        if (stall->lane->troubled) {
            /* One that has come round stays ahead of those whose turn comes yet. */
            if (in_front) {
                put_back(rota, stall);
            } else {
                put_to_tail(rota, stall);
            }
        } else if (emq_serviceable(stall->lane)) {
            long long left, served = take_turn(rota, stall, reads, &left);
            end_turn(rota, stall, in_front, left, served);
        }
    }
    gather(rota);
}
