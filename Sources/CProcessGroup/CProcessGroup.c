#define _GNU_SOURCE
#include "CProcessGroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

static int make_pipe(int ends[2]) {
#ifdef __linux__
  return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
#else
  if (pipe(ends) != 0) return errno;
  for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
  return 0;
#endif
}

static void make_non_blocking(int file) { fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK); }

int genbench_pipe(int ends[2]) {
  int error = make_pipe(ends);
  if (error != 0) return error;
  for (int i = 0; i < 2; i++) make_non_blocking(ends[i]);
  return 0;
}

static int spawn(pid_t *process, char *const arguments[], char *const environment[], const int theirs[3]) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t signals;
  short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return error;
  error = posix_spawnattr_init(&attributes);
  if (error != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  for (int i = 0; i < 3 && error == 0; i++) error = posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
#ifdef __APPLE__
  flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#else
  if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
  if (error == 0) error = posix_spawnattr_setflags(&attributes, flags);
  if (error == 0) error = posix_spawnattr_setpgroup(&attributes, 0);
  sigemptyset(&signals);
  if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &signals);
  // The program may ignore SIGINT and SIGTERM, to hear them in its own way; a child would inherit that.
  sigfillset(&signals);
  sigdelset(&signals, SIGKILL);
  sigdelset(&signals, SIGSTOP);
  if (error == 0) error = posix_spawnattr_setsigdefault(&attributes, &signals);
  if (error == 0) error = posix_spawnp(process, arguments[0], &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int genbench_spawn_group(pid_t *process, char *const arguments[], char *const environment[], int streams[3]) {
  int pipes[3][2];
  int error = 0;
  int made = 0;
  while (made < 3 && (error = make_pipe(pipes[made])) == 0) made++;
  // The child reads from the first pipe and writes to the others.
  if (error == 0) {
    const int theirs[3] = {pipes[0][0], pipes[1][1], pipes[2][1]};
    error = spawn(process, arguments, environment, theirs);
  }
  for (int i = 0; i < made; i++) {
    int ours = i == 0 ? 1 : 0;
    close(pipes[i][1 - ours]);
    if (error != 0) {
      close(pipes[i][ours]);
    } else {
      streams[i] = pipes[i][ours];
      make_non_blocking(streams[i]);
    }
  }
  return error;
}
