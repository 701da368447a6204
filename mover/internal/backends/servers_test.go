// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build servers

package backends_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/net/webdav"

	"github.com/kopiur/kopiur/apis/work"
)

// store is a server with a place for a repository.
type store struct {
	// at is a place in it.
	at func(name string) work.Backend
	// auth and ca are what is mounted for it.
	auth map[string]string
	ca   string
	// host is the name of a server that speaks HTTP, front stands before it; faults are injected there.
	host  string
	front *front
}

// front hands requests on, or does with them what a test wants.
type front struct {
	mu    sync.Mutex
	fault func(next http.Handler) http.Handler
	next  http.Handler
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	h := f.next
	if f.fault != nil {
		h = f.fault(h)
	}
	f.mu.Unlock()
	h.ServeHTTP(w, r)
}

func (f *front) set(fault func(next http.Handler) http.Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// stores are all servers that can run on one machine. Each is started when it is asked for.
var stores = map[string]func(*testing.T) *store{
	"s3":                                  s3,
	"s3 by versitygw":                     versitygw,
	"azure by key":                        azurite,
	"azure by token":                      azureByToken,
	"azure by the identity of a workload": azureByIdentity,
	"gcs":                                 gcs,
	"sftp":                                sshd,
	"webDav":                              davOverTLS,
	"rclone":                              rclone,
}

// s3 is a server in this process, behind a name.
func s3(t *testing.T) *store {
	t.Helper()
	mem := s3mem.New()
	require.NoError(t, mem.CreateBucket("backups"))
	f, host := &front{next: gofakes3.New(mem).Server()}, unique("s3")+".example.org"
	internet.serve(t, host, f)
	return &store{host: host, front: f, auth: map[string]string{work.KeyAWSAccessKeyID: "AKIAFAKE", work.KeyAWSSecretAccessKey: "fake-secret"}, at: func(name string) work.Backend {
		return work.Backend{S3: &work.S3{Bucket: "backups", Prefix: name + "/", Endpoint: host, Region: "eu-1"}}
	}}
}

// tool builds one of ours, or finds it built.
func tool(t *testing.T, name string, binary ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../../../hack/tool", append([]string{name}, binary...)...).Output()
	require.NoError(t, err, "hack/tool %s", name)
	return strings.TrimSpace(string(out))
}

// start runs a server until the test ends, and waits until it answers.
func start(t *testing.T, address string, env []string, name string, args ...string) {
	t.Helper()
	t.Cleanup(run(t, address, env, name, args...))
}

// run runs a server until it is stopped.
func run(t *testing.T, address string, env []string, name string, args ...string) (stop func()) {
	t.Helper()
	var said bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), append(env, "HTTPS_PROXY=", "HTTP_PROXY=")...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	require.NoError(t, cmd.Start())
	var dialer net.Dialer
	require.Eventually(t, func() bool {
		c, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond, "%s does not listen on %s", name, address)
	return func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	}
}

func versitygw(t *testing.T) *store {
	t.Helper()
	ours, address, dir := newAuthority("the store's own authority"), freeAddress(t), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "backups"), 0o750))
	cert := ours.issue("127.0.0.1")
	certFile, keyFile := filepath.Join(t.TempDir(), "crt"), filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}), 0o600))
	key := must(x509.MarshalPKCS8PrivateKey(cert.PrivateKey))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	start(t, address, nil, tool(t, "versitygw"), "--access", "AKIAVERSITY", "--secret", "versity-secret", "--region", "eu-1", "--port", address,
		"--cert", certFile, "--key", keyFile, "--quiet", "posix", dir)
	return &store{
		at: func(name string) work.Backend {
			return work.Backend{S3: &work.S3{Bucket: "backups", Prefix: name + "/", Endpoint: address, Region: "eu-1", CAKey: work.DefaultCAKey}}
		},
		auth: map[string]string{work.KeyAWSAccessKeyID: "AKIAVERSITY", work.KeyAWSSecretAccessKey: "versity-secret"},
		ca:   string(ours.pem),
	}
}

// azure is one server for all tests, as it takes a while to start; each test has an account of its own.
var azure struct {
	once    sync.Once
	end     func()
	address string
	next    atomic.Int64
}

