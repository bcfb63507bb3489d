// The audit trail on disk: a snapshot has its entries in blocks, which are read when somebody asks.

package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// auditBytes is how much memory the audit trail may need before a snapshot moves it to the disk, or an eighth of the last
// snapshot if that is more.
const auditBytes = 8 << 20

// moveAuditWhenDue has a snapshot taken when much of the audit trail is in memory.
func (s *Store) moveAuditWhenDue() {
	if memstore.AuditInMemory(s.memory) < s.auditDue.Load() {
		return
	}
	select {
	case s.writer.due <- struct{}{}:
	default:
	}
}

// auditBlock is a memstore.AuditBlock with its entries, which are decoded when somebody asks.
type auditBlock struct {
	Tenant  verification.TenantID `json:"tenant"`
	Reads   bool                  `json:"reads"`
	First   string                `json:"first"`
	Last    string                `json:"last"`
	Oldest  time.Time             `json:"oldest"`
	Newest  time.Time             `json:"newest"`
	Count   int                   `json:"count"`
	Entries jsontext.Value        `json:"entries"` // without their tenant

	file blockFile // that has the record; zero for the record itself
}

// blockFile is where the frame of a block is.
type blockFile struct {
	disk   disk
	name   string
	offset int64
	size   int
}

// at returns the block without its entries, which are in a file.
func (b auditBlock) at(f blockFile) auditBlock {
	b.Entries, b.file = nil, f
	return b
}

// raw returns the JSON of the entries.
func (b auditBlock) raw() (jsontext.Value, error) {
	if b.file.size == 0 {
		return b.Entries, nil
	}
	f, err := b.file.disk.Open(b.file.name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", b.file.name, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	raw := make([]byte, b.file.size)
	if at, ok := f.(io.ReaderAt); ok {
		_, err = at.ReadAt(raw, b.file.offset)
	} else if _, err = io.CopyN(io.Discard, f, b.file.offset); err == nil {
		_, err = io.ReadFull(f, raw)
	}
	var read record
	if err == nil {
		var of frame
		if of, err = readFrame(raw); err == nil {
			read, err = decode(of)
		}
	}
	saved, ok := read.(auditBlock)
	if err == nil && (!ok || saved.Tenant != b.Tenant || saved.First != b.First) {
		err = errors.New("it has no such block of the audit trail")
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read at offset %d: %w; %s", b.file.name, b.file.offset, err, advice)
	}
	return saved.Entries, nil
}

// Load implements memstore.AuditContent.
func (b auditBlock) Load() (entries []store.AuditEntry, err error) {
	raw, err := b.raw()
	if err == nil {
		err = json.Unmarshal(raw, &entries, json.RejectUnknownMembers(true), jsonv1.OmitEmptyWithLegacySemantics(true))
	}
	if err != nil {
		return nil, err
	}
	if len(entries) != b.Count {
		return nil, fmt.Errorf("a block of the audit trail has %d entries, and should have %d; %s", len(entries), b.Count, advice)
	}
	for i := range entries {
		entries[i].Tenant = b.Tenant
	}
	return entries, nil
}

func (b auditBlock) apply(ctx context.Context, m *memstore.Store) error {
	if b.file.size == 0 { // it stays in memory, so it is examined at once
		if _, err := b.Load(); err != nil {
			return err
		}
	}
	return memstore.AddAuditBlock(ctx, m, b.block())
}

func (b auditBlock) block() memstore.AuditBlock {
	return memstore.AuditBlock{
		Tenant: b.Tenant, Reads: b.Reads, First: b.First, Last: b.Last, Oldest: b.Oldest, Newest: b.Newest, Entries: b.Count, Bytes: b.file.size, Content: b,
	}
}

// movedAudit collects the blocks of a snapshot.
type movedAudit struct {
	disk   disk
	name   string // of the snapshot
	blocks []memstore.AuditBlock
}

// entries returns the records of a snapshot with the audit trail.
func (m *movedAudit) entries(d *memstore.Dump) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for part, err := range d.AuditParts() {
			var b auditBlock
			if err == nil {
				b, err = blockOf(part)
			}
			wrote := func(offset int64, size int) {
				m.blocks = append(m.blocks, b.at(blockFile{m.disk, m.name, offset, size}).block())
			}
			if !yield(entry{kindAuditBlock, b, wrote}, err) || err != nil {
				return
			}
		}
	}
}

// blockOf returns the block with a part of the trail.
func blockOf(part memstore.AuditPart) (auditBlock, error) {
	if len(part.Entries) == 0 {
		b, ok := part.Block.Content.(auditBlock)
		if !ok {
			return b, fmt.Errorf("journal: unknown block %T", part.Block.Content)
		}
		raw, err := b.raw()
		b.Entries, b.file = raw, blockFile{}
		return b, err
	}
	of := memstore.NewAuditBlock(part.Entries)
	b := auditBlock{Tenant: of.Tenant, Reads: of.Reads, First: of.First, Last: of.Last, Oldest: of.Oldest, Newest: of.Newest, Count: of.Entries}
	entries := make([]store.AuditEntry, len(part.Entries))
	for i, e := range part.Entries {
		e.Tenant = ""
		entries[i] = e
	}
	var err error
	b.Entries, err = json.Marshal(entries, json.OmitZeroStructFields(true), jsonv1.OmitEmptyWithLegacySemantics(true), json.Deterministic(true))
	return b, err
}
