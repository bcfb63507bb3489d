package offline_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestCardsWithoutAnEndNeverExpire(t *testing.T) {
	for _, tt := range []struct{ mrz, want, expires string }{
		// Spain and Italy write the first day of the year 9999.
		{"IDESPBAA000589599999999R<<<<<<\n4802143F9901018ESP<<<<<<<<<<<1\nESPANOLA<ESPANOLA<<CARMEN<<<<<", "passed", `"expires":"never","format":"TD1"`},
		{"C<ITACA00000AA4<<<<<<<<<<<<<<<\n5002146M9901018ITA<<<<<<<<<<<4\nROSSI<<MARIO<<<<<<<<<<<<<<<<<<", "passed", `"expires":"never","format":"TD1"`},
		// Other dates, states and documents with it were valid until 1999.
		{"IDESPBAA000589599999999R<<<<<<\n4802143F9901029ESP<<<<<<<<<<<5\nESPANOLA<ESPANOLA<<CARMEN<<<<<", "failed expired", `"expires":"date","expiry_date":"1999-01-02"`},
		{"I<UTOD231458907<<<<<<<<<<<<<<<\n4802143F9901018UTO<<<<<<<<<<<4\nERIKSSON<<ANNA<<<<<<<<<<<<<<<<", "failed expired", `"expires":"date","expiry_date":"1999-01-01"`},
		{"P<ESPERIKSSON<<ANNA<<<<<<<<<<<<<<<<<<<<<<<<<\nD231458907ESP4802143F9901018<<<<<<<<<<<<<<<4", "failed expired", `"expires":"date","expiry_date":"1999-01-01"`},
		// Cards may leave the date out, passports may not.
		{"IDMDAB231458903<<<<<<<<<<<<<<<\n4802143F<<<<<<0MDA<<<<<<<<<<<8\nERIKSSON<<ANNA<<<<<<<<<<<<<<<<", "passed", `"expires":"never","format":"TD1"`},
		{"I<UTOERIKSSON<<ANNA<<<<<<<<<<<<<<<<<\nD231458907UTO4802143F<<<<<<0<<<<<<<0", "passed", `"expires":"never","format":"TD2"`},
		{"IDMDAB231458903<<<<<<<<<<<<<<<\n4802143F<<<<<<1MDA<<<<<<<<<<<8\nERIKSSON<<ANNA<<<<<<<<<<<<<<<<", "failed check_digit", `"wrong_check_digits":["expiry_date","composite"]`},
		{"IDMDAB231458903<<<<<<<<<<<<<<<\n4802143F30<<<<0MDA<<<<<<<<<<<8\nERIKSSON<<ANNA<<<<<<<<<<<<<<<<", "failed date", ""},
		{"P<UTOERIKSSON<<ANNA<<<<<<<<<<<<<<<<<<<<<<<<<\nD231458907UTO4802143F<<<<<<0<<<<<<<<<<<<<<<0", "failed date", ""},
	} {
		if got := result(t, "offline.mrz", with{"mrz": tt.mrz}, started()); !strings.HasPrefix(got, tt.want) || !strings.Contains(got, tt.expires) {
			t.Errorf("%s\n got %s\nwant %s ...%s", tt.mrz, got, tt.want, tt.expires)
		}
	}
}

