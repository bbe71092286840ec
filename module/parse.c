/* Numbers as texts. Within the bounds nothing here can overflow: at most 16 digits are read. */
#include "parse.h"

#include <string.h>

static bool digits(const char *text, size_t len, long long *number) {
    if (len == 0 || len > 16 || (text[0] == '0' && len > 1)) return false;
    long long sum = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        sum = sum * 10 + (text[i] - '0');
    }
    *number = sum;
    return true;
}

bool emq_counted(const char *text, size_t len, long long *number) {
    if (len > 15) return false;
    long long found;
    if (len > 1 && text[0] == '-') {
        if (text[1] == '0' || !digits(text + 1, len - 1, &found)) return false;
        *number = -found;
        return true;
    }
    if (!digits(text, len, &found)) return false;
    *number = found;
    return true;
}

bool emq_whole(const char *text, size_t len, long long least, long long most, long long *number) {
    long long found;
    if (!digits(text, len, &found) || found < least || found > most) return false;
    *number = found;
    return true;
}
