package server

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// releaseProgram releases the pages of the program, its code and its constants, from this process. Most of them are read only by the
// initialization of packages. Those that are read again come back from the system's cache, without I/O; the others may leave it.
func releaseProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		line = strings.TrimSuffix(line, "\n")
		// 00400000-01b69000 r-xp 00000000 fe:00 10002902    /usr/bin/portal
		var begin, end uintptr
		var rights string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &begin, &end, &rights); err != nil {
			return err
		}
		if !strings.HasSuffix(line, " "+program) || strings.Contains(rights, "w") {
			continue // written pages exist nowhere else
		}
		if _, _, failed := syscall.Syscall(syscall.SYS_MADVISE, begin, end-begin, syscall.MADV_DONTNEED); failed != 0 {
			return failed
		}
	}
	return nil
}
