#include "diagnosis.h"

#include <stdarg.h>
#include <stdio.h>

#include "text.h"

static const char *const sentences[] = {
    [DRMAA_ERRNO_SUCCESS] = "no error",
    [DRMAA_ERRNO_INTERNAL_ERROR] = "an error within the library, or of a system call",
    [DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE] = "the qmaster cannot be asked",
    [DRMAA_ERRNO_AUTH_FAILURE] = "the caller has no right to that",
    [DRMAA_ERRNO_INVALID_ARGUMENT] = "an argument has a value that it cannot have",
    [DRMAA_ERRNO_NO_ACTIVE_SESSION] = "no session is active: drmaa_init comes first",
    [DRMAA_ERRNO_NO_MEMORY] = "there is no memory left",
    [DRMAA_ERRNO_INVALID_CONTACT_STRING] = "the contact string is none of this library",
    [DRMAA_ERRNO_DEFAULT_CONTACT_STRING_ERROR] = "the default contact string cannot be used",
    [DRMAA_ERRNO_NO_DEFAULT_CONTACT_STRING_SELECTED] = "no default contact string was given or selected",
    [DRMAA_ERRNO_DRMS_INIT_FAILED] = "the session cannot be opened",
    [DRMAA_ERRNO_ALREADY_ACTIVE_SESSION] = "this process has an active session already",
    [DRMAA_ERRNO_DRMS_EXIT_ERROR] = "the session cannot be closed",
    [DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT] = "the value of an attribute has a wrong form",
    [DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE] = "an attribute has a value that it cannot have",
    [DRMAA_ERRNO_CONFLICTING_ATTRIBUTE_VALUES] = "the value of an attribute contradicts another one",
    [DRMAA_ERRNO_TRY_LATER] = "the qmaster has too much to do at the moment: to be tried again",
    [DRMAA_ERRNO_DENIED_BY_DRM] = "the qmaster has refused the job, and always will",
    [DRMAA_ERRNO_INVALID_JOB] = "there is no such job, or its end has been waited for already",
    [DRMAA_ERRNO_RESUME_INCONSISTENT_STATE] = "the job is not suspended, so it cannot be resumed",
    [DRMAA_ERRNO_SUSPEND_INCONSISTENT_STATE] = "the job does not run, so it cannot be suspended",
    [DRMAA_ERRNO_HOLD_INCONSISTENT_STATE] = "the job does not wait, so it cannot be held",
    [DRMAA_ERRNO_RELEASE_INCONSISTENT_STATE] = "the job is not held, so it cannot be released",
    [DRMAA_ERRNO_EXIT_TIMEOUT] = "the time was over before the job was",
    [DRMAA_ERRNO_NO_RUSAGE] = "the job has ended, and nothing is known of what it has used",
    [DRMAA_ERRNO_NO_MORE_ELEMENTS] = "the list has no more elements",
};

EXPORTED const char *drmaa_strerror(int drmaa_errno) {
    return drmaa_errno < 0 || drmaa_errno >= DRMAA_NO_ERRNO ? NULL : sentences[drmaa_errno];
}

int fail(struct diagnosis diagnosis, int code, const char *format, ...) {
    if (!diagnosis.text || !diagnosis.room)
        return code;
    if (!format) {
        copy_out(diagnosis.text, diagnosis.room, sentences[code]);
        return code;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(diagnosis.text, diagnosis.room, format, arguments);
    va_end(arguments);
    return code;
}

int succeed(struct diagnosis diagnosis) {
    copy_out(diagnosis.text, diagnosis.room, "");
    return DRMAA_ERRNO_SUCCESS;
}