const (
	azureAccounts = 100
	azureKey      = "dGhlIGtleSBvZiBhIHN0b3JhZ2UgYWNjb3VudA=="
)

func azurite(t *testing.T) *store {
	t.Helper()
	azure.once.Do(func() {
		azure.address = freeAddress(t)
		var accounts []string
		for n := range azureAccounts {
			accounts = append(accounts, fmt.Sprintf("account%d:%s", n, azureKey))
		}
		dir, err := os.MkdirTemp("", "azurite") //nolint:usetesting // it outlives this test
		require.NoError(t, err)
		end := run(t, azure.address, []string{"AZURITE_ACCOUNTS=" + strings.Join(accounts, ";")}, tool(t, "azurite", "azurite-blob"),
			"--blobHost", "127.0.0.1", "--blobPort", portOf(azure.address), "--location", dir, "--silent", "--skipApiVersionCheck")
		azure.end = func() {
			end()
			_ = os.RemoveAll(dir)
		}
	})
	account, secret := fmt.Sprintf("account%d", azure.next.Add(1)-1), azureKey
	host := account + ".blob.core.windows.net"
	f := &front{next: proxyTo(azure.address)}
	internet.serve(t, host, f)

	credential, err := azblob.NewSharedKeyCredential(account, secret)
	require.NoError(t, err)
	client, err := azblob.NewClientWithSharedKeyCredential("https://"+host+"/", credential, nil)
	require.NoError(t, err)
	_, err = client.CreateContainer(t.Context(), "backups", nil)
	require.NoError(t, err)
	return &store{host: host, front: f, auth: map[string]string{work.KeyAzureKey: secret}, at: func(name string) work.Backend {
		return work.Backend{Azure: &work.Azure{Container: "backups", Prefix: name + "/", StorageAccount: account}}
	}}
}

// sasToken is good for the container of an account.
func sasToken(t *testing.T, s *store) (account, token string) {
	t.Helper()
	account = s.at("").Azure.StorageAccount
	credential, err := azblob.NewSharedKeyCredential(account, azureKey)
	require.NoError(t, err)
	client, err := azblob.NewClientWithSharedKeyCredential("https://"+s.host+"/", credential, nil)
	require.NoError(t, err)
	link, err := client.ServiceClient().NewContainerClient("backups").GetSASURL(
		sas.ContainerPermissions{Read: true, Write: true, Create: true, Delete: true, List: true}, time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	_, token, _ = strings.Cut(link, "?")
	return account, token
}

func azureByToken(t *testing.T) *store {
	t.Helper()
	s := azurite(t)
	account, token := sasToken(t, s)
	s.auth = map[string]string{work.KeyAzureSASToken: token, work.KeyAzureAccount: account}
	s.at = func(name string) work.Backend {
		return work.Backend{Azure: &work.Azure{Container: "backups", Prefix: name + "/", StorageDomain: "blob.core.windows.net"}}
	}
	return s
}

// What Azure's webhook puts into a pod, and the token that it is good for.
const (
	azureTenant   = "11111111-2222-3333-4444-555555555555"
	azureClient   = "66666666-7777-8888-9999-000000000000"
	azureProof    = "what the cluster says of the ServiceAccount"
	azureIdentity = "a token of Azure's"
)

var withIdentity sync.Once

// azureByIdentity has no Secret: the pod's environment names a file, and a service turns what it holds into a token.
func azureByIdentity(t *testing.T) *store {
	t.Helper()
	withIdentity.Do(func() {
		file := filepath.Join(scratch, "token")
		require.NoError(t, os.WriteFile(file, []byte(azureProof), 0o600))
		for name, value := range map[string]string{"AZURE_TENANT_ID": azureTenant, "AZURE_CLIENT_ID": azureClient, "AZURE_FEDERATED_TOKEN_FILE": file} {
			require.NoError(t, os.Setenv(name, value)) //nolint:usetesting // tests run side by side
		}
		internet.serve(t, "login.microsoftonline.com", http.HandlerFunc(microsoft))
	})
	s := azurite(t)
	account, token := sasToken(t, s)
	server := s.front.next
	// Azurite knows of no identities, so here stands what checks them.
	s.front.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+azureIdentity {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization")
		if r.URL.RawQuery != "" {
			r.URL.RawQuery += "&"
		}
		r.URL.RawQuery += token
		server.ServeHTTP(w, r)
	})
	s.auth = nil
	s.at = func(name string) work.Backend {
		return work.Backend{Azure: &work.Azure{Container: "backups", Prefix: name + "/", StorageAccount: account, AmbientCredentials: true}}
	}
	return s
}

