/* Numbers as texts: each has one spelling. No module header, so it is tested without a server. */
#ifndef EMQ_PARSE_H
#define EMQ_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#define EMQ_WHOLE_MAX 9007199254740991LL
#define EMQ_CAP_MAX 999999999999999LL

/* The number that a counter's text is: a plain decimal of at most 15 characters, perhaps negative (docs/wire.md, rule 1;
 * shared/counted.lua). False, and *number untouched, when it is none. */
bool emq_counted(const char *text, size_t len, long long *number);

/* The number that an argument's text is: digits alone, no leading zero, from least to most (least is 0 or more). */
bool emq_whole(const char *text, size_t len, long long least, long long most, long long *number);

#endif
