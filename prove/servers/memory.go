package servers

import "syscall"

// inMemory is a folder whose files are in memory, where the machine has plenty, and
// otherwise "". Servers sync every commit, as ledgers demand, and what a test kills is
// a server and not the machine: there it costs nothing.
func inMemory() string {
	const folder, plenty = "/dev/shm", 4 << 30
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil || s.Bavail*uint64(s.Bsize) < plenty {
		return ""
	}
	return folder
}