// The first zone is the specimen of the Ministry of the Interior; the runs of these
// tests start on 2026-11-22.
func TestTheFrenchIdentityCard(t *testing.T) {
	card := func(secondLine string) string { return "IDFRAMARTIN<<<<<<<<<<<<<<<<<<<075001\n" + secondLine }
	for _, tt := range []struct{ mrz, want string }{
		{"IDFRABERTHIER<<<<<<<<<<<<<<<<<<<<<<<\n8806923102858CORINNE<<<<<<<6512068F6", `failed expired {"birth_date":"1965-12-06","document_code":"ID","document_number":"880692310285","expires":"computed","expiry_date":"1998-06-30","format":"IDFRA","given_names":"CORINNE","issuing_state":"FRA","nationality":"FRA","sex":"female","surname":"BERTHIER"}`},
		// An adult's card of 2015 is valid for 15 years. The office may have letters.
		{"IDFRAMARTIN<<<<<<<<<<<<<<<<<<<75P001\n150575P123451MAELYS<<GAELLE9007138F0", `passed {"birth_date":"1990-07-13","document_code":"ID","document_number":"150575P12345","expires":"computed","expiry_date":"2030-05-31","format":"IDFRA","given_names":"MAELYS GAELLE",`},
		// A minor's for 10, one of an adult since that day until the Regulation ends it.
		{card("1311750123453JEAN<<LUC<<<<<9711013M4"), `failed expired {"birth_date":"1997-11-01","document_code":"ID","document_number":"131175012345","expires":"computed","expiry_date":"2023-11-30"`},
		{card("1611750123452JEAN<<LUC<<<<<9811027M8"), `passed {"birth_date":"1998-11-02","document_code":"ID","document_number":"161175012345","expires":"computed","expiry_date":"2026-11-30"`},
		{card("1611750123452JEAN<<LUC<<<<<9811016M0"), `passed {"birth_date":"1998-11-01","document_code":"ID","document_number":"161175012345","expires":"computed","expiry_date":"2031-08-03"`},
		// Cards since 2004 were prolonged to 15 years, those before were not.
		{card("1110750123450JEAN<<<<<<<<<<7001017M5"), `failed expired {"birth_date":"1970-01-01","document_code":"ID","document_number":"111075012345","expires":"computed","expiry_date":"2026-10-31"`},
		{card("1111750123457JEAN<<<<<<<<<<7001017M1"), `passed {"birth_date":"1970-01-01","document_code":"ID","document_number":"111175012345","expires":"computed","expiry_date":"2026-11-30"`},
		{card("0312750123453JEAN<<<<<<<<<<7001017M9"), `failed expired {"birth_date":"1970-01-01","document_code":"ID","document_number":"031275012345","expires":"computed","expiry_date":"2013-12-31"`},
		{card("1513750123453JEAN<<<<<<<<<<7001017M9"), `failed date {"birth_date":"1970-01-01","document_code":"ID","document_number":"151375012345","expires":"computed","format":"IDFRA"`},
		{card("1111750123458JEAN<<<<<<<<<<7001017M1"), `failed check_digit `},
		{card("1111750123457JEAN<<<<<<<<<<7001018M1"), `failed check_digit `},
		{strings.Replace(card("1111750123457JEAN<<<<<<<<<<7001017M1"), "075001", "075002", 1), `failed check_digit `},
	} {
		if got := result(t, "offline.mrz", with{"mrz": tt.mrz}, started()); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s\n got %s\nwant %s", tt.mrz, got, tt.want)
		}
	}
}

func TestFieldsOfCardsAreCompared(t *testing.T) {
	const (
		endless = "IDESPBAA000589599999999R<<<<<<\n4802143F9901018ESP<<<<<<<<<<<1\nESPANOLA<ESPANOLA<<CARMEN<<<<<"
		french  = "IDFRAMARTIN<<<<<<<<<<<<<<<<<<<075001\n1611750123452JEAN<<LUC<<<<<9811016M0"
		cut     = "IDFRAMARTIN<DE<LA<TOURETTE<DU<075001\n1505750123456JEANCHRISTOPHE7001017M1"
		cutName = "IDFRAMARTIN<DE<LA<TOURETTE<DUP075001\n1505750123456JEANCHRISTOPHE7001017M6"
	)
	for _, tt := range []struct {
		mrz    string
		given  with
		differ string // the differences, empty for none
	}{
		{endless, with{"expiry_date": "9999-01-01"}, ""},
		{endless, with{"expiry_date": "2031-01-01"}, `"expiry_date"`},
		// The card has the day; it may have been printed before the validity was prolonged.
		{french, with{"expiry_date": "2031-11-14"}, ""},
		{french, with{"expiry_date": "2026-11-14"}, ""},
		{french, with{"expiry_date": "2031-10-31"}, ""}, // issued on the first of the month
		{french, with{"expiry_date": "2031-12-01"}, `"expiry_date"`},
		{french, with{"expiry_date": "2027-11-14"}, `"expiry_date"`},
		{french, with{"surname": "Martin", "given_names": "Jean-Luc", "nationality": "FR", "document_number": "161175012345"}, ""},
		{cut, with{"given_names": "Jean-Christophe Marie"}, ""},
		{cut, with{"surname": "Martin de la Tourette du Pin"}, `"surname"`},
		{cutName, with{"surname": "Martin de la Tourette Dupin"}, ""},
	} {
		w := with{"mrz": tt.mrz}
		maps.Copy(w, tt.given)
		got := result(t, "offline.mrz", w, started())
		want, prefix := fmt.Sprintf(`"differences":[%s]`, tt.differ), "failed differs {"
		if tt.differ == "" {
			want, prefix = "", "passed {"
		}
		if !strings.HasPrefix(got, prefix) || !strings.Contains(got, want) {
			t.Errorf("%s with %v\n got %s\nwant %s...%s", tt.mrz, tt.given, got, prefix, want)
		}
	}
}

