// The browser of last resort: a headless shell from npm.

package browser

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/verifyd/verifyd/internal/npm"
)

// chromium holds a compressed Chromium, the libraries that a minimal Linux does
// not have, and a font.
var chromium = npm.Package{Name: "@sparticuz/chromium", Version: "153.0.0"} //nolint:gochecknoglobals // a constant

// unpack lets the package unpack its files. It does so into the folder for
// temporary files.
const unpack = `import chromium, { inflate } from "@sparticuz/chromium";
await inflate("node_modules/@sparticuz/chromium/bin/al2023.tar.br");
await chromium.executablePath();`

func install(ctx context.Context) (program, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return program{}, fmt.Errorf("there is no package for %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return program{}, err
	}
	i, err := npm.Find()
	if err != nil {
		return program{}, err
	}
	return installWith(ctx, i, node)
}

func installWith(ctx context.Context, i npm.Installer, node string) (program, error) {
	dir, err := i.Install(ctx, chromium, func(ctx context.Context, dir string) error {
		c := exec.CommandContext(ctx, node, "--input-type=module", "--eval", unpack)
		c.Dir, c.Env = dir, append(os.Environ(), "TMPDIR="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("unpack: %w: %.500s", err, out)
		}
		return writeFonts(dir)
	})
	if err != nil {
		return program{}, err
	}
	libraries := filepath.Join(dir, "al2023", "lib")
	if more := os.Getenv("LD_LIBRARY_PATH"); more != "" {
		libraries += ":" + more
	}
	return program{
		path:  filepath.Join(dir, "chromium"),
		env:   []string{"LD_LIBRARY_PATH=" + libraries, "FONTCONFIG_FILE=" + fonts(dir)},
		shell: true,
	}, nil
}

func fonts(dir string) string { return filepath.Join(dir, "fonts.conf") }

// writeFonts writes the configuration of the fonts, with the one of the package
// first: the browser crashes if it finds no font.
func writeFonts(dir string) error {
	var b strings.Builder
	b.WriteString("<fontconfig>\n")
	for _, entry := range [][2]string{
		{"dir", filepath.Join(dir, "fonts")},
		{"dir", "/usr/share/fonts"},
		{"dir", "/usr/local/share/fonts"},
		{"cachedir", filepath.Join(dir, "fonts-cache")},
	} {
		fmt.Fprintf(&b, "<%s>", entry[0])
		if err := xml.EscapeText(&b, []byte(entry[1])); err != nil {
			return err
		}
		fmt.Fprintf(&b, "</%s>\n", entry[0])
	}
	b.WriteString("</fontconfig>\n")
	return os.WriteFile(fonts(dir), []byte(b.String()), 0o644)
}
