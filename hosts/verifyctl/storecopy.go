// Copying the data of hosts.

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type storeCopy struct {
	From      string `required:"" placeholder:"DIR|URL" help:"Data folder, or PostgreSQL as postgres://user@host:5432/name. Set PGPASSWORD instead of a password in the URL: flags are visible in process lists."`
	To        string `required:"" placeholder:"DIR|URL" help:"Where the copy goes: a folder or a database with no data, or with a part of this copy."`
	SearchKey string `placeholder:"SECRET" variable:"VERIFYD_SEARCH_KEY" help:"Key of the search for people of the hosts, to keep it in a data folder. Use the variable."`
	jsonFlag
}

// Run copies and verifies, and prints a table with a row for each kind of data.
func (c storeCopy) Run(ctx context.Context, s *session) error {
	if sameFolder(c.From, c.To) {
		return errors.New("--from and --to are the same folder")
	}
	if sameDatabase(c.From, c.To) {
		return errors.New("--from and --to are the same database")
	}
	from, err := openSource(ctx, c.From)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { _ = from.close() }() // it was only read
	// What refuses the source does so before there is a target.
	if err := from.refuseHosts(ctx); err != nil {
		return err
	}
	if _, _, err := c.searchKey(ctx, from); err != nil {
		return err
	}
	to, err := openTarget(ctx, c.To, s.clock.Now(), from.level)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	rows, err := c.copy(ctx, s, from, to, func(context.Context) error { return nil })
	if err = errors.Join(err, to.close()); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted: the same command continues the copy")
		}
		return err
	}
	if err := printList(s, c.JSON, shortened(rows, c.JSON), "DATA SOURCE TARGET SOURCE_SHA256 TARGET_SHA256 RESULT"); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Result != copyVerified {
			s.note("the target is not a copy of the source, and no host opens it: give the same command again, or empty the target")
			return errProblems
		}
	}
	for _, advice := range append(from.left(to), to.next()) {
		s.note(advice)
	}
	return nil
}

