// The fallback: a headless shell from npm.

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

	"github.com/verifyd/verifyd/internal/rig/npm"
)

// chromium is a compressed Chromium with a font and the libraries that a minimal
// Linux lacks.
var chromium = npm.Package{Name: "@sparticuz/chromium", Version: "153.0.0"} //nolint:gochecknoglobals // a constant

// unpack runs the package's own unpacking, which writes to the folder for temporary
// files.
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

// writeFonts writes the font configuration with the package's font first. Without a
// font the browser crashes.
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
