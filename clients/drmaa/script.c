#include "script.h"

#include <errno.h>
#include <string.h>

#include "cell.h"

enum { SCRIPT_MOST = 16 * 1024 * 1024 };

static void add_base64(struct text *body, const unsigned char *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text_puts(body, "\"");
    for (size_t at = 0; at < count; at += 3) {
        size_t left = count - at < 3 ? count - at : 3;
        unsigned triple = bytes[at] << 16 | (left > 1 ? bytes[at + 1] << 8 : 0) | (left > 2 ? bytes[at + 2] : 0);
        char four[4] = {digits[triple >> 18], digits[triple >> 12 & 63], left > 1 ? digits[triple >> 6 & 63] : '=',
                        left > 2 ? digits[triple & 63] : '='};
        text_add(body, four, sizeof four);
    }
    text_puts(body, "\"");
}

int script_add(struct text *body, const char *path, struct diagnosis diagnosis) {
    struct text script = {0};
    int code = DRMAA_ERRNO_SUCCESS;
    if (read_file(path, SCRIPT_MOST, false, &script) != FILE_READ) {
        code = fail(diagnosis, DRMAA_ERRNO_DENIED_BY_DRM, "the script %.300s cannot be read: %s", path, strerror(errno));
    } else {
        text_field(body, "script");
        if (is_utf8(script.data, script.length)) {
            text_json(body, script.data, script.length);
        } else {
            add_base64(body, (const unsigned char *)script.data, script.length);
            text_puts(body, ",\"script_encoding\":\"base64\"");
        }
    }
    text_free(&script);
    return code;
}
