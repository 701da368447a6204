// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/kopiur/kopiur/e2e/internal/box"
)

// supervisor starts programs and notices their end. It does not start them again: in a test cluster a program that
// dies is a finding.
type supervisor struct {
	// mu is held from fork to record, so that reap never meets a child it has not heard of.
	mu        sync.Mutex
	processes []*box.Process
}

func newSupervisor() *supervisor { return &supervisor{} }

func (s *supervisor) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Printf("control: %v", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go func() {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			var request box.Request
			if err := json.NewDecoder(conn).Decode(&request); err != nil {
				log.Printf("control: %v", err)
				return
			}
			processes, err := s.answer(request)
			reply := box.Reply{Processes: processes}
			if err != nil {
				reply.Error = err.Error()
			}
			_ = json.NewEncoder(conn).Encode(reply)
		}()
	}
}

func (s *supervisor) answer(request box.Request) ([]box.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case request.Start != nil:
		p, err := s.start(*request.Start)
		return []box.Process{p}, err
	case request.Stop != "":
		p := s.find(request.Stop)
		if p == nil {
			return nil, fmt.Errorf("no process named %q was started", request.Stop)
		}
		if p.Running {
			// The program leads a process group of its own.
			if err := syscall.Kill(-p.PID, syscall.SIGTERM); err != nil {
				return nil, fmt.Errorf("end %s: %w", p.Name, err)
			}
		}
		return []box.Process{*p}, nil
	}
	all := make([]box.Process, 0, len(s.processes))
	for _, p := range s.processes {
		all = append(all, *p)
	}
	return all, nil
}

func (s *supervisor) find(name string) *box.Process {
	for _, p := range s.processes {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// start runs a program in a session of its own. A name can be used again once its last process has ended.
func (s *supervisor) start(q box.Start) (box.Process, error) {
	known := s.find(q.Name)
	if known != nil && known.Running {
		return box.Process{}, fmt.Errorf("%s runs already, as pid %d in the box", q.Name, known.PID)
	}
	if len(q.Args) == 0 {
		return box.Process{}, fmt.Errorf("%s: no program given", q.Name)
	}
	path, err := exec.LookPath(q.Args[0])
	if err != nil {
		return box.Process{}, fmt.Errorf("start %s: %w", q.Name, err)
	}
	out, err := os.OpenFile(q.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return box.Process{}, fmt.Errorf("start %s: %w", q.Name, err)
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return box.Process{}, err
	}
	defer null.Close()
	// Not os/exec's Start: its Wait and reap would take each other's children.
	pid, err := syscall.ForkExec(path, q.Args, &syscall.ProcAttr{
		Dir: "/", Env: append(os.Environ(), q.Env...),
		Files: []uintptr{null.Fd(), out.Fd(), out.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return box.Process{}, fmt.Errorf("start %s: %w", q.Name, err)
	}
	if known == nil {
		known = &box.Process{}
		s.processes = append(s.processes, known)
	}
	*known = box.Process{Name: q.Name, PID: pid, Running: true}
	return *known, nil
}

// reap collects ended children: the programs above, and every orphan of the box, which the kernel gives to pid 1.
func (s *supervisor) reap() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for {
		s.mu.Lock()
		for {
			var how syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &how, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if err != nil || pid <= 0 {
				break
			}
			s.note(pid, how)
		}
		s.mu.Unlock()
		<-ended
	}
}

func (s *supervisor) note(pid int, how syscall.WaitStatus) {
	for _, p := range s.processes {
		if p.PID != pid || !p.Running {
			continue
		}
		p.Running, p.Exit = false, fmt.Sprintf("exit code %d", how.ExitStatus())
		if how.Signaled() {
			p.Exit = fmt.Sprintf("signal %d (%s)", how.Signal(), how.Signal())
		}
		log.Printf("%s ended: %s", p.Name, p.Exit)
	}
}
