package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// progressAfter is how long a run stays silent. Most runs are over by then.
const progressAfter = time.Second

// progress says on a terminal what a long run does, on one line that goes away
// when the returned function is called. Elsewhere, in logs and pipes, it says
// nothing.
func (a *app) progress(doing string, patterns []string) (stop func()) {
	file, ok := a.terminal.(*os.File)
	if !ok || !isTerminal(file) {
		return func() {}
	}
	return showProgress(file, doing+" "+named(patterns), progressAfter)
}

// isTerminal reports whether a file is a character device, which is what
// terminals are on every system.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// showProgress writes the line when a while has passed, and again each second.
func showProgress(to interface{ WriteString(string) (int, error) }, what string, after time.Duration) (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	started := time.Now()
	go func() {
		defer close(gone)
		width := 0
		ticker := time.NewTicker(after)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				// Spaces, not an escape: every terminal knows them.
				if width > 0 {
					to.WriteString("\r" + strings.Repeat(" ", width) + "\r")
				}
				return
			case <-ticker.C:
				line := fmt.Sprintf("idemgen: %s, %ds", shortened(what), int(time.Since(started).Seconds()))
				width = max(width, len(line))
				to.WriteString("\r" + line)
			}
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() { close(done) })
		<-gone
	}
}

// shortened keeps the line on one line of a narrow terminal.
func shortened(what string) string {
	const limit = 56
	letters := []rune(what)
	if len(letters) <= limit {
		return what
	}
	return string(letters[:limit-3]) + "..."
}
