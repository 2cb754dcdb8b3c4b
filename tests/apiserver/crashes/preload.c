/* Preloaded into a process: counts, records and interrupts the system calls that change files of one directory.
 *
 * follow(directory, log) begins: each call is written to the descriptor `log` (-1 for none) as a record of operation,
 * lengths of name and data, offset, name, data. kill_at(number, part) ends the process with SIGKILL at that call:
 * before it, or, with part, when half of its bytes are written. mark() records that a write was acknowledged.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char directory[4096];
static size_t directory_length;
static int record_to = -1;
static long calls, fatal = -1;
static int half;

#define REAL(name, result, ...) \
    static result (*real_##name)(__VA_ARGS__); \
    if (!real_##name) real_##name = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static ssize_t raw_write(int fd, const void *data, size_t size) {
    REAL(write, ssize_t, int, const void *, size_t);
    return real_write(fd, data, size);
}

void follow(const char *name, int log) {
    strncpy(directory, name, sizeof directory - 1);
    directory_length = strlen(directory);
    record_to = log;
    calls = 0;
}

void kill_at(long number, int part) { fatal = number; half = part; }

long counted(void) { return calls; }

static void record(char operation, const char *name, int64_t offset, const void *data, uint32_t size) {
    if (record_to < 0) return;
    char head[64];
    uint32_t length = strlen(name);
    head[0] = operation;
    memcpy(head + 1, &length, 4);
    memcpy(head + 5, &size, 4);
    memcpy(head + 9, &offset, 8);
    raw_write(record_to, head, 17);
    raw_write(record_to, name, length);
    if (data) raw_write(record_to, data, size);
}

void mark(void) { record('A', "", 0, NULL, 0); }

static const char *inside(const char *path) {
    if (!directory_length || strncmp(path, directory, directory_length)) return NULL;
    if (path[directory_length] == '/') return path + directory_length + 1;
    return path[directory_length] ? NULL : "";
}

static const char *name_of(int fd, char *path, size_t size) {
    if (!directory_length) return NULL;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    return inside(path);
}

/* Whether half of the call is to be done before the process is killed. */
static int count(void) {
    if (calls++ != fatal) return 0;
    if (half) return 1;
    kill(getpid(), SIGKILL);
    return 0;
}

#define WRITES(offset, PART) \
    char path[4096]; \
    const char *name = name_of(fd, path, sizeof path); \
    if (name) { \
        if (count()) { PART; kill(getpid(), SIGKILL); } \
        record('W', name, offset, data, size); \
    }

ssize_t write(int fd, const void *data, size_t size) {
    WRITES(lseek(fd, 0, SEEK_CUR), raw_write(fd, data, size / 2))
    return raw_write(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    REAL(pwrite, ssize_t, int, const void *, size_t, off_t);
    WRITES(offset, real_pwrite(fd, data, size / 2, offset))
    return real_pwrite(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    REAL(pwrite64, ssize_t, int, const void *, size_t, off64_t);
    WRITES(offset, real_pwrite64(fd, data, size / 2, offset))
    return real_pwrite64(fd, data, size, offset);
}

#define CHANGES(operation, offset) \
    char path[4096]; \
    const char *name = name_of(fd, path, sizeof path); \
    if (name) { \
        if (count()) kill(getpid(), SIGKILL); \
        record(operation, name, offset, NULL, 0); \
    }

int ftruncate(int fd, off_t size) {
    REAL(ftruncate, int, int, off_t);
    CHANGES('T', size)
    return real_ftruncate(fd, size);
}

int ftruncate64(int fd, off64_t size) {
    REAL(ftruncate64, int, int, off64_t);
    CHANGES('T', size)
    return real_ftruncate64(fd, size);
}

/* What is not written back is lost in the model of power loss only: the process itself may skip the wait. */
int fsync(int fd) {
    CHANGES('S', 0)
    return 0;
}

int fdatasync(int fd) {
    CHANGES('S', 0)
    return 0;
}

/* A file that is created is in its directory from now on, although it is empty. */
#define OPENS(function) \
int function(const char *file, int flags, ...) { \
    REAL(function, int, const char *, int, ...); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    const char *name = inside(file); \
    int fd = real_##function(file, flags, mode); \
    if (name && fd >= 0 && flags & O_CREAT) record('O', name, 0, NULL, 0); \
    return fd; \
}

OPENS(open)
OPENS(open64)

int unlink(const char *file) {
    REAL(unlink, int, const char *);
    const char *name = inside(file);
    if (name) {
        if (count()) kill(getpid(), SIGKILL);
        record('U', name, 0, NULL, 0);
    }
    return real_unlink(file);
}

int rename(const char *from, const char *to) {
    REAL(rename, int, const char *, const char *);
    const char *name = inside(to);
    if (name) {
        if (count()) kill(getpid(), SIGKILL);
        record('R', inside(from) ? inside(from) : "", 0, name, strlen(name));
    }
    return real_rename(from, to);
}
