// Makes the document with maroto, and the same bytes for the same report.

package pdf

import (
	"bytes"
	"errors"
	"sync"
	"time"

	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/components/col"
	"github.com/johnfercher/maroto/v2/pkg/components/page"
	"github.com/johnfercher/maroto/v2/pkg/components/row"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"github.com/phpdave11/gofpdf"

	"github.com/verifyd/verifyd/adapters/pdf/typeset"
	"github.com/verifyd/verifyd/verification"
)

// sortCatalog makes gofpdf write fonts in the order of their names. It writes
// them in the order of a map otherwise, and maroto does not pass the setting of
// one document on.
//
//nolint:gochecknoglobals // the setting is the process's: it is made once, before the first document
var sortCatalog = sync.OnceFunc(func() { gofpdf.SetDefaultCatalogSort(true) })

// generate draws the pages.
func generate(r verification.Report, pages [][]*drawing, subsets []*typeset.Subset, compress bool) ([]byte, error) {
	made := r.Run.CompletedAt
	if made.IsZero() {
		made = r.Run.StartedAt
	}
	if made.IsZero() {
		made = time.Unix(0, 0) // gofpdf takes the zero time for none, and asks the clock
	}
	made = made.UTC()
	fonts := make([]*entity.CustomFont, len(subsets))
	for i, s := range subsets {
		fonts[i] = &entity.CustomFont{Family: s.Name(), Bytes: s.TrueType()}
	}
	m := maroto.New(config.NewBuilder().
		WithDimensions(pageWidth, pageHeight).
		WithLeftMargin(marginSide).WithRightMargin(marginSide).
		WithTopMargin(marginTop).WithBottomMargin(marginBottom).
		WithCustomFonts(fonts).
		WithDefaultFont(&props.Font{Family: subsets[0].Name(), Size: styleBody().Size}).
		WithCompression(compress).
		WithTitle("Verification report", false).
		WithCreator("verifyd", false).
		WithCreationDate(made).
		Build())
	for _, blocks := range pages {
		p := page.New()
		for _, b := range blocks {
			p.Add(row.New(b.height).Add(col.New().Add(newComponent(b))))
		}
		m.AddPages(p)
	}
	doc, err := m.Generate()
	if err != nil {
		return nil, err
	}
	out := doc.GetBytes()
	if n := bytes.Count(out, []byte("/Type /Page\n")); n != len(pages) {
		return nil, errors.New("the library broke a page by itself")
	}
	return out, setModified(out, made)
}

var _ core.Component = component{}

// setModified writes the moment over the one at which gofpdf finished: it has
// this date only for the whole process. It has the same length.
func setModified(doc []byte, made time.Time) error {
	mark := []byte("/ModDate (D:")
	const form = "20060102150405"
	at := bytes.LastIndex(doc, mark)
	if at < 0 || at+len(mark)+len(form) > len(doc) {
		return errors.New("the document has no date of modification")
	}
	copy(doc[at+len(mark):], made.Format(form))
	return nil
}