func TestLettersInPlaceOfDigitsAreRepaired(t *testing.T) {
	const (
		passport = "P<GBROCONNOR<<ANNE<MARIE<<<<<<<<<<<<<<<<<<<<\nA1234567<6GBR7408122F3011227<<<<<<<<<<<<<<<2"
		card     = "I<UTOD231458907<<<<<<<<<<<<<<<\n7408122F3004157UTO<<<<<<<<<<<2\nERIKSSON<<ANNA<MARIA<<<<<<<<<<"
		french   = "IDFRAMARTIN<<<<<<<<<<<<<<<<<<<075001\n1611750123452JEAN<<LUC<<<<<9811016M0"
	)
	for _, tt := range []struct{ mrz, old, misread, want string }{
		{passport, "7408122F", "74O8122F", `"repaired":["birth_date"]`},
		{passport, "7408122F", "740B1Z2F", `"repaired":["birth_date"]`},
		{passport, "3011227", "30IIZ27", `"repaired":["expiry_date"]`},
		{passport, "7408122F3011227", "74O8122F3O11227", `"repaired":["birth_date","expiry_date"]`},
		{passport, "<<<2", "<<<Z", `"repaired":["composite"]`},
		{card, "7408122F", "74O8122F", `"repaired":["birth_date"]`},
		{card, "3004157", "3O04I57", `"repaired":["expiry_date"]`},
		{card, "<<<2\n", "<<<Z\n", `"repaired":["composite"]`},
		{french, "161175", "I6II75", `"repaired":["document_number"]`},
		{french, "123452J", "IZ34SZJ", `"repaired":["document_number"]`},
		{french, "9811016M0", "98II0I6MO", `"repaired":["birth_date","composite"]`},
	} {
		w := with{"mrz": strings.Replace(tt.mrz, tt.old, tt.misread, 1)}
		if w["mrz"] == tt.mrz {
			t.Fatalf("%s has no %s", tt.mrz, tt.old)
		}
		got, want := result(t, "offline.mrz", w, started()), result(t, "offline.mrz", with{"mrz": tt.mrz}, started())
		if plain := strings.Replace(got, tt.want+",", "", 1); plain == got || plain != want || !strings.HasPrefix(want, "passed ") {
			t.Errorf("%s as %s\n got %s\nwant %s and %s", tt.old, tt.misread, got, want, tt.want)
		}
	}
	run(t, "offline.mrz", []row{
		// No letters of names and numbers, none that look like no digit, and not if a
		// check digit is wrong afterwards.
		{with{"mrz": strings.Replace(passport, "7408122F", "74O8132F", 1)}, "failed date"},
		{with{"mrz": strings.Replace(passport, "7408122F", "74G8122F", 1)}, "failed date"},
		{with{"mrz": strings.Replace(passport, "GBROCONNOR", "GBR0CONNOR", 1)}, "failed structure"},
	})
	wrong := result(t, "offline.mrz", with{"mrz": strings.Replace(passport, "A1234567<6", "AI234567<6", 1)}, started())
	if !strings.HasPrefix(wrong, "failed check_digit ") || strings.Contains(wrong, "repaired") {
		t.Errorf("a letter in the document number: %s, want a wrong check digit", wrong)
	}
}