// microsoft tells where tokens are given, and gives one for the proof.
func microsoft(w http.ResponseWriter, r *http.Request) {
	const at = "https://login.microsoftonline.com/" + azureTenant
	w.Header().Set("Content-Type", "application/json")
	var out any
	switch {
	case strings.HasSuffix(r.URL.Path, "/discovery/instance"):
		out = map[string]any{"tenant_discovery_endpoint": at + "/v2.0/.well-known/openid-configuration", "metadata": []any{map[string]any{
			"preferred_network": "login.microsoftonline.com", "preferred_cache": "login.microsoftonline.com", "aliases": []string{"login.microsoftonline.com"},
		}}}
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		out = map[string]any{"authorization_endpoint": at + "/oauth2/v2.0/authorize", "token_endpoint": at + "/oauth2/v2.0/token", "issuer": at + "/v2.0"}
	case r.FormValue("client_assertion") == azureProof && r.FormValue("client_id") == azureClient:
		out = map[string]any{"access_token": azureIdentity, "token_type": "Bearer", "expires_in": 3600}
	default:
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]any{"error": "invalid_client"}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// googleToken is what the service that hands out tokens gives to those who prove who they are.
const googleToken = "a token of Google's"

// google is the one Google there is: each test has a bucket of its own.
var google googleCloud

type googleCloud struct {
	once             sync.Once
	end              func()
	account, address string

	mu       sync.Mutex
	byBucket map[string]*front
}

func (g *googleCloud) start(t *testing.T) {
	t.Helper()
	g.address, g.byBucket = freeAddress(t), map[string]*front{}
	g.end = run(t, g.address, nil, tool(t, "fake-gcs-server"), "-scheme", "http", "-host", "127.0.0.1", "-port", portOf(g.address),
		"-backend", "memory", "-public-host", "storage.googleapis.com", "-log-level", "error")
	key := must(rsa.GenerateKey(rand.Reader, 2048))
	g.account = string(must(json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "client_email": "backup@p.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
		"private_key_id": "1", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))})),
	})))
	internet.serve(t, "oauth2.googleapis.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.FormValue("assertion"), ".")
		w.Header().Set("Content-Type", "application/json")
		if len(parts) == 3 {
			sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
			if sig, err := base64.RawURLEncoding.DecodeString(parts[2]); err == nil && rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], sig) == nil {
				_ = json.NewEncoder(w).Encode(map[string]any{"access_token": googleToken, "token_type": "Bearer", "expires_in": 3600})
				return
			}
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
	}))
	internet.serve(t, "storage.googleapis.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.of(r.URL.Path).ServeHTTP(w, r)
	}))
}

// of is what stands before the bucket of a request.
func (g *googleCloud) of(path string) http.Handler {
	g.mu.Lock()
	defer g.mu.Unlock()
	for bucket, f := range g.byBucket {
		if strings.Contains(path+"/", "/"+bucket+"/") {
			return f
		}
	}
	return proxyTo(g.address)
}

func gcs(t *testing.T) *store {
	t.Helper()
	google.once.Do(func() { google.start(t) })
	bucket := unique("bucket")
	server := proxyTo(google.address)
	f := &front{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+googleToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		server.ServeHTTP(w, r)
	})}
	google.mu.Lock()
	google.byBucket[bucket] = f
	google.mu.Unlock()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+google.address+"/storage/v1/b?project=p", strings.NewReader(`{"name":"`+bucket+`"}`))
	require.NoError(t, err)
	req.Host = "storage.googleapis.com"
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
	return &store{front: f, auth: map[string]string{work.KeyGCSCredentials: google.account}, at: func(name string) work.Backend {
		return work.Backend{GCS: &work.GCS{Bucket: bucket, Prefix: name + "/"}}
	}}
}

