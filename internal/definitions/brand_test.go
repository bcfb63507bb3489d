package definitions_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
)

// readBrand reads a tenant with these fields and the file logo beside it.
func readBrand(t *testing.T, fields string, logo []byte) (verification.Tenant, error) {
	t.Helper()
	raw := "tenants:\n  - id: 0191f3c0-0000-7000-8000-00000000000a\n    name: Acme\n    " + fields + "\n"
	b, err := definitions.ReadBootstrap("etc/b.yaml", []byte(raw), func(path string) ([]byte, error) {
		if path != "etc/logo" {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return logo, nil
	}, noVariables)
	if err != nil {
		return verification.Tenant{}, err
	}
	return b.Tenants[0].Tenant, nil
}

func logoOf(t *testing.T, kind string, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	picture := image.NewGray(image.Rect(0, 0, width, height))
	err := png.Encode(&b, picture)
	if kind == "jpeg" {
		b.Reset()
		err = jpeg.Encode(&b, picture, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestALogoIsReadBesideTheFile(t *testing.T) {
	for kind, ending := range map[string]string{"png": ".png", "jpeg": ".jpeg"} {
		content := logoOf(t, kind, 16, 2000)
		tenant, err := readBrand(t, "logo: logo", content)
		if err != nil {
			t.Fatal(err)
		}
		if l := tenant.Logo; !bytes.Equal(l.Content, content) || !strings.HasSuffix(l.Name, ending) || l.MediaType() != "image/"+kind {
			t.Errorf("the logo is %s of %d bytes, want a %s of %d", l.Name, len(l.Content), kind, len(content))
		}
	}
}

func TestAFileThatIsNotALogoIsReportedAtItsName(t *testing.T) {
	whole := logoOf(t, "png", 20, 20)
	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"too small":    {logoOf(t, "png", 15, 20), "the image must be 16 to 2000 pixels wide and high"},
		"too wide":     {logoOf(t, "jpeg", 2001, 20), "the image must be 16 to 2000 pixels wide and high"},
		"too large":    {append(bytes.Clone(whole), make([]byte, verification.MaxLogoBytes)...), "the file must be at most 128 KiB"},
		"SVG":          {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "the file must be a PNG or a JPEG"},
		"empty":        {nil, "the file must be a PNG or a JPEG"},
		"no header":    {whole[:20], "the image cannot be read"},
		"cut":          {whole[:len(whole)-20], "the image cannot be read"},
		"another kind": {append([]byte("\xff\xd8\xff"), whole...), "the image cannot be read"},
	} {
		_, err := readBrand(t, "logo: logo", tt.content)
		if !errors.Is(err, verification.ErrInvalid) || fmt.Sprint(err) != "etc/b.yaml:4:5: tenants[0].logo: "+tt.want {
			t.Errorf("%s: error = %v, want %s", name, err, tt.want)
		}
	}
	if _, err := readBrand(t, "logo: other.png", nil); fmt.Sprint(err) != "etc/b.yaml:4:5: tenants[0].logo: open etc/other.png: file does not exist" {
		t.Errorf("error = %v", err)
	}
}

func TestTheLinksOfATenantAreChecked(t *testing.T) {
	tenant, err := readBrand(t, `links: {privacy: "https://acme.example/privacy?a=b#c", help: "http://help.example", legal: "https://acme.example/legal", phone: "\u202a+91 (22)\u00a098765-432"}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := verification.PageLinks{Privacy: "https://acme.example/privacy?a=b#c", Help: "http://help.example", Legal: "https://acme.example/legal", Phone: "+91 (22) 98765-432"}
	if diff := cmp.Diff(want, tenant.Links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	_, err = readBrand(t, `links: {privacy: "javascript:alert(1)", help: "https://me:secret@acme.example", legal: "/legal", phone: "call us"}`, nil)
	const at = "etc/b.yaml:4:"
	for _, want := range []string{
		at + "13: tenants[0].links.privacy: must be an absolute http(s) URL without user information", "tenants[0].links.help: must be an absolute http(s) URL without user information",
		"tenants[0].links.legal: must be an absolute http(s) URL without user information", "tenants[0].links.phone: must be a phone number",
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}
