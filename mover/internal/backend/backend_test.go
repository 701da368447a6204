// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package backend_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// secret writes a Secret as the kubelet mounts it: links into a folder of its own.
func secret(t *testing.T, values map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "..2026"), 0o700))
	require.NoError(t, os.Symlink("..2026", filepath.Join(dir, "..data")))
	for k, v := range values {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "..2026", k), []byte(v), 0o600))
		require.NoError(t, os.Symlink("..data/"+k, filepath.Join(dir, k)))
	}
	return dir
}

func TestConnectionS3(t *testing.T) {
	t.Parallel()
	d := backend.Dirs{
		Password: secret(t, map[string]string{"KOPIA_PASSWORD": "pass word\n"}),
		Auth:     secret(t, map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_SESSION_TOKEN": "token", "KOPIA_PASSWORD": "beside"}),
		CA:       secret(t, map[string]string{"ca.crt": "pem"}),
	}
	c, secrets, err := backend.Connection(work.Repository{
		Backend:  work.Backend{S3: &work.S3{Bucket: "b", Prefix: "p", Endpoint: "e:1", Region: "r", CAKey: "ca.crt", DisableTLS: true, InsecureSkipVerify: true}},
		Username: "u", Hostname: "h", ExpectedUniqueID: "ff", ReadOnly: true,
		Throttle: &work.Throttle{UploadBytesPerSecond: 1, DownloadBytesPerSecond: 2, ReadOpsPerSecond: 3, WriteOpsPerSecond: 4},
	}, d)
	require.NoError(t, err)
	assert.Equal(t, engine.Connection{
		Storage: engine.Storage{S3: &engine.S3{
			Bucket: "b", Prefix: "p", Endpoint: "e:1", Region: "r", AccessKeyID: "id", SecretAccessKey: "key", SessionToken: "token",
			DisableTLS: true, SkipVerify: true, RootCA: []byte("pem"),
		}},
		Password: "pass word\n", Username: "u", Hostname: "h", ExpectedUniqueID: "ff", ReadOnly: true,
		Throttle: engine.Throttle{UploadBytesPerSecond: 1, DownloadBytesPerSecond: 2, ReadOpsPerSecond: 3, WriteOpsPerSecond: 4},
	}, c, "the password is taken as it is, newline included")
	assert.ElementsMatch(t, []string{"pass word\n", "id", "key", "token"}, secrets)
}

// K-9.
func TestConnectionNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	s3 := work.Repository{Backend: work.Backend{S3: &work.S3{Bucket: "b"}}}
	fs := work.Repository{Backend: work.Backend{Filesystem: &work.Filesystem{Path: "/r"}}}
	password := map[string]string{"KOPIA_PASSWORD": "hunter22"}
	for name, tc := range map[string]struct {
		repository     work.Repository
		password, auth map[string]string
		want           []string
	}{
		"no password key":         {fs, map[string]string{"password": "hunter22"}, nil, []string{"KOPIA_PASSWORD", "is missing", "it has password"}},
		"an empty password":       {fs, map[string]string{"KOPIA_PASSWORD": ""}, nil, []string{"KOPIA_PASSWORD", "is empty"}},
		"no password Secret":      {fs, nil, nil, []string{"KOPIA_PASSWORD", "is missing", "does not exist"}},
		"a key that climbs":       {work.Repository{PasswordKey: "../x", Backend: fs.Backend}, password, nil, []string{"../x", "no valid name"}},
		"a misspelt access key":   {s3, password, map[string]string{"AWS_ACCESS_KEY_ID": "hunter22", "AWS_SECRET_KEY": "hunter22"}, []string{"AWS_SECRET_ACCESS_KEY", "is missing", "AWS_SECRET_KEY"}},
		"an empty secret key":     {s3, password, map[string]string{"AWS_ACCESS_KEY_ID": "hunter22", "AWS_SECRET_ACCESS_KEY": ""}, []string{"AWS_SECRET_ACCESS_KEY", "is empty"}},
		"a newline in a key":      {s3, password, map[string]string{"AWS_ACCESS_KEY_ID": "hunter22", "AWS_SECRET_ACCESS_KEY": "hunter22\n"}, []string{"AWS_SECRET_ACCESS_KEY", "newline"}},
		"keys of another case":    {s3, password, map[string]string{"aws_access_key_id": "hunter22", "aws_secret_access_key": "hunter22"}, []string{"AWS_ACCESS_KEY_ID", "is missing"}},
		"no credential Secret":    {s3, password, nil, []string{"AWS_ACCESS_KEY_ID", "is missing"}},
		"a CA key that is absent": {work.Repository{Backend: work.Backend{S3: &work.S3{Bucket: "b", CAKey: "ca.crt"}}}, password, nil, []string{"ca.crt", "is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dirs := backend.Dirs{Password: filepath.Join(t.TempDir(), "absent"), Auth: filepath.Join(t.TempDir(), "absent"), CA: t.TempDir()}
			if tc.password != nil {
				dirs.Password = secret(t, tc.password)
			}
			if tc.auth != nil {
				dirs.Auth = secret(t, tc.auth)
			}
			_, _, err := backend.Connection(tc.repository, dirs)
			var key *backend.KeyError
			require.ErrorAs(t, err, &key)
			for _, w := range tc.want {
				require.ErrorContains(t, err, w)
			}
			assert.NotContains(t, err.Error(), "hunter22", "names, never values")
		})
	}
	_, _, err := backend.Connection(work.Repository{}, backend.Dirs{Password: secret(t, password)})
	require.ErrorIs(t, err, backend.ErrInvalidSpec)
}

