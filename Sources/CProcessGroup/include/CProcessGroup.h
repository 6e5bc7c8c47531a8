#ifndef GENBENCH_PROCESS_GROUP_H
#define GENBENCH_PROCESS_GROUP_H

#include <sys/types.h>

// Starts a program, found as a shell finds it, as the leader of a process group of its own, with pipes to its three streams.
//
// It inherits no other file, no blocked and no ignored signal. `streams` receives our ends of its stdin, stdout and stderr: closed
// on exec, non-blocking. Returns 0, or the number of the error; nothing is left open then.
//
// In C, as pipe2 and posix_spawn_file_actions_addclosefrom_np, which leave no moment in which another thread's child could inherit
// a pipe, are declared with _GNU_SOURCE alone.
int genbench_spawn_group(pid_t *process, char *const arguments[], char *const environment[], int streams[3]);

// Makes a pipe whose ends are closed on exec and non-blocking. Returns 0, or the number of the error.
int genbench_pipe(int ends[2]);

#endif
