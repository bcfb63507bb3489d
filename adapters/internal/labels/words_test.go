package labels_test

import (
	"testing"

	"github.com/verifyd/verifyd/adapters/internal/labels"
)

func TestNamesAreWords(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "_": "_", "date_of_birth": "Date of birth", "pan": "PAN", "id_number": "ID number", "customer_ip": "Customer IP",
		"fullName": "fullName", "Über_x": "Über_x", "नाम": "नाम",
	} {
		if got := labels.InWords(name); got != want {
			t.Errorf("%q in words is %q, want %q", name, got, want)
		}
	}
}
