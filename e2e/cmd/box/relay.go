// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net"
	"time"
)

// forward passes every connection on to the API server until the listener closes, which is when the box ends.
func forward(listener net.Listener, to string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Printf("relay: %v", err)
			time.Sleep(100 * time.Millisecond) // out of file descriptors: let some connections end
			continue
		}
		go func() {
			if err := pass(conn, to); err != nil {
				log.Printf("relay: %v", err)
			}
		}()
	}
}

func pass(from net.Conn, to string) error {
	defer from.Close()
	onward, err := net.DialTimeout("tcp", to, 5*time.Second)
	if err != nil {
		return err
	}
	defer onward.Close()
	done := make(chan struct{}, 2)
	go pipe(onward, from, done)
	go pipe(from, onward, done)
	<-done
	<-done
	return nil
}

// pipe copies one direction and passes the end on: exec and port-forward close their halves one at a time.
func pipe(to, from net.Conn, done chan<- struct{}) {
	_, err := io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok && err == nil {
		_ = half.CloseWrite()
	} else {
		// A broken connection must end its other direction too.
		_ = to.Close()
		_ = from.Close()
	}
	done <- struct{}{}
}
