/* What the library says of itself. Programs look for the text of 8.1.9 before they trust a library to know its extensions. */
#include "diagnosis.h"
#include "text.h"

static const char drm_system[] = "SGE 8.1.9";

EXPORTED int drmaa_version(unsigned int *major, unsigned int *minor, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    if (!major || !minor)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "there is no room for the version");
    *major = 1;
    *minor = 0;
    return succeed(diagnosis);
}

static int tell(char *buffer, size_t room, struct diagnosis diagnosis) {
    if (!buffer || !room)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "there is no room for the text");
    copy_out(buffer, room, drm_system);
    return succeed(diagnosis);
}

EXPORTED int drmaa_get_DRM_system(char *system, size_t system_len, char *error_diagnosis, size_t error_diag_len) {
    return tell(system, system_len, (struct diagnosis){error_diagnosis, error_diag_len});
}

EXPORTED int drmaa_get_DRMAA_implementation(char *drmaa_impl, size_t drmaa_impl_len, char *error_diagnosis,
                                            size_t error_diag_len) {
    return tell(drmaa_impl, drmaa_impl_len, (struct diagnosis){error_diagnosis, error_diag_len});
}
