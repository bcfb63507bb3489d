// Lists that are read page by page while their rows change.

package client

import (
	"net/url"
	"strconv"

	"github.com/verifyd/verifyd/adapters/apitypes"
)

// maxPage is the longest page that a host returns.
const maxPage = 200

func pageQuery(limit, offset int) url.Values {
	q := url.Values{}
	setNumber(q, "limit", limit)
	setNumber(q, "offset", offset)
	return q
}

// setNumber leaves 0 out, which is the default of the host.
func setNumber(q url.Values, name string, value int) {
	if value != 0 {
		q.Set(name, strconv.Itoa(value))
	}
}

// list reads the rows of a list whose order does not change, although rows are added and removed
// between two pages. Pages overlap by a row: if a page does not begin with a row that was seen before,
// rows have left the list, others have moved up, and an earlier page is read.
type list[T any, ID comparable] struct {
	limit int // of a page, at least 2
	page  func(limit, offset int) (apitypes.Page[T], error)
	id    func(T) ID
	// narrow leaves out rows before this one, if it can, and reports whether it did. It spares the host
	// large offsets. It may leave rows of the same page in the list.
	narrow func(last T) bool
}

// each yields each row once, and ends with the first error.
func (l list[T, ID]) each(yield func(T, error) bool) {
	seen := map[ID]bool{} // the rows at the beginning of the list, as far as they are read
	for offset := 0; ; {
		page, err := l.page(l.limit, offset)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		if offset > 0 && (len(page.Data) == 0 || !seen[l.id(page.Data[0])]) {
			offset /= 2
			continue
		}
		for _, row := range page.Data {
			if id := l.id(row); !seen[id] {
				seen[id] = true
				if !yield(row, nil) {
					return
				}
			}
		}
		if len(page.Data) < l.limit {
			return
		}
		if l.narrow(page.Data[len(page.Data)-1]) {
			offset = 0
			clear(seen)
			for _, row := range page.Data {
				seen[l.id(row)] = true
			}
		} else {
			offset += len(page.Data) - 1
		}
	}
}
