// Settings and signing keys.

package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/verifyd/verifyd/adapters/token"

	"github.com/verifyd/verifyd/hosts/internal/cli"
)

func TestASettingNamesItsFlagAndItsVariable(t *testing.T) {
	if got := cli.Setting("database-url"); got != "--database-url (VERIFYD_DATABASE_URL)" {
		t.Errorf("Setting = %q", got)
	}
	if err := cli.DatabaseError(errors.New("gone")); err == nil || !strings.HasPrefix(err.Error(), "--database-url (VERIFYD_DATABASE_URL): ") {
		t.Errorf("DatabaseError = %v, want the setting in it", err)
	}
}

func TestAVariableMayEndWithALineBreak(t *testing.T) {
	var given struct{ URL string }
	parser, err := kong.New(&given, kong.Resolvers(cli.Resolver(func(f *kong.Flag) string {
		if f.Name == "url" {
			return "postgres://host/name \r\n"
		}
		return ""
	})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(nil); err != nil || given.URL != "postgres://host/name" {
		t.Errorf("the setting is %q, %v, want it without the line break", given.URL, err)
	}
}

func TestAPublicURLWithAPasswordIsNotRepeated(t *testing.T) {
	for _, u := range []string{"https://user:s3cret@host", "ftp://s3cret@host/"} {
		if err := cli.CheckPublicURL(u); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "password") {
			t.Errorf("CheckPublicURL(%q) = %v, want an error about the password without it", u, err)
		}
	}
}

func TestASecretIsReadFromItsVariableOrItsFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"BOTH": "file", "FILE": " from a file\r\n", "EMPTY": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"VERIFYD_SECRET_BOTH": "variable", "VERIFYD_SECRET_VARIABLE": " v\n"}
	for _, tt := range []struct{ dir, name, want string }{
		{dir, "BOTH", "variable"},
		{dir, "VARIABLE", " v"},
		{dir, "FILE", " from a file"},
		{dir, "EMPTY", ""},
		{dir, "NONE", ""},
		{"", "BOTH", "variable"},
		{"", "FILE", ""},
	} {
		secret, err := cli.Secrets(func(name string) string { return vars[name] }, tt.dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := secret(tt.name); got != tt.want || ok != (tt.want != "") {
			t.Errorf("secret %s with the folder %q = %q, %t, want %q", tt.name, tt.dir, got, ok, tt.want)
		}
	}
	for _, wrong := range []string{filepath.Join(dir, "FILE"), filepath.Join(dir, "NONE")} {
		if _, err := cli.Secrets(os.Getenv, wrong); err == nil {
			t.Errorf("Secrets of the folder %s = nil, want an error", wrong)
		}
	}
}

// keySet is a database in memory.
type keySet struct{ raw []byte }

func (s *keySet) SigningKeys(_ context.Context, newSet func() ([]byte, error)) (_ []byte, err error) {
	if s.raw == nil {
		s.raw, err = newSet()
	}
	return s.raw, err
}

func TestKeysAreReadFromAFileAndADatabase(t *testing.T) {
	var s keySet
	stored, err := token.SharedKeys(t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, s.raw, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := cli.ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := stored.PrivateJWKS()
	two, _ := read.PrivateJWKS()
	if string(one) != string(two) {
		t.Error("the file has other keys than the database")
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.ReadKeys(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("ReadKeys = %v, want an error that names the file", err)
	}
	if _, err := cli.ReadKeys(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ReadKeys = %v, want that the file does not exist", err)
	}
}
