// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/mitchellh/mapstructure"
	"golang.org/x/crypto/ssh"

	"github.com/kopiur/kopiur/apis/work"
)

// Keys of the credential Secrets. This file is the only one that maps Secrets into structs.
type (
	s3Keys struct {
		AccessKeyID     string `mapstructure:"AWS_ACCESS_KEY_ID"`
		SecretAccessKey string `mapstructure:"AWS_SECRET_ACCESS_KEY"`
		SessionToken    string `mapstructure:"AWS_SESSION_TOKEN"`
	}
	azureKeys struct {
		Account  string `mapstructure:"AZURE_STORAGE_ACCOUNT"`
		Key      string `mapstructure:"AZURE_STORAGE_KEY"`
		SASToken string `mapstructure:"AZURE_STORAGE_SAS_TOKEN"`
	}
	gcsKeys struct {
		Credentials string `mapstructure:"KOPIA_GCS_CREDENTIALS"`
	}
	gdriveKeys struct {
		Credentials string `mapstructure:"KOPIA_GDRIVE_CREDENTIALS"`
	}
	b2Keys struct {
		KeyID string `mapstructure:"B2_KEY_ID"`
		Key   string `mapstructure:"B2_KEY"`
	}
	sftpKeys struct {
		KeyData    string `mapstructure:"KOPIA_SFTP_KEY_DATA"`
		KnownHosts string `mapstructure:"KOPIA_SFTP_KNOWN_HOSTS"`
	}
	webDAVKeys struct {
		Username string `mapstructure:"KOPIA_WEBDAV_USERNAME"`
		Password string `mapstructure:"KOPIA_WEBDAV_PASSWORD"`
	}
	rcloneKeys struct {
		Config string `mapstructure:"KOPIA_RCLONE_CONFIG"`
	}
)

// rule is what is special about one key. Without one a key is required, and has no white space in it.
type rule struct {
	key      string
	optional bool
	// words: white space may be in it, but not at its end. text: it has lines.
	words, text bool
}

func decodeS3(values map[string]string) (s3Keys, error) {
	var keys s3Keys
	if err := decode(values, &keys, rule{key: work.KeyAWSSessionToken, optional: true}); err != nil {
		return s3Keys{}, err
	}
	return keys, nil
}

// decodeAzure takes the name of the account from the Secret where the spec has none, and one of two kinds of keys.
func decodeAzure(values map[string]string, hasAccount bool) (azureKeys, error) {
	var keys azureKeys
	err := decode(values, &keys, rule{key: work.KeyAzureAccount, optional: true}, rule{key: work.KeyAzureKey, optional: true}, rule{key: work.KeyAzureSASToken, optional: true})
	switch {
	case err != nil:
		return azureKeys{}, err
	case keys.Key == "" && keys.SASToken == "":
		return azureKeys{}, &KeyError{Object: authObject, Key: work.KeyAzureKey, Problem: "is missing, and so is " + work.KeyAzureSASToken + "; one of them is needed" + namesOf(values)}
	case keys.Key != "" && keys.SASToken != "":
		return azureKeys{}, &KeyError{Object: authObject, Key: work.KeyAzureKey, Problem: "is there beside " + work.KeyAzureSASToken + "; leave one of them out"}
	case keys.Account == "" && !hasAccount:
		return azureKeys{}, &KeyError{Object: authObject, Key: work.KeyAzureAccount, Problem: "is missing, and backend.azure.storageAccount is not set; one of them is needed"}
	}
	if keys.Key != "" {
		if _, err := base64.StdEncoding.DecodeString(keys.Key); err != nil {
			return azureKeys{}, &KeyError{Object: authObject, Key: work.KeyAzureKey, Problem: "is not a storage account's key, which is base64"}
		}
	}
	keys.SASToken = strings.TrimPrefix(keys.SASToken, "?") // the portal shows it with one, kopia puts its own before it
	return keys, nil
}

// serviceAccount checks the JSON of a service account of Google's; kopia takes no other kind. It returns what must not
// be shown of it.
func serviceAccount(key, text string) (Secrets, error) {
	var account struct {
		Type       string `json:"type"`
		Email      string `json:"client_email"`
		PrivateKey string `json:"private_key"`
	}
	secrets := Secrets{text}
	if err := json.Unmarshal([]byte(text), &account); err != nil {
		return secrets, &KeyError{Object: authObject, Key: key, Problem: "is no JSON; it must be the file that Google gives for a key of a service account"}
	}
	secrets = append(secrets, account.PrivateKey)
	if account.Type != "service_account" {
		return secrets, &KeyError{Object: authObject, Key: key, Problem: `has not the type "service_account"; kopia takes no other kind of JSON. For workload identity leave the Secret out and name a ServiceAccount`}
	}
	if account.PrivateKey == "" || account.Email == "" {
		return secrets, &KeyError{Object: authObject, Key: key, Problem: "has no private_key or no client_email"}
	}
	return secrets, nil
}

func privateKey(text string) error {
	_, err := ssh.ParsePrivateKey([]byte(text))
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return &KeyError{Object: authObject, Key: work.KeySFTPKeyData, Problem: "has a passphrase, and nobody is there to type it; make a key without one (ssh-keygen -p)"}
	case err != nil:
		return &KeyError{Object: authObject, Key: work.KeySFTPKeyData, Problem: "is no private key; it must begin with a line like -----BEGIN OPENSSH PRIVATE KEY-----"}
	}
	return nil
}

