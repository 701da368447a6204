// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"sync"

	"k8s.io/cli-runtime/pkg/printers"
)

// Display shows objects and lets others write between. It may be used from several goroutines.
type Display struct {
	mu  sync.Mutex
	out io.Writer
	// width of the terminal, nil where lines are written.
	width func() int
	// last is what was said of each, drawn what stands in the terminal's line now.
	last  map[string]string
	drawn string
}

// New makes a display. With several objects, or without a terminal, it writes lines; width is nil then.
func New(out io.Writer, width func() int) *Display {
	return &Display{out: out, width: width, last: map[string]string{}}
}

// Show shows where an object is, if that is something new.
func (d *Display) Show(s State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := Text(s)
	if d.last[s.Name] == text {
		return
	}
	d.last[s.Name] = text
	if d.width == nil {
		fmt.Fprintln(d.out, printers.EscapeTerminal(s.Name+"  "+text))
		return
	}
	d.draw(printers.EscapeTerminal(Bar(s, d.width())))
}

// Say writes a line that stays.
func (d *Display) Say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := d.drawn
	d.draw("")
	fmt.Fprintln(d.out, printers.EscapeTerminal(fmt.Sprintf(format, args...)))
	d.draw(line)
}

// Close takes the bar away. What came of it all is the answer's to say.
func (d *Display) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draw("")
}

// draw replaces the line of the terminal.
func (d *Display) draw(line string) {
	if line == d.drawn {
		return
	}
	d.drawn = line
	fmt.Fprint(d.out, "\r\x1b[K"+line)
}
