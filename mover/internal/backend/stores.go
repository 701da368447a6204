// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"fmt"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

func s3(b work.S3, d Dirs, values map[string]string) (engine.Storage, Secrets, error) {
	s := &engine.S3{
		Bucket: b.Bucket, Prefix: b.Prefix, Endpoint: b.Endpoint, Region: b.Region,
		DisableTLS: b.DisableTLS, SkipVerify: b.InsecureSkipVerify,
	}
	if b.CAKey != "" {
		ca, err := ReadKey(d.CA, caObject, b.CAKey)
		if err != nil {
			return engine.Storage{}, nil, err
		}
		s.RootCA = []byte(ca)
	}
	if b.AmbientCredentials {
		return engine.Storage{S3: s}, nil, nil
	}
	keys, err := decodeS3(values)
	if err != nil {
		return engine.Storage{}, nil, err
	}
	s.AccessKeyID, s.SecretAccessKey, s.SessionToken = keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken
	return engine.Storage{S3: s}, Secrets{keys.SecretAccessKey, keys.SessionToken, keys.AccessKeyID}, nil
}

// Variables that Azure's workload identity webhook sets in a pod.
const (
	envAzureTenant    = "AZURE_TENANT_ID"
	envAzureClient    = "AZURE_CLIENT_ID"
	envAzureTokenFile = "AZURE_FEDERATED_TOKEN_FILE"
)

func azure(b work.Azure, values map[string]string, getenv func(string) string) (engine.Storage, Secrets, error) {
	a := &engine.Azure{Container: b.Container, Prefix: b.Prefix, Account: b.StorageAccount, Domain: b.StorageDomain}
	if b.AmbientCredentials {
		a.TenantID, a.ClientID, a.TokenFile = getenv(envAzureTenant), getenv(envAzureClient), getenv(envAzureTokenFile)
		for _, v := range []struct{ name, value string }{{envAzureTenant, a.TenantID}, {envAzureClient, a.ClientID}, {envAzureTokenFile, a.TokenFile}} {
			if v.value == "" {
				return engine.Storage{}, nil, &KeyError{Object: "mover's environment", Key: v.name, Problem: "is missing; Azure's workload " +
					"identity webhook sets it, where it runs and the ServiceAccount has its annotations. Without workload identity name a Secret in auth.secretRef"}
			}
		}
		return engine.Storage{Azure: a}, nil, nil
	}
	keys, err := decodeAzure(values, a.Account != "")
	if err != nil {
		return engine.Storage{}, nil, err
	}
	if a.Account == "" {
		a.Account = keys.Account
	}
	a.Key, a.SASToken = keys.Key, keys.SASToken
	return engine.Storage{Azure: a}, Secrets{keys.Key + keys.SASToken}, nil // one of them is empty
}

func gcs(b work.GCS, values map[string]string) (engine.Storage, Secrets, error) {
	g := &engine.GCS{Bucket: b.Bucket, Prefix: b.Prefix}
	if b.AmbientCredentials {
		return engine.Storage{GCS: g}, nil, nil
	}
	var keys gcsKeys
	if err := decode(values, &keys, rule{key: work.KeyGCSCredentials, text: true}); err != nil {
		return engine.Storage{}, nil, err
	}
	secrets, err := serviceAccount(work.KeyGCSCredentials, keys.Credentials)
	g.Credentials = keys.Credentials
	return engine.Storage{GCS: g}, secrets, err
}

func gdrive(b work.GDrive, values map[string]string) (engine.Storage, Secrets, error) {
	g := &engine.GDrive{FolderID: b.FolderID}
	if b.AmbientCredentials {
		return engine.Storage{GDrive: g}, nil, nil
	}
	var keys gdriveKeys
	if err := decode(values, &keys, rule{key: work.KeyGDriveCredentials, text: true}); err != nil {
		return engine.Storage{}, nil, err
	}
	secrets, err := serviceAccount(work.KeyGDriveCredentials, keys.Credentials)
	g.Credentials = keys.Credentials
	return engine.Storage{GDrive: g}, secrets, err
}

func b2(b work.B2, values map[string]string) (engine.Storage, Secrets, error) {
	var keys b2Keys
	if err := decode(values, &keys); err != nil {
		return engine.Storage{}, nil, err
	}
	return engine.Storage{B2: &engine.B2{Bucket: b.Bucket, Prefix: b.Prefix, KeyID: keys.KeyID, Key: keys.Key}}, Secrets{keys.Key, keys.KeyID}, nil
}

func sftp(b work.SFTP, values map[string]string) (engine.Storage, Secrets, error) {
	var keys sftpKeys
	if err := decode(values, &keys, rule{key: work.KeySFTPKeyData, text: true}, rule{key: work.KeySFTPKnownHosts, text: true}); err != nil {
		return engine.Storage{}, nil, err
	}
	secrets := Secrets{keys.KeyData}
	if err := privateKey(keys.KeyData); err != nil {
		return engine.Storage{}, secrets, err
	}
	if err := knownHosts(keys.KnownHosts); err != nil {
		return engine.Storage{}, secrets, err
	}
	return engine.Storage{SFTP: &engine.SFTP{
		Host: b.Host, Port: int(b.Port), Path: b.Path, Username: b.Username, Key: keys.KeyData, KnownHosts: keys.KnownHosts,
	}}, secrets, nil
}

func webDAV(b work.WebDAV, values map[string]string) (engine.Storage, Secrets, error) {
	w := &engine.WebDAV{URL: b.URL}
	if b.AmbientCredentials {
		return engine.Storage{WebDAV: w}, nil, nil
	}
	var keys webDAVKeys
	if err := decode(values, &keys, rule{key: work.KeyWebDAVUsername, words: true}, rule{key: work.KeyWebDAVPassword, words: true}); err != nil {
		return engine.Storage{}, nil, err
	}
	w.Username, w.Password = keys.Username, keys.Password
	return engine.Storage{WebDAV: w}, Secrets{keys.Password}, nil
}

func rclone(b work.Rclone, values map[string]string) (engine.Storage, Secrets, error) {
	if b.StartupTimeoutSeconds < 0 || b.StartupTimeoutSeconds > work.MaxSeconds {
		return engine.Storage{}, nil, fmt.Errorf("%w: a startup timeout of %d seconds", ErrInvalidSpec, b.StartupTimeoutSeconds)
	}
	r := &engine.Rclone{RemotePath: b.RemotePath, StartupTimeout: time.Duration(b.StartupTimeoutSeconds) * time.Second}
	if b.AmbientCredentials {
		return engine.Storage{Rclone: r}, nil, nil
	}
	var keys rcloneKeys
	if err := decode(values, &keys, rule{key: work.KeyRcloneConfig, text: true}); err != nil {
		return engine.Storage{}, nil, err
	}
	r.Config = keys.Config
	secrets, err := rcloneConfig(b.RemotePath, keys.Config)
	return engine.Storage{Rclone: r}, secrets, err
}
