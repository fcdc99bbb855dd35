package main

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen is a terminal of one line.
type screen struct {
	mu      sync.Mutex
	content bytes.Buffer
	wrote   chan struct{}
}

func (s *screen) WriteString(text string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.wrote <- struct{}{}:
	default:
	}
	return s.content.WriteString(text)
}

func TestProgress(t *testing.T) {
	s := &screen{wrote: make(chan struct{}, 1)}
	stop := showProgress(s, "generating "+strings.Repeat("x", 100), time.Millisecond)
	<-s.wrote
	stop()
	stop()
	line, gone, _ := strings.Cut(strings.TrimPrefix(s.content.String(), "\r"), "\r")
	if !strings.HasPrefix(line, "idemgen: generating x") || !strings.HasSuffix(line, "..., 0s") || len(line) > 80 {
		t.Errorf("the line is %q", line)
	}
	if !strings.HasSuffix(gone, strings.Repeat(" ", len(line))+"\r") {
		t.Errorf("the line is not taken away: %q", gone)
	}
}

func TestProgressOfShortRuns(t *testing.T) {
	s := &screen{wrote: make(chan struct{}, 1)}
	showProgress(s, "generating", time.Hour)()
	want(t, "the screen", s.content.String(), "")
}

func TestProgressOffTerminals(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if isTerminal(file) {
		t.Error("a file is taken for a terminal")
	}
	(&app{stderr: file}).progress("generating", nil)()
	(&app{stderr: &bytes.Buffer{}}).progress("generating", nil)()
}