// copy copies, and calls last before the target counts as complete.
func (c storeCopy) copy(ctx context.Context, s *session, from, to *copySide, last func(ctx context.Context) error) ([]copyRow, error) {
	if err := to.refuseHosts(ctx); err != nil {
		return nil, err
	}
	if from.level > to.level {
		return nil, verification.Conflict("target", fmt.Sprintf(
			"it has level %d, and the source has level %d: run verifyctl store upgrade for the target first", to.level, from.level))
	}
	runs, err := from.runs(ctx, s.clock.Now())
	if err != nil {
		return nil, err
	}
	var keys []copyRow
	progress := newCopyProgress(s)
	compared, err := storecopy.Copy(ctx, from, to, storecopy.Options{
		Source: from.name, Now: s.clock.Now(), Runs: runs, Report: progress.report,
		Also: func(ctx context.Context) (err error) {
			if err = from.refuseHosts(ctx); err == nil {
				keys, err = c.copyBeside(ctx, from, to)
			}
			if err == nil {
				err = last(ctx)
			}
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	var rows []copyRow
	for _, r := range compared {
		rows = append(rows, newCopyRow(r))
	}
	return append(rows, keys...), nil
}

// copyBeside copies what is beside the records.
func (c storeCopy) copyBeside(ctx context.Context, from, to *copySide) (rows []copyRow, err error) {
	if rows, err = c.copyKeys(ctx, from, to); err == nil {
		rows, err = copyFiles(ctx, from, to, rows)
	}
	if err == nil {
		rows, err = copyAccepted(ctx, from, to, rows)
	}
	if err == nil {
		rows, err = copySignOuts(ctx, from, to, rows)
	}
	return rows, err
}

// copyKeys copies the signing keys, and the key of the search or its check.
func (c storeCopy) copyKeys(ctx context.Context, from, to *copySide) (rows []copyRow, err error) {
	signing, err := from.keys.signing(ctx)
	if err != nil {
		return nil, err
	}
	if signing = bytes.TrimSpace(signing); len(signing) > 0 {
		kept, err := to.keys.keepSigning(ctx, signing)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(bytes.TrimSpace(kept), signing) {
			return nil, verification.Conflict("target", "it has other signing keys than the source: remove them, or use an empty target")
		}
		rows = append(rows, newCopyRow(storecopy.Row{Kind: "signing keys", Source: sumOf(signing), Target: sumOf(bytes.TrimSpace(kept))}))
	}
	key, check, err := c.searchKey(ctx, from)
	if err != nil || check == "" {
		return rows, err
	}
	kept, err := to.keys.keepSearch(ctx, key, check)
	switch {
	case err != nil || kept == "":
		return rows, err
	case kept != check:
		return nil, verification.Conflict("target", "it has another search key than the source: remove it, or use an empty target")
	}
	return append(rows, newCopyRow(storecopy.Row{Kind: "search key", Source: sumOf([]byte(check)), Target: sumOf([]byte(kept))})), nil
}

// searchKey returns the search key of the source, nil if it is not known, and its check, empty for
// none.
func (c storeCopy) searchKey(ctx context.Context, from *copySide) (key []byte, check string, err error) {
	key, check, err = from.keys.search(ctx)
	if err == nil && check != "" && key == nil && c.SearchKey != "" {
		if key = []byte(c.SearchKey); cli.SearchCheck(key) != check {
			err = errors.New("--search-key (VERIFYD_SEARCH_KEY): it is not the search key of the hosts of the source")
		}
	}
	return key, check, err
}

// copyFiles copies the record of which bootstrap files were applied, the oldest first, and
// appends its row.
func copyFiles(ctx context.Context, from, to *copySide, rows []copyRow) ([]copyRow, error) {
	files, err := from.files.AppliedFiles(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := to.files.AppliedFiles(ctx)
	if err != nil {
		return nil, err
	}
	missing := len(files) - len(kept)
	if missing < 0 || sumOfFiles(kept) != sumOfFiles(files[missing:]) {
		return nil, verification.Conflict("target", "it has other bootstrap files than the source: use an empty target")
	}
	for _, f := range slices.Backward(files[:missing]) {
		if err := to.files.SaveAppliedFile(ctx, f); err != nil {
			return nil, err
		}
	}
	if kept, err = to.files.AppliedFiles(ctx); err != nil || len(files) == 0 {
		return rows, err
	}
	row := storecopy.Row{Kind: "bootstrap files", Source: sumOfFiles(files), Target: sumOfFiles(kept)}
	if row.Source != row.Target {
		row.Difference = "not the same in both"
	}
	return append(rows, newCopyRow(row)), nil
}

func sumOfFiles(files []pgadmin.AppliedFile) storecopy.Sum {
	var all []byte
	for _, f := range files {
		all = append(append(append(all, f.Hash...), f.Names...), '\n')
	}
	sum := sumOf(all)
	sum.Count = len(files)
	return sum
}

func sumOf(raw []byte) storecopy.Sum {
	digest := sha256.Sum256(raw)
	return storecopy.Sum{Count: 1, Digest: hex.EncodeToString(digest[:])}
}

const copyVerified = "verified"

// copyRow is a row of the table.
type copyRow struct {
	Data         store.RecordKind `json:"data"`
	Source       int              `json:"source"`
	Target       int              `json:"target"`
	SourceSHA256 string           `json:"source_sha256"`
	TargetSHA256 string           `json:"target_sha256"`
	Result       string           `json:"result"`
}

func newCopyRow(r storecopy.Row) copyRow {
	row := copyRow{r.Kind, r.Source.Count, r.Target.Count, r.Source.Digest, r.Target.Digest, copyVerified}
	if r.Difference != "" {
		row.Result = r.Difference
	}
	return row
}

// shortened returns rows whose digests fit in a table.
func shortened(rows []copyRow, asJSON bool) []copyRow {
	const digits = 16
	if asJSON {
		return rows
	}
	return mapSlice(rows, func(r copyRow) copyRow {
		r.SourceSHA256, r.TargetSHA256 = r.SourceSHA256[:digits], r.TargetSHA256[:digits]
		return r
	})
}

// reportInterval is the time between two lines about the progress.
const reportInterval = 2 * time.Second

// copyProgress prints how far a copy is.
type copyProgress struct {
	s           *session
	verb        string
	kind        store.RecordKind
	target      bool
	began, last time.Time
}

func newCopyProgress(s *session) *copyProgress { return &copyProgress{s: s, verb: "copied"} }

func (c *copyProgress) report(p storecopy.Progress) {
	now := c.s.clock.Now()
	if p.Kind != c.kind || p.Target != c.target {
		c.kind, c.target, c.began, c.last = p.Kind, p.Target, now, now
	}
	if now.Sub(c.last) < reportInterval {
		return
	}
	c.last = now
	rate := float64(p.Records) / now.Sub(c.began).Seconds()
	line := fmt.Sprintf("%s %d", c.verb, p.Records)
	if p.Target {
		line = fmt.Sprintf("verified %d", p.Records)
	}
	if p.Total > 0 {
		line += fmt.Sprintf(" of %d", p.Total)
	}
	line += fmt.Sprintf(" %s, %.0f a second", p.Kind, rate)
	if p.Total > 0 && rate > 0 {
		left := time.Duration(float64(max(0, p.Total-p.Records)) / rate * float64(time.Second))
		line += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	c.s.note(line)
}
