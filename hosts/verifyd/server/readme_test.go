// Test of the commands of the quickstart against the demo.

package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// example is a command of a page and what it prints.
type example struct{ command, output string }

// examples returns the commands of the console blocks of a section.
func examples(t *testing.T, page, section string) (all []example) {
	t.Helper()
	_, text, found := strings.Cut(page, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if !found {
		t.Fatalf("there is no section %s", section)
	}
	for i, block := range strings.Split(text, "```") {
		body, console := strings.CutPrefix(block, "console\n")
		if i%2 == 0 || !console {
			continue
		}
		for line := range strings.Lines(body) {
			if command, is := strings.CutPrefix(line, "$ "); is {
				all = append(all, example{command: strings.TrimSpace(command)})
			} else {
				all[len(all)-1].output += line
			}
		}
	}
	return all
}

// shell is a shell that prints its output and its errors in order.
type shell struct {
	t     *testing.T
	stdin io.Writer
	lines chan string
}

func startShell(t *testing.T, folder string) *shell {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "bash")
	cmd.Dir = folder
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("the commands of the quickstart need bash: %v", err)
	}
	_ = write.Close()
	s := &shell{t: t, stdin: stdin, lines: make(chan string)}
	go func() {
		defer close(s.lines)
		for scanner := bufio.NewScanner(read); scanner.Scan(); {
			s.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		for range s.lines { // until the shell ends
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the shell ended with %v", err)
		}
	})
	return s
}

// run returns what a command prints.
func (s *shell) run(command string) (output string) {
	s.t.Helper()
	const end = "--end-of-the-command--"
	if _, err := fmt.Fprintf(s.stdin, "%s\nprintf '\\n%s\\n'\n", command, end); err != nil {
		s.t.Fatal(err)
	}
	for line := range s.lines {
		if line == end {
			return output
		}
		output += line + "\n"
	}
	s.t.Fatalf("the shell ended in %s:\n%s", command, output)
	return ""
}

// plain returns a text without space and without what differs between two runs.
func plain(text string) string {
	for pattern, name := range map[string]string{
		`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`: "UUID",
		`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`:                               "TIME",
		`/journey/[\w.-]+`:                                              "/journey/...",
		`\s+`:                                                           "",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, name)
	}
	return text
}

// shows reports whether an output is as a page shows it; "..." stands for any text.
func shows(page, output string) bool {
	parts := strings.Split(plain(page), "...")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(plain(output))
}

// follow runs the commands of a section of the quickstart in a shell, on the host at an address, and
// calls before before each. The command make run is left to before. It returns the commands.
func (s *shell) follow(section, api string, before func(command string)) (commands map[string]bool) {
	t := s.t
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "quickstart.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands = map[string]bool{}
	for _, e := range examples(t, string(raw), section) {
		commands[e.command] = true
		before(e.command)
		if e.command == "make run" {
			continue
		}
		// A command that changes nothing is repeated until the vendor has called back.
		repeatable := !strings.Contains(e.command, " -d ")
		for deadline := time.Now().Add(time.Minute); ; {
			output := strings.ReplaceAll(s.run(strings.ReplaceAll(e.command, documented, api)), api, documented)
			if shows(e.output, output) {
				break
			}
			if !repeatable || time.Now().After(deadline) {
				t.Fatalf("%s prints\n%s\nThe quickstart shows\n%s", e.command, output, e.output)
			}
		}
	}
	return commands
}

// documented is the address of the host in the docs.
const documented = "http://127.0.0.1:8080"

func TestTheFirstRunIsAsTheQuickstartShowsIt(t *testing.T) {
	h := serveHost(t, onFolder(newFolder(t)))
	commands := startShell(t, t.TempDir()).follow("A first run", h.api, func(string) {})
	for line := range strings.Lines(h.stderr.String()) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), h.api, documented)
		if command, is := strings.CutPrefix(line, "  "); is && !commands[command] && !strings.HasPrefix(command, documented+"/console") {
			t.Errorf("the host prints a command that the quickstart does not have: %s", command)
		}
	}
}

func TestAKillBeforeEachCommandChangesNothing(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	h, _ := startOn(t, folder, "127.0.0.1:0")
	address := h.API
	bash := startShell(t, filepath.Dir(string(folder)))
	bash.follow("A first run", address, func(string) {
		if err := h.Kill(); err != nil {
			t.Fatal(err)
		}
		h, _ = startOn(t, folder, address)
	})
	bash.follow("Kill it", address, func(command string) { // which kills the host itself
		if command == "make run" {
			<-h.Ended()
			h, _ = startOn(t, folder, address)
		}
	})
}

// A person pastes all commands at once.
func TestThePrintedCommandsWorkAsOneBlock(t *testing.T) {
	h := serveHost(t, nil)
	bash := startShell(t, t.TempDir())
	var block []string
	for line := range strings.Lines(h.stderr.String()) {
		command, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  ")
		if is && !strings.HasPrefix(command, h.api) {
			block = append(block, command)
		}
	}
	got := bash.run(strings.Join(block, "\n"))
	if strings.Contains(got, `{"error"`) || !strings.Contains(got, `"outcome":"refused"`) || !strings.Contains(got, "200 application/pdf") {
		t.Errorf("the commands of the demo print\n%s\nwant no error, a report and the outcome of the verdict", got)
	}
}

func TestTheDemoPrintsANewLinkToTheConsole(t *testing.T) {
	h := serveHost(t, nil)
	h.signIn() // with the first link, which works once
	before := len(h.stderr.String())
	r, err := http.Get(h.api + "/console")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	link := regexp.MustCompile(`http\S+/console/sign-in/link/\S+`).FindString(h.stderr.String()[before:])
	if link == "" {
		t.Fatalf("a visit of the console prints %q, want a link", h.stderr.String()[before:])
	}
	h.signInWith(link)
}

func TestOnlyTheDemoPrintsLinksToTheConsole(t *testing.T) {
	h := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": writeBootstrap(t, "name,aliases\nIvan Fictional Testov,\n")})
	r, err := http.Get(h.api + "/console")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if got := h.stderr.String(); strings.Contains(got, "/sign-in/link/") {
		t.Errorf("a host with a file of its own prints %s", got)
	}
}

func TestAnOutputIsComparedWithWhatAPageShows(t *testing.T) {
	const page = "{\"id\":\"01a20187-8bd0-775c-a9cf-cb1a21f57238\", ... \"status\":\"completed\",\n\"url\":\"http://a/journey/ARBU...\"}\n"
	for output, want := range map[string]bool{
		`{"id":"0191f3c0-0000-7000-8000-00000000000a","x":1,"status":"completed","url":"http://a/journey/x-Y_z"}`:   true,
		`{"id":"0191f3c0-0000-7000-8000-00000000000a","x":1,"status":"failed","url":"http://a/journey/x-Y_z"}`:      false,
		`{"id":"0191f3c0-0000-7000-8000-00000000000a","x":1,"status":"completed","url":"http://a/journey/x","y":1}`: false,
	} {
		if got := shows(page, output); got != want {
			t.Errorf("shows(%s) = %t, want %t", output, got, want)
		}
	}
}