// knownHosts wants at least one line. Without any, whoever answers would get the backups.
func knownHosts(text string) error {
	rest, n := []byte(text), 0
	for {
		_, _, _, _, left, err := ssh.ParseKnownHosts(rest)
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case errors.Is(err, io.EOF):
			return &KeyError{Object: authObject, Key: work.KeySFTPKnownHosts, Problem: "has no line; it takes the output of ssh-keyscan, compared with the server's own keys"}
		case err != nil:
			return &KeyError{Object: authObject, Key: work.KeySFTPKnownHosts, Problem: fmt.Sprintf("has a line after %d good ones that is none of known_hosts", n)}
		}
		rest, n = left, n+1
	}
}

// rcloneConfig finds what must not be shown of a configuration, and whether it has the remote.
func rcloneConfig(remotePath, text string) (Secrets, error) {
	secrets := Secrets{text}
	var remotes []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			remotes = append(remotes, strings.TrimSuffix(name, "]"))
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); ok && value != "" && isSecretOption(strings.TrimSpace(name)) {
			secrets = append(secrets, value)
		}
	}
	remote, _, _ := strings.Cut(remotePath, ":")
	remote, _, _ = strings.Cut(remote, ",")
	if remote == "" || slices.Contains(remotes, remote) || strings.Contains(text, "RCLONE_ENCRYPT_V0:") {
		return secrets, nil
	}
	return secrets, &KeyError{Object: authObject, Key: work.KeyRcloneConfig, Problem: fmt.Sprintf("has no remote [%s]; it has %s", remote, orNone(remotes))}
}

func isSecretOption(name string) bool {
	for _, part := range []string{"pass", "secret", "token", "key", "auth", "cookie", "credential", "sas"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// decode maps a Secret. Other keys may be in it: people keep the repository's password beside its credentials. A key
// that is missing is an error, and names what is there instead, because it is usually a matter of spelling.
func decode(values map[string]string, into any, rules ...rule) error {
	of := func(key string) rule {
		for _, r := range rules {
			if r.key == key {
				return r
			}
		}
		return rule{key: key}
	}
	var md mapstructure.Metadata
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: into, Metadata: &md, MatchName: func(a, b string) bool { return a == b }})
	if err != nil {
		return fmt.Errorf("map a Secret: %w", err)
	}
	if err := d.Decode(values); err != nil {
		return errors.New("map a Secret: a value has the wrong type") // mapstructure's text quotes values
	}
	slices.Sort(md.Unset)
	for _, key := range md.Unset {
		if !of(key).optional {
			return &KeyError{Object: authObject, Key: key, Problem: "is missing" + names(md.Unused)}
		}
	}
	for _, key := range md.Keys {
		r, v := of(key), values[key]
		switch {
		case strings.TrimSpace(v) == "" && !r.optional:
			return &KeyError{Object: authObject, Key: key, Problem: "is empty"}
		case r.text:
		case r.words && TrailingSpace(v) != "":
			return &KeyError{Object: authObject, Key: key, Problem: "ends in " + TrailingSpace(v)}
		case !r.words && strings.ContainsFunc(v, unicode.IsSpace):
			return &KeyError{Object: authObject, Key: key, Problem: "contains white space, often a newline at its end; no such key has any"}
		}
	}
	return nil
}

func namesOf(values map[string]string) string { return names(slices.Collect(maps.Keys(values))) }

// readObject reads all keys of a mounted Secret.
func readObject(dir, object string) (map[string]string, error) {
	keys, err := keysOf(dir)
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w", object, err)
	}
	values := make(map[string]string, len(keys))
	for _, k := range keys {
		b, err := os.ReadFile(filepath.Join(dir, k))
		if err != nil {
			return nil, fmt.Errorf("read key %s of the %s: %w", k, object, err)
		}
		values[k] = string(b)
	}
	return values, nil
}

// keysOf lists a mounted object. The kubelet keeps its own entries there, which begin with two dots. A folder that is
// not there is an object that does not exist: it is mounted as optional.
func keysOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // the callers say of what
	}
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "..") && !e.IsDir() {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}

func has(dir string) string {
	keys, err := keysOf(dir)
	if err != nil {
		return ""
	}
	return names(keys)
}

func names(keys []string) string {
	if len(keys) == 0 {
		return "; the object does not exist or has no other keys"
	}
	slices.Sort(keys)
	return "; it has " + strings.Join(keys, ", ")
}

// TrailingSpace names what is at the end of a password that nobody types on purpose, "" for nothing.
func TrailingSpace(password string) string {
	trimmed := strings.TrimRightFunc(password, unicode.IsSpace)
	switch {
	case trimmed == password:
		return ""
	case strings.HasSuffix(password, "\n"):
		return "a newline"
	default:
		return "white space"
	}
}

// PasswordKeyError names the password's key with a problem.
func PasswordKeyError(key, problem string) error {
	if key == "" {
		key = work.DefaultPasswordKey
	}
	return &KeyError{Object: passwordObject, Key: key, Problem: problem}
}

// GoodPassword refuses to create a repository with a password that ends in white space: nobody would think of it when
// typing the password years later.
func GoodPassword(key, password string) error {
	if space := TrailingSpace(password); space != "" {
		return PasswordKeyError(key, "ends in "+space+"; a repository is not created with it, "+
			"because nobody would think of it when typing the password years later")
	}
	return nil
}