const davPassword = "a password for WebDAV"

func davOverTLS(t *testing.T) *store {
	t.Helper()
	dir := t.TempDir()
	server := &webdav.Handler{FileSystem: webdav.Dir(dir), LockSystem: webdav.NewMemLS()}
	f := &front{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, pass, ok := r.BasicAuth(); !ok || name != "kopia" || pass != davPassword {
			w.Header().Set("WWW-Authenticate", `Basic realm="backups"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		server.ServeHTTP(w, r)
	})}
	host := unique("dav") + ".example.org"
	internet.serve(t, host, f)
	return &store{host: host, front: f, auth: map[string]string{work.KeyWebDAVUsername: "kopia", work.KeyWebDAVPassword: davPassword}, at: func(name string) work.Backend {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o750))
		return work.Backend{WebDAV: &work.WebDAV{URL: "https://" + host + "/" + name}}
	}}
}

// hostKey makes a key for a server, in a file, and its line for known_hosts.
func hostKey(t *testing.T, private crypto.PrivateKey, address string) (file, line string) {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return file, knownhosts.Line([]string{address}, signer.PublicKey()) + "\n"
}

func sshd(t *testing.T) *store {
	t.Helper()
	address, dir := freeAddress(t), t.TempDir()
	_, first, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	firstFile, firstLine := hostKey(t, first, address)
	secondFile, secondLine := hostKey(t, newAuthority("").key, address)
	_, login, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	loginFile, _ := hostKey(t, login, address)
	signer, err := ssh.NewSignerFromKey(login)
	require.NoError(t, err)
	authorized := filepath.Join(t.TempDir(), "authorized_keys")
	require.NoError(t, os.WriteFile(authorized, ssh.MarshalAuthorizedKey(signer.PublicKey()), 0o600))
	me, err := user.Current()
	require.NoError(t, err)
	if me.Uid == "0" {
		require.NoError(t, os.MkdirAll("/run/sshd", 0o755)) // what the package's service makes
	}
	conf := filepath.Join(t.TempDir(), "sshd_config")
	require.NoError(t, os.WriteFile(conf, []byte(strings.Join([]string{
		"ListenAddress " + address, "HostKey " + firstFile, "HostKey " + secondFile, "AuthorizedKeysFile " + authorized,
		"StrictModes no", "UsePAM no", "PidFile none", "PasswordAuthentication no", "PermitRootLogin prohibit-password",
		"Subsystem sftp internal-sftp", "MaxStartups 100", "",
	}, "\n")), 0o600))
	start(t, address, nil, "/usr/sbin/sshd", "-D", "-e", "-f", conf)
	private, err := os.ReadFile(loginFile)
	require.NoError(t, err)
	port := 0
	_, err = fmt.Sscan(portOf(address), &port)
	require.NoError(t, err)
	return &store{auth: map[string]string{work.KeySFTPKeyData: string(private), work.KeySFTPKnownHosts: firstLine + secondLine}, at: func(name string) work.Backend {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(path, 0o750))
		return work.Backend{SFTP: &work.SFTP{Host: "127.0.0.1", Port: int32(port), Path: path, Username: me.Username}}
	}}
}

// withRclone puts rclone where a mover looks for it. It is set for the process: tests run side by side.
var withRclone sync.Once

func rclone(t *testing.T) *store {
	t.Helper()
	withRclone.Do(func() {
		path := filepath.Dir(tool(t, "rclone")) + ":" + os.Getenv("PATH")
		require.NoError(t, os.Setenv("PATH", path)) //nolint:usetesting // see above
	})
	dir := t.TempDir()
	return &store{auth: map[string]string{work.KeyRcloneConfig: "[disk]\ntype = alias\nremote = " + dir + "\n"}, at: func(name string) work.Backend {
		return work.Backend{Rclone: &work.Rclone{RemotePath: "disk:" + name, StartupTimeoutSeconds: 60}}
	}}
}
