// Tests of identifiers: what is written for none identifies nobody.

package watchlist_test

import (
	"testing"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

func TestAPlaceholderIdentifiesNobody(t *testing.T) {
	for value, found := range map[string]bool{
		"0000000": false, "000-000-000": false, "777777777": false, "XXXXXX": false, "xxx": false, "P00000000": false, "AB0000000": false, "12345678": false, "123 456 789": false,
		"0123456789": false, "1234567891011": false, "unbekannt": false, "Unknown": false, "not applicable": false, "n.a.": false, "Неизвестно": false,
		"0000001": true, "7777778": true, "P1234567": true, "1234567": true, "12345687": true, "A0000": true, "87654321": true, "X7000000": true, "АБ1234567": true,
	} {
		l := read(t, "id,name,passport\ne,Viktor Zamoyskov,"+value+"\na,Asha Rao,K1029384\nb,Ivan Testov,K1029385\n", watchlist.Format{Type: watchlist.CSV})
		hits := find(t, l, watchlist.Subject{Kind: names.Person, Name: "Kofi Bediasi", Identifiers: []watchlist.Identifier{{Type: watchlist.Passport, Value: value}}})
		if len(hits) == 1 != found {
			t.Errorf("%s: hits %+v, want one %t", value, hits, found)
		}
	}
}
