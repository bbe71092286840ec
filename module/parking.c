/* See parking.h. */
#include "parking.h"

#include <string.h>

#include "lanes.h"
#include "parse.h"

#define TOLD_MAX 1000000 /* the most that a token is believed to be worth */

static bool is_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

static bool is_text(struct emq_text text, const char *other, size_t len) {
    return text.len == len && memcmp(text.at, other, len) == 0;
}

/* Reads "<watcher> <ms>". False: it is of another form, and nobody's. */
static bool read_watch(struct emq_text watch, struct emq_text *name, double *until) {
    size_t at = 0;
    while (at < watch.len && !is_space(watch.at[at])) at++;
    if (at == 0 || at + 1 >= watch.len || watch.at[at] != ' ') return false;
    *name = (struct emq_text){watch.at, at};
    *until = 0;
    for (at++; at < watch.len; at++) {
        if (watch.at[at] < '0' || watch.at[at] > '9') return false;
        *until = *until * 10 + (watch.at[at] - '0');
    }
    return true;
}

struct emq_parking emq_park(double next, long long now_ms, long long offered, struct emq_text watcher,
                            struct emq_text watch) {
    struct emq_parking parking = {false, 0, false, false, 0};
    if (next <= (double)now_ms) {
        parking.due = true;
        return parking;
    }
    parking.wait_ms = offered;
    if (next > (double)(now_ms + offered)) return parking;
    long long instant = (long long)next;
    if ((double)instant < next) instant++;
    struct emq_text name;
    double until;
    bool is_watch = watcher.len > 0 && read_watch(watch, &name, &until);
    bool is_own = is_watch && is_text(name, watcher.at, watcher.len);
    if (is_watch && !is_own && until > (double)now_ms && until <= (double)instant) return parking;
    parking.wait_ms = instant - now_ms;
    parking.watches = watcher.len > 0;
    parking.begins = parking.watches && !(is_own && until == (double)instant);
    parking.until_ms = instant;
    return parking;
}

bool emq_is_watch_of(struct emq_text watch, struct emq_text watcher) {
    return watcher.len > 0 && watch.len > watcher.len && watch.at[watcher.len] == ' ' &&
           memcmp(watch.at, watcher.at, watcher.len) == 0;
}

long long emq_hand_on(struct emq_text worth, long long got, long long left) {
    if (worth.len == 0) return 0;
    if (is_text(worth, "beat", 4)) {
        if (got == 0) return 0;
        return left < EMQ_WORTH_MAX ? left : EMQ_WORTH_MAX;
    }
    long long given;
    if (!emq_counted(worth.at, worth.len, &given) || given < 1 || given > TOLD_MAX) given = 1;
    long long rest = given - (got > 1 ? got : 1);
    return rest > 0 ? rest : 0;
}
