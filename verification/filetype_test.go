// Tests of file types.

package verification_test

import (
	"testing"

	"github.com/verifyd/verifyd/verification"
)

func TestAFieldTakesTheFileTypesItLists(t *testing.T) {
	jpeg, ok := verification.FileTypeOf("image/jpeg")
	pdf, also := verification.FileTypeOf("application/pdf")
	if _, known := verification.FileTypeOf("image/gif"); !ok || !also || known || !jpeg.Image() || pdf.Image() {
		t.Fatalf("types %+v and %+v, gif known: %t", jpeg, pdf, known)
	}
	for _, c := range []struct {
		accept    []string
		jpeg, pdf bool
	}{
		{nil, true, true},
		{[]string{"image/*"}, true, false},
		{[]string{" IMAGE/JPG "}, true, false},
		{[]string{"image/png", "application/*"}, false, true},
		{[]string{"*/*"}, true, true},
		{[]string{"image/gif"}, false, false},
	} {
		if jpeg.In(c.accept) != c.jpeg || pdf.In(c.accept) != c.pdf {
			t.Errorf("%q takes a JPEG: %t and a PDF: %t, want %t and %t", c.accept, jpeg.In(c.accept), pdf.In(c.accept), c.jpeg, c.pdf)
		}
	}
}
