// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopia/kopia/repo/blob"
	kopiasftp "github.com/kopia/kopia/repo/blob/sftp"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// DefaultSFTPPort is used where a backend names none.
const DefaultSFTPPort = 22

// SFTP is a folder of an SSH server.
type SFTP struct {
	Host     string
	Port     int
	Path     string
	Username string
	// Key is the private key, KnownHosts what the server's own has to be among.
	Key        string
	KnownHosts string
}

func (s *SFTP) port() int {
	if s.Port == 0 {
		return DefaultSFTPPort
	}
	return s.Port
}

func (s *SFTP) hostPort() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.port())) }

func (s *SFTP) String() string { return "folder " + s.Path + " at " + s.hostPort() }

func (s *SFTP) connectionInfo() blob.ConnectionInfo {
	host := s.Host
	if strings.Contains(host, ":") { // kopia puts host and port together as they are
		host = "[" + host + "]"
	}
	return blob.ConnectionInfo{Type: "sftp", Config: &kopiasftp.Options{
		Path: s.Path, Host: host, Port: s.port(), Username: s.Username, KeyData: s.Key, KnownHostsData: s.KnownHosts,
	}}
}

func (s *SFTP) address() address {
	return address{store: "sftp " + s.hostPort(), prefix: folderPath(s.Path), folders: true}
}

func (*SFTP) clockURL() string { return "" }

// probe looks into the folder itself: kopia would make it, and would wait for a silent server for ever.
func (s *SFTP) probe(ctx context.Context) (location, error) {
	cli, stop, err := s.dial(ctx)
	if err != nil {
		return location{}, err
	}
	defer stop()
	st, err := cli.Stat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return location{}, fmt.Errorf("%w: %w", ErrLocationMissing, err)
	case err != nil:
		return location{}, fmt.Errorf("%w: look at %s: %w", ErrStorage, s.Path, err)
	case !st.IsDir():
		return location{}, fmt.Errorf("%w: it is a file", ErrOccupied)
	}
	entries, err := cli.ReadDir(s.Path)
	if err != nil {
		return location{}, fmt.Errorf("%w: list %s: %w", ErrStorage, s.Path, err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, path.Base(e.Name()))
	}
	return Storage{SFTP: s}.folder(ctx, names)
}

// dial connects in no longer than the context allows. What it returns ends the connection, and is called in any case.
func (s *SFTP) dial(ctx context.Context) (*sftp.Client, func(), error) {
	conf, err := s.config()
	if err != nil {
		return nil, nil, err
	}
	var refused error // by us: the client only says that the handshake failed
	verify := conf.HostKeyCallback
	conf.HostKeyCallback = func(host string, remote net.Addr, key ssh.PublicKey) error {
		refused = s.hostKeyError(verify(host, remote, key), key)
		return refused
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s.hostPort())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: connect: %w", ErrStorage, err)
	}
	unwatch := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	stop := func() {
		unwatch()
		_ = conn.Close()
	}
	c, channels, requests, err := ssh.NewClientConn(conn, s.hostPort(), conf)
	if err != nil {
		stop()
		switch {
		case refused != nil:
			return nil, nil, refused
		case strings.Contains(err.Error(), "unable to authenticate"): // there is no type for it
			return nil, nil, fmt.Errorf("%w: %w: %w", ErrStorage, ErrRefused, err)
		}
		return nil, nil, fmt.Errorf("%w: connect: %w", ErrStorage, err)
	}
	cli, err := sftp.NewClient(ssh.NewClient(c, channels, requests))
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("%w: start sftp: %w", ErrStorage, err)
	}
	return cli, stop, nil
}

func (s *SFTP) config() (*ssh.ClientConfig, error) {
	signer, err := ssh.ParsePrivateKey([]byte(s.Key))
	if err != nil {
		return nil, fmt.Errorf("%w: private key: %w", ErrInvalidOption, err)
	}
	verify, err := knownHosts(s.KnownHosts)
	if err != nil {
		return nil, err
	}
	return &ssh.ClientConfig{User: s.Username, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: verify}, nil
}

// knownHosts reads known hosts; the library takes them from a file only.
func knownHosts(text string) (ssh.HostKeyCallback, error) {
	f, err := os.CreateTemp("", "known-hosts")
	if err != nil {
		return nil, fmt.Errorf("read known hosts: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read known hosts: %w", err)
	}
	verify, err := knownhosts.New(f.Name())
	if err != nil {
		return nil, fmt.Errorf("%w: known hosts: %w", ErrInvalidOption, err)
	}
	return verify, nil
}

// hostKeyError says what is wrong with the key that a server showed. The client asks for one key of the several that a
// server has, whichever kind it likes best: with the line of another kind it finds a stranger.
func (s *SFTP) hostKeyError(err error, shown ssh.PublicKey) error {
	if err == nil {
		return nil
	}
	what := shown.Type() + " " + ssh.FingerprintSHA256(shown)
	var known *knownhosts.KeyError
	switch {
	case !errors.As(err, &known):
		return fmt.Errorf("%w: %w", ErrHostKey, err)
	case len(known.Want) == 0:
		return fmt.Errorf("%w: there is no line for %s, which shows %s; add the output of ssh-keyscan -p %d %s after you have compared it with the server's own",
			ErrHostKey, s.hostPort(), what, s.port(), s.Host)
	case !slices.ContainsFunc(known.Want, func(k knownhosts.KnownKey) bool { return k.Key.Type() == shown.Type() }):
		return fmt.Errorf("%w: the lines for %s are of another kind than %s, which it shows; add all lines of ssh-keyscan -p %d %s",
			ErrHostKey, s.hostPort(), what, s.port(), s.Host)
	default:
		return fmt.Errorf("%w: %s shows %s, which is not the key it is known by; somebody may stand between, or the server was set up anew",
			ErrHostKey, s.hostPort(), what)
	}
}
