/* What a call must be before its command opens anything: whole, of short names, and about one queue.
 *
 * The server asks the access list for the keys that a command declares; what the module opens beside them it asks
 * nobody for. So these lie below the base that the first declared key has, and every other one must have it as well: who
 * may name the keys of one queue reaches no other. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "commands.h"

/* A name, an id or a number of more bytes is none, and each would be copied into every key that is made of it. */
#define EMQ_NAME_MAX (64 * 1024)

int emq_keys_of(const struct emq_spec *spec) {
    int count = 0;
    while (spec->keys[count].name != NULL) count++;
    return count;
}

/* ---- arity ---------------------------------------------------------------------------------------------------------*/

static bool asks_to_block(const struct emq_cmd *cmd, int args) {
    if (!cmd->spec->blocks || args != cmd->spec->most + 2) return false;
    struct emq_text word = emq_said(cmd, cmd->argc - 2);
    return word.len == strlen("BLOCK") && strncasecmp(word.at, "BLOCK", word.len) == 0;
}

static bool fits(const struct emq_cmd *cmd) {
    const struct emq_spec *spec = cmd->spec;
    int args = cmd->argc - emq_keys_of(spec);
    if (asks_to_block(cmd, args)) return true;
    if (args < spec->least) return false;
    return spec->most > 0 ? args <= spec->most : (args - spec->least) % (spec->step > 0 ? spec->step : 1) == 0;
}

static void tell_misfit(struct emq_cmd *cmd) {
    char text[320];
    const struct emq_spec *spec = cmd->spec;
    snprintf(text, sizeof text, "ERR %s takes the keys %s and the arguments %s", spec->name, spec->keys_told, spec->args);
    emq_reply_error(cmd, text);
}

/* ---- lengths -------------------------------------------------------------------------------------------------------*/

/* Whether the argument at this place is a text of its giver, which may be as long as the server takes. Walks the words of
 * `args`; a group in braces comes again and again. */
static bool is_free_text(const struct emq_spec *spec, int place) {
    static const char *const texts[] = {"payload", "result", "reason", "[result", "result}"};
    const char *word = spec->args, *group = NULL;
    for (int at = emq_keys_of(spec);; at++) {
        if (*word == '\0') {
            if (group == NULL) return false;
            word = group;
        }
        if (*word == '{') group = word;
        size_t len = strcspn(word, " "), bare = len > 0 && word[len - 1] == ']' ? len - 1 : len;
        if (at == place) {
            for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                if (strlen(texts[i]) == bare && memcmp(texts[i], word, bare) == 0) return true;
            }
            return false;
        }
        word += len + strspn(word + len, " ");
    }
}

static bool are_names_short(const struct emq_cmd *cmd) {
    int keys = emq_keys_of(cmd->spec);
    for (int i = 0; i < cmd->argc; i++) {
        if (emq_said(cmd, i).len > EMQ_NAME_MAX && (i < keys || !is_free_text(cmd->spec, i))) return false;
    }
    return true;
}

/* ---- the queue -----------------------------------------------------------------------------------------------------*/

/* `emq:{name}:` at the head of a key, or nothing. A name has one byte at least, since a cluster goes by it. */
static struct emq_text base_of(struct emq_text key) {
    enum { OPENING = 5 };
    struct emq_text base = {key.at, 0};
    if (key.len < OPENING || memcmp(key.at, "emq:{", OPENING) != 0) return base;
    for (size_t at = OPENING + 1; at + 1 < key.len; at++) {
        if (key.at[at] == '}' && key.at[at + 1] == ':') {
            base.len = at + 2;
            break;
        }
    }
    return base;
}

static bool begins(struct emq_text key, struct emq_text base) {
    return key.len >= base.len && memcmp(key.at, base.at, base.len) == 0;
}

static bool is_base(struct emq_text text, struct emq_text base) { return text.len == base.len && begins(text, base); }

static void tell_key(struct emq_cmd *cmd, struct emq_text key, const char *what) {
    char text[320];
    snprintf(text, sizeof text, "ERR the key %.*s %s", (int)(key.len < 160 ? key.len : 160), key.at, what);
    emq_reply_error(cmd, text);
}

static bool is_of_one_queue(struct emq_cmd *cmd) {
    const struct emq_spec *spec = cmd->spec;
    struct emq_text base = base_of(emq_said(cmd, 0));
    if (base.len == 0) {
        tell_key(cmd, emq_said(cmd, 0), "is no queue's: it does not begin with emq:{queue}:");
        return false;
    }
    for (int i = 1, keys = emq_keys_of(spec); i < keys; i++) {
        if (begins(emq_said(cmd, i), base)) continue;
        tell_key(cmd, emq_said(cmd, i), "is of another queue than the first key");
        return false;
    }
    if (spec->base_at >= 0 && !is_base(emq_said(cmd, spec->base_at), base)) {
        emq_reply_error(cmd, "ERR base must be the emq:{queue}: with which the keys begin");
        return false;
    }
    cmd->base = base;
    return true;
}

int emq_find_base(const struct emq_spec *spec) {
    int at = 0;
    for (; spec->keys[at].name != NULL; at++) {
        if (strcmp(spec->keys[at].name, "base") == 0) return at;
    }
    for (const char *word = spec->args; *word != '\0'; at++) {
        size_t len = strcspn(word, " ");
        if (len == 4 && memcmp(word, "base", 4) == 0) return at;
        word += len + strspn(word + len, " ");
    }
    return -1;
}

bool emq_is_sound(struct emq_cmd *cmd) {
    if (!fits(cmd)) {
        tell_misfit(cmd);
    } else if (!are_names_short(cmd)) {
        emq_reply_error(cmd, "ERR a key, an id or a number is longer than 64 KiB");
    } else {
        return is_of_one_queue(cmd) && emq_may_use_queue(cmd);
    }
    return false;
}
