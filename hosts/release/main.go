// Command release builds the programs, packages and image of a release into a folder,
// with the same bytes each time.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// allTargets are the systems that a release is for.
const allTargets = "linux/amd64,linux/arm64,darwin/arm64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what one call builds.
type release struct {
	version string // without a v
	commit  string
	date    time.Time // of the commit; of every file of the release
	source  string    // the folder of the repository
	out     string
	targets []target
	stderr  io.Writer
}

// target is a system that programs are built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

// run builds a release and prints its files.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	version := flags.String("version", "", "the version, such as 0.1.0")
	source := flags.String("source", ".", "the folder of the repository")
	out := flags.String("out", "dist", "the folder of the release, which is emptied")
	commit := flags.String("commit", "", "the commit (default: as git says)")
	date := flags.String("date", "", "the date of the commit, as in RFC 3339 (default: as git says)")
	targets := flags.String("targets", allTargets, "the systems")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := release{version: strings.TrimPrefix(*version, "v"), source: *source, out: *out, stderr: stderr}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`).MatchString(r.version) {
		return fmt.Errorf("-version %q: must be like 0.1.0 or 0.1.0-rc.1", *version)
	}
	for t := range strings.SplitSeq(*targets, ",") {
		system, arch, ok := strings.Cut(t, "/")
		if !ok {
			return fmt.Errorf("-targets %q: must be like %s", *targets, allTargets)
		}
		r.targets = append(r.targets, target{system, arch})
	}
	if err := r.identify(ctx, *commit, *date); err != nil {
		return err
	}
	return r.build(ctx, stdout)
}

// identify takes commit and date from git, unless they are given. A commit whose files were
// changed ends with "+".
func (r *release) identify(ctx context.Context, commit, date string) error {
	if commit == "" || date == "" {
		said, err := r.git(ctx, "log", "-1", "--format=%H %cI")
		if err != nil {
			return fmt.Errorf("give -commit and -date, or release from a checkout: %w", err)
		}
		changed, err := r.git(ctx, "status", "--porcelain")
		if err != nil {
			return err
		}
		hash, at, _ := strings.Cut(said, " ")
		if hash = hash[:12]; changed != "" {
			hash += "+"
		}
		commit, date = cmp.Or(commit, hash), cmp.Or(date, at)
	}
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	r.commit, r.date = commit, at.UTC()
	return nil
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	folder, err := filepath.Abs(r.source)
	if err != nil {
		return "", err
	}
	// A checkout of another user, as in a container, is read all the same.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=" + folder, "-C", folder}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// build makes every file of the release.
func (r *release) build(ctx context.Context, stdout io.Writer) error {
	work, err := os.MkdirTemp("", "verifyd-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // only what was built on the way
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	var built []programs
	for _, t := range r.targets {
		p, err := r.compile(ctx, work, t)
		if err != nil {
			return err
		}
		built = append(built, p)
	}
	notices, err := r.describe(ctx, built)
	if err != nil {
		return err
	}
	for _, p := range built {
		if err := r.archive(p, notices); err != nil {
			return err
		}
		if p.target.os == "linux" {
			if err := r.packages(p, notices); err != nil {
				return err
			}
		}
	}
	if err := r.image(work, built, notices); err != nil {
		return err
	}
	if err := r.sums(); err != nil {
		return err
	}
	return r.list(stdout, built)
}

// sums writes the checksums of all files, as sha256sum --check reads them.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// list prints the sizes of programs and files.
func (r *release) list(stdout io.Writer, built []programs) error {
	fmt.Fprintf(stdout, "verifyd %s, commit %s of %s\n", r.version, r.commit, r.date.Format(time.RFC3339))
	files, err := filepath.Glob(filepath.Join(r.out, "*"))
	if err != nil {
		return err
	}
	for _, p := range built {
		files = append(files, p.verifyd, p.verifyctl)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		name := info.Name()
		if filepath.Dir(file) != filepath.Clean(r.out) {
			name = filepath.Base(filepath.Dir(file)) + " " + name
		}
		fmt.Fprintf(stdout, "%7.1f MB  %s\n", float64(info.Size())/1e6, name)
	}
	return nil
}