// sshKey makes a private key, and its public half as known_hosts has it.
func sshKey(t *testing.T) (private, public string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	sshPub, err := ssh.NewPublicKey(pub)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(block)), string(ssh.MarshalAuthorizedKey(sshPub))
}

const account = `{"type":"service_account","client_email":"a@b","private_key":"hunter22"}`

func TestStorage(t *testing.T) {
	t.Parallel()
	key, public := sshKey(t)
	hosts := "# ours\nnas.example.org " + public
	conf := "[nas]\ntype = sftp\nhost = h\npass = hunter22\n"
	for name, tc := range map[string]struct {
		in      work.Backend
		auth    map[string]string
		want    engine.Storage
		secrets []string
	}{
		"azure by key": {
			work.Backend{Azure: &work.Azure{Container: "c", Prefix: "p", StorageAccount: "a", StorageDomain: "d"}},
			map[string]string{"AZURE_STORAGE_KEY": "aGk=", "AZURE_STORAGE_ACCOUNT": "not-asked"},
			engine.Storage{Azure: &engine.Azure{Container: "c", Prefix: "p", Account: "a", Domain: "d", Key: "aGk="}},
			[]string{"aGk="},
		},
		"azure by token, account in the Secret": {
			work.Backend{Azure: &work.Azure{Container: "c"}},
			map[string]string{"AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=x", "AZURE_STORAGE_ACCOUNT": "a"},
			engine.Storage{Azure: &engine.Azure{Container: "c", Account: "a", SASToken: "sv=1&sig=x"}},
			[]string{"sv=1&sig=x"},
		},
		"gcs": {
			work.Backend{GCS: &work.GCS{Bucket: "b", Prefix: "p"}},
			map[string]string{"KOPIA_GCS_CREDENTIALS": account},
			engine.Storage{GCS: &engine.GCS{Bucket: "b", Prefix: "p", Credentials: account}},
			[]string{account, "hunter22"},
		},
		"gcs with what the cloud gives": {
			work.Backend{GCS: &work.GCS{Bucket: "b", AmbientCredentials: true}}, nil, engine.Storage{GCS: &engine.GCS{Bucket: "b"}}, nil,
		},
		"b2": {
			work.Backend{B2: &work.B2{Bucket: "b", Prefix: "p"}},
			map[string]string{"B2_KEY_ID": "i", "B2_KEY": "k"},
			engine.Storage{B2: &engine.B2{Bucket: "b", Prefix: "p", KeyID: "i", Key: "k"}},
			[]string{"k", "i"},
		},
		"sftp": {
			work.Backend{SFTP: &work.SFTP{Host: "nas.example.org", Port: 2222, Path: "/p", Username: "u"}},
			map[string]string{"KOPIA_SFTP_KEY_DATA": key, "KOPIA_SFTP_KNOWN_HOSTS": hosts},
			engine.Storage{SFTP: &engine.SFTP{Host: "nas.example.org", Port: 2222, Path: "/p", Username: "u", Key: key, KnownHosts: hosts}},
			[]string{key},
		},
		"webDav": {
			work.Backend{WebDAV: &work.WebDAV{URL: "https://h/p"}},
			map[string]string{"KOPIA_WEBDAV_USERNAME": "u", "KOPIA_WEBDAV_PASSWORD": "two words"},
			engine.Storage{WebDAV: &engine.WebDAV{URL: "https://h/p", Username: "u", Password: "two words"}},
			[]string{"two words"},
		},
		"webDav for everybody": {
			work.Backend{WebDAV: &work.WebDAV{URL: "https://h/p", AmbientCredentials: true}}, nil, engine.Storage{WebDAV: &engine.WebDAV{URL: "https://h/p"}}, nil,
		},
		"rclone": {
			work.Backend{Rclone: &work.Rclone{RemotePath: "nas:kopia", StartupTimeoutSeconds: 60}},
			map[string]string{"KOPIA_RCLONE_CONFIG": conf},
			engine.Storage{Rclone: &engine.Rclone{RemotePath: "nas:kopia", Config: conf, StartupTimeout: time.Minute}},
			[]string{conf, "hunter22"},
		},
		"rclone without a configuration": {
			work.Backend{Rclone: &work.Rclone{RemotePath: ":local:/p", AmbientCredentials: true}}, nil, engine.Storage{Rclone: &engine.Rclone{RemotePath: ":local:/p"}}, nil,
		},
		"gdrive": {
			work.Backend{GDrive: &work.GDrive{FolderID: "f"}},
			map[string]string{"KOPIA_GDRIVE_CREDENTIALS": account},
			engine.Storage{GDrive: &engine.GDrive{FolderID: "f", Credentials: account}},
			[]string{account, "hunter22"},
		},
		"gdrive with what the cloud gives": {
			work.Backend{GDrive: &work.GDrive{FolderID: "f", AmbientCredentials: true}}, nil, engine.Storage{GDrive: &engine.GDrive{FolderID: "f"}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, secrets, err := backend.Storage(tc.in, backend.Dirs{Auth: secret(t, tc.auth)})
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
			assert.ElementsMatch(t, tc.secrets, secrets, "nothing of this may leave the mover")
		})
	}
}

func TestStorageNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	key, public := sshKey(t)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("hunter22"))
	require.NoError(t, err)
	locked := string(pem.EncodeToMemory(block))
	var (
		azure  = work.Backend{Azure: &work.Azure{Container: "c", StorageAccount: "a"}}
		gcs    = work.Backend{GCS: &work.GCS{Bucket: "b"}}
		b2     = work.Backend{B2: &work.B2{Bucket: "b"}}
		sftp   = work.Backend{SFTP: &work.SFTP{Host: "h", Path: "/p"}}
		dav    = work.Backend{WebDAV: &work.WebDAV{URL: "https://h"}}
		rclone = work.Backend{Rclone: &work.Rclone{RemotePath: "nas:kopia"}}
		gdrive = work.Backend{GDrive: &work.GDrive{FolderID: "f"}}
	)
	for name, tc := range map[string]struct {
		in   work.Backend
		auth map[string]string
		want []string
	}{
		"azure without a key":             {azure, map[string]string{"AZURE_KEY": "hunter22"}, []string{"AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "it has AZURE_KEY"}},
		"azure with two kinds of keys":    {azure, map[string]string{"AZURE_STORAGE_KEY": "aGk=", "AZURE_STORAGE_SAS_TOKEN": "hunter22"}, []string{"leave one of them out"}},
		"azure without an account":        {work.Backend{Azure: &work.Azure{Container: "c"}}, map[string]string{"AZURE_STORAGE_KEY": "aGk="}, []string{"AZURE_STORAGE_ACCOUNT", "backend.azure.storageAccount"}},
		"azure with a key that is none":   {azure, map[string]string{"AZURE_STORAGE_KEY": "hunter22!"}, []string{"AZURE_STORAGE_KEY", "base64"}},
		"azure without workload identity": {work.Backend{Azure: &work.Azure{Container: "c", StorageAccount: "a", AmbientCredentials: true}}, nil, []string{"AZURE_TENANT_ID", "webhook"}},
		"gcs without the JSON":            {gcs, map[string]string{"credentials.json": account}, []string{"KOPIA_GCS_CREDENTIALS", "is missing", "credentials.json"}},
		"gcs with no JSON":                {gcs, map[string]string{"KOPIA_GCS_CREDENTIALS": "hunter22"}, []string{"KOPIA_GCS_CREDENTIALS", "is no JSON"}},
		"gcs with another JSON":           {gcs, map[string]string{"KOPIA_GCS_CREDENTIALS": `{"type":"external_account","x":"hunter22"}`}, []string{"service_account"}},
		"gcs with half a JSON":            {gcs, map[string]string{"KOPIA_GCS_CREDENTIALS": `{"type":"service_account","client_email":"hunter22"}`}, []string{"private_key"}},
		"gdrive with no JSON":             {gdrive, map[string]string{"KOPIA_GDRIVE_CREDENTIALS": "hunter22"}, []string{"KOPIA_GDRIVE_CREDENTIALS", "is no JSON"}},
		"gdrive without the JSON":         {gdrive, nil, []string{"KOPIA_GDRIVE_CREDENTIALS", "does not exist"}},
		"b2 without a key":                {b2, map[string]string{"B2_KEY_ID": "hunter22"}, []string{"B2_KEY", "is missing"}},
		"b2 with a newline":               {b2, map[string]string{"B2_KEY_ID": "i", "B2_KEY": "hunter22\n"}, []string{"B2_KEY", "newline"}},
		"sftp without known hosts":        {sftp, map[string]string{"KOPIA_SFTP_KEY_DATA": key}, []string{"KOPIA_SFTP_KNOWN_HOSTS", "is missing"}},
		"sftp with empty known hosts":     {sftp, map[string]string{"KOPIA_SFTP_KEY_DATA": key, "KOPIA_SFTP_KNOWN_HOSTS": "# hunter22\n"}, []string{"KOPIA_SFTP_KNOWN_HOSTS", "ssh-keyscan"}},
		"sftp with broken known hosts":    {sftp, map[string]string{"KOPIA_SFTP_KEY_DATA": key, "KOPIA_SFTP_KNOWN_HOSTS": "h " + public + "h ssh-rsa hunter22\n"}, []string{"KOPIA_SFTP_KNOWN_HOSTS", "after 1 good"}},
		"sftp without a key":              {sftp, map[string]string{"KOPIA_SFTP_KNOWN_HOSTS": "h " + public}, []string{"KOPIA_SFTP_KEY_DATA", "is missing"}},
		"sftp with the public half":       {sftp, map[string]string{"KOPIA_SFTP_KEY_DATA": public, "KOPIA_SFTP_KNOWN_HOSTS": "h " + public}, []string{"KOPIA_SFTP_KEY_DATA", "no private key"}},
		"sftp with a passphrase":          {sftp, map[string]string{"KOPIA_SFTP_KEY_DATA": locked, "KOPIA_SFTP_KNOWN_HOSTS": "h " + public}, []string{"KOPIA_SFTP_KEY_DATA", "passphrase"}},
		"webDav without a password":       {dav, map[string]string{"KOPIA_WEBDAV_USERNAME": "hunter22"}, []string{"KOPIA_WEBDAV_PASSWORD", "is missing"}},
		"webDav with a newline":           {dav, map[string]string{"KOPIA_WEBDAV_USERNAME": "u", "KOPIA_WEBDAV_PASSWORD": "hunter22\n"}, []string{"KOPIA_WEBDAV_PASSWORD", "a newline"}},
		"rclone without a configuration":  {rclone, map[string]string{"rclone.conf": "hunter22"}, []string{"KOPIA_RCLONE_CONFIG", "is missing", "rclone.conf"}},
		"rclone without the remote":       {rclone, map[string]string{"KOPIA_RCLONE_CONFIG": "[other]\npass = hunter22\n"}, []string{"KOPIA_RCLONE_CONFIG", "[nas]", "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := backend.Storage(tc.in, backend.Dirs{Auth: secret(t, tc.auth)})
			var key *backend.KeyError
			require.ErrorAs(t, err, &key)
			for _, w := range tc.want {
				require.ErrorContains(t, err, w)
			}
			assert.NotContains(t, err.Error(), "hunter22", "names, never values")
		})
	}
}

func TestAmbientCredentialsReadNoSecret(t *testing.T) {
	t.Parallel()
	c, _, err := backend.Connection(work.Repository{Backend: work.Backend{S3: &work.S3{Bucket: "b", AmbientCredentials: true}}},
		backend.Dirs{Password: secret(t, map[string]string{"KOPIA_PASSWORD": "x"}), Auth: secret(t, map[string]string{"AWS_ACCESS_KEY_ID": "must not be used"})})
	require.NoError(t, err)
	assert.Empty(t, c.Storage.S3.AccessKeyID)
}

// G-1, G-3.
func TestCache(t *testing.T) {
	t.Parallel()
	const gib, mib = 1 << 30, 1 << 20
	for name, tc := range map[string]struct {
		in     work.Cache
		dir    string
		want   engine.Cache
		volume int64
	}{
		"no folder is no cache":              {work.Cache{CapacityBytes: gib}, "", engine.Cache{}, 0},
		"without a capacity it is modest":    {work.Cache{}, "/c", engine.Cache{Dir: "/c", ContentBytes: 512 * mib, MetadataBytes: gib}, 0},
		"a volume is used to 80 %":           {work.Cache{CapacityBytes: 1000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 300 * mib, MetadataBytes: 500 * mib}, 0},
		"what the user set is kept":          {work.Cache{CapacityBytes: 1000 * mib, ContentLimitBytes: 100 * mib, MetadataLimitBytes: 200 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 100 * mib, MetadataBytes: 200 * mib}, 0},
		"the other half gets the rest":       {work.Cache{CapacityBytes: 1000 * mib, ContentLimitBytes: 100 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 100 * mib, MetadataBytes: 700 * mib}, 0},
		"more than fits is cut in ratio":     {work.Cache{CapacityBytes: 1000 * mib, ContentLimitBytes: 1000 * mib, MetadataLimitBytes: 3000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 200 * mib, MetadataBytes: 600 * mib}, 0},
		"one that wants all leaves a floor":  {work.Cache{CapacityBytes: 1000 * mib, MetadataLimitBytes: 9000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 64 * mib, MetadataBytes: 736 * mib}, 0},
		"a volume too small is not used":     {work.Cache{CapacityBytes: 100 * mib}, "/c", engine.Cache{}, 0},
		"a volume smaller than it should be": {work.Cache{CapacityBytes: 2000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 300 * mib, MetadataBytes: 500 * mib}, 1000 * mib},
		"a small volume of unknown capacity": {work.Cache{}, "/c", engine.Cache{Dir: "/c", ContentBytes: 300 * mib, MetadataBytes: 500 * mib}, 1000 * mib},
		"a small volume and a large wish":    {work.Cache{ContentLimitBytes: 4000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 736 * mib, MetadataBytes: 64 * mib}, 1000 * mib},
		"the disk of a node":                 {work.Cache{}, "/c", engine.Cache{Dir: "/c", ContentBytes: 512 * mib, MetadataBytes: gib}, 500 * gib},
		"a tiny volume of unknown capacity":  {work.Cache{}, "/c", engine.Cache{}, 64 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := backend.Cache(tc.in, tc.dir, tc.volume)
			assert.Equal(t, tc.want, got)
			for _, size := range []int64{tc.in.CapacityBytes, tc.volume} {
				if size > 0 {
					assert.LessOrEqual(t, got.ContentBytes+got.MetadataBytes, size/5*4)
				}
			}
		})
	}
}

// K-9.
func TestTrailingSpace(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"plain": "", "two words": "", "newline\n": "a newline", "windows\r\n": "a newline", "blank ": "white space"} {
		assert.Equal(t, want, backend.TrailingSpace(in), "%q", in)
	}
}
