package offline_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones

	"github.com/verifyd/verifyd/verification"
)

func TestAge(t *testing.T) {
	adult := func(birth string) with { return with{"birth_date": birth, "min_years": 18.0} }
	run(t, "offline.age", []row{
		// The runs of these tests start on 2026-11-22.
		{adult("1990-05-17"), `passed {"age":36}`},
		{adult("2008-11-22"), `passed {"age":18}`},
		{adult("2008-11-23"), `failed too_young {"age":17}`},
		{adult("2026-11-22"), `failed too_young {"age":0}`},
		{adult("2026-11-23"), `failed implausible`},
		{adult("1896-11-22"), `passed {"age":130}`},
		{adult("1895-11-22"), `failed implausible`},
		{adult(""), "failed empty"},
		{adult("17/05/1990"), "failed date"},
		{adult("1990-02-30"), "failed date"},
		{adult("1990-05-17T00:00:00Z"), "failed date"},
		{with{"birth_date": "1960-11-22", "max_years": 66.0}, `passed {"age":66}`},
		{with{"birth_date": "1959-11-22", "max_years": 66.0}, `failed too_old {"age":67}`},
		{with{"birth_date": "1990-05-17", "min_years": 18.0, "max_years": 36.0}, `passed {"age":36}`},
		{with{"birth_date": "1990-05-17", "min_years": 37.0, "max_years": 60.0}, `failed too_young {"age":36}`},
		// Of a date without a day or a month, every possible day must fit.
		{adult("1990"), `passed {"age":35}`},
		{adult("1990-05"), `passed {"age":36}`},
		{adult("2009"), `failed too_young {"age":16}`},
		{adult("2008"), `failed incomplete {"age":17}`},
		{adult("2008-11"), `failed incomplete {"age":17}`},
		{adult("2008-10"), `passed {"age":18}`},
		{adult("2026"), `failed too_young {"age":0}`},
		{adult("2027"), `failed implausible`},
		{adult("1990-13"), "failed date"},
		{with{"birth_date": "1960", "max_years": 65.0}, `failed incomplete {"age":65}`},
		{with{"birth_date": "1959", "max_years": 65.0}, `failed too_old {"age":66}`},
		{adult("0001-01-01"), "failed implausible"},
		{adult("1900-01-01"), "failed implausible"},
	})
}

func TestAgeOfAPersonBornOn29February(t *testing.T) {
	for _, tt := range []struct{ day, want string }{
		{"2026-02-28", `failed too_young {"age":17}`},
		{"2026-03-01", `passed {"age":18}`},
		{"2028-02-28", `passed {"age":19}`},
		{"2028-02-29", `passed {"age":20}`},
	} {
		day, err := time.Parse(time.DateOnly, tt.day)
		if err != nil {
			t.Fatal(err)
		}
		if got := result(t, "offline.age", with{"birth_date": "2008-02-29", "min_years": 18.0}, day); got != tt.want {
			t.Errorf("on %s: %s, want %s", tt.day, got, tt.want)
		}
	}
}

// TestDatesAreThoseOfTheTenantsZone has starts of runs with the dates that calendars on
// the wall show there.
func TestDatesAreThoseOfTheTenantsZone(t *testing.T) {
	for _, tt := range []struct{ zone, start, date string }{
		{"", "2026-11-22T18:29:59Z", "2026-11-22"},
		{"", "2026-11-22T23:59:59Z", "2026-11-22"},
		{"", "2026-11-23T04:00:00+05:30", "2026-11-22"},
		{"Asia/Kolkata", "2026-11-22T18:29:59Z", "2026-11-22"},
		{"Asia/Kolkata", "2026-11-22T19:00:00Z", "2026-11-23"}, // 00:30
		{"America/Los_Angeles", "2026-11-23T07:59:59Z", "2026-11-22"},
		{"America/Los_Angeles", "2026-11-23T08:00:00Z", "2026-11-23"},
		// Clocks go forward on 8 March and back on 1 November: days of 23 and of 25 hours.
		{"America/Los_Angeles", "2026-03-08T08:00:00Z", "2026-03-08"},
		{"America/Los_Angeles", "2026-03-09T06:59:59Z", "2026-03-08"},
		{"America/Los_Angeles", "2026-03-09T07:00:00Z", "2026-03-09"},
		{"America/Los_Angeles", "2026-11-01T07:00:00Z", "2026-11-01"},
		{"America/Los_Angeles", "2026-11-02T07:59:59Z", "2026-11-01"},
		{"America/Los_Angeles", "2026-11-02T08:00:00Z", "2026-11-02"},
		{"Pacific/Kiritimati", "2026-12-31T09:59:59Z", "2026-12-31"},
		{"Pacific/Kiritimati", "2026-12-31T10:00:00Z", "2027-01-01"},
	} {
		at, err := time.Parse(time.RFC3339, tt.start)
		if err != nil {
			t.Fatal(err)
		}
		date, err := time.Parse(time.DateOnly, tt.date)
		if err != nil {
			t.Fatal(err)
		}
		day := func(n int) string { return date.AddDate(0, 0, n).Format(time.DateOnly) }
		birthday := func(n int) string { return date.AddDate(-18, 0, n).Format(time.DateOnly) }
		for _, c := range []struct {
			name string
			with with
			want verification.CheckOutcome
			key  string
			data any
		}{
			{"offline.age", with{"birth_date": birthday(0), "min_years": 18.0}, verification.OutcomePassed, "age", 18},
			{"offline.age", with{"birth_date": birthday(1), "min_years": 18.0}, verification.OutcomeFailed, "age", 17},
			{"offline.age", with{"birth_date": day(0), "max_years": 18.0}, verification.OutcomePassed, "age", 0},
			{"offline.age", with{"birth_date": day(1), "max_years": 18.0}, verification.OutcomeFailed, "reason", "implausible"},
			{"offline.expiry", with{"expiry_date": day(0)}, verification.OutcomePassed, "days_left", 0},
			{"offline.expiry", with{"expiry_date": day(-1)}, verification.OutcomeFailed, "days_left", -1},
		} {
			r, err := checks[c.name].Check(t.Context(), verification.CheckRequest{With: c.with, StartedAt: at, Zone: tt.zone})
			if err != nil || r.Outcome != c.want || r.Data[c.key] != c.data {
				t.Errorf("%s of %v at %s in %q = %v, %v, want %s with %v", c.name, c.with, tt.start, tt.zone, r, err, c.want, c.data)
			}
		}
	}
}

// TestDocumentsFollowTheTenantsZone has the end of the specimen passport of Doc
// 9303 and the year of a company.
func TestDocumentsFollowTheTenantsZone(t *testing.T) {
	const company = "L17110MH2013PLC019786"
	for _, tt := range []struct {
		check, zone, start string
		want               verification.CheckOutcome
	}{
		{"offline.mrz", "", "2012-04-15T23:59:59Z", verification.OutcomePassed},
		{"offline.mrz", "", "2012-04-16T00:00:00Z", verification.OutcomeFailed},
		{"offline.mrz", "Asia/Kolkata", "2012-04-15T18:29:59Z", verification.OutcomePassed},
		{"offline.mrz", "Asia/Kolkata", "2012-04-15T18:30:00Z", verification.OutcomeFailed},
		{"offline.mrz", "America/Los_Angeles", "2012-04-16T06:59:59Z", verification.OutcomePassed},
		{"offline.mrz", "America/Los_Angeles", "2012-04-16T07:00:00Z", verification.OutcomeFailed},
		{"offline.cin", "", "2012-12-31T23:59:59Z", verification.OutcomeFailed},
		{"offline.cin", "", "2013-01-01T00:00:00Z", verification.OutcomePassed},
		{"offline.cin", "Asia/Kolkata", "2012-12-31T18:29:59Z", verification.OutcomeFailed},
		{"offline.cin", "Asia/Kolkata", "2012-12-31T18:30:00Z", verification.OutcomePassed},
	} {
		at, err := time.Parse(time.RFC3339, tt.start)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]with{"offline.mrz": {"mrz": specimenTD3}, "offline.cin": {"number": company}}[tt.check]
		r, err := checks[tt.check].Check(t.Context(), verification.CheckRequest{With: values, StartedAt: at, Zone: tt.zone})
		if err != nil || r.Outcome != tt.want {
			t.Errorf("%s at %s in %q = %v, %v, want %s", tt.check, tt.start, tt.zone, r, err, tt.want)
		}
	}
}

func TestAnUnknownZoneIsAnError(t *testing.T) {
	_, err := checks["offline.age"].Check(t.Context(), verification.CheckRequest{
		With: with{"birth_date": "1990-05-17", "min_years": 18.0}, StartedAt: started(), Zone: "Asia/Atlantis",
	})
	if err == nil || !strings.Contains(err.Error(), "Asia/Atlantis") {
		t.Errorf("error = %v, want it to name the zone", err)
	}
}

func TestExpiry(t *testing.T) {
	run(t, "offline.expiry", []row{
		{with{"expiry_date": "2031-04-15"}, `passed {"days_left":1605,"expiry_date":"2031-04-15"}`},
		{with{"expiry_date": "2026-11-22"}, `passed {"days_left":0,"expiry_date":"2026-11-22"}`},
		{with{"expiry_date": "2026-11-21"}, `failed expired {"days_left":-1,"expiry_date":"2026-11-21"}`},
		{with{"expiry_date": "2026-11"}, `passed {"days_left":8,"expiry_date":"2026-11-30"}`},
		{with{"expiry_date": "2028-02"}, `passed {"days_left":464,"expiry_date":"2028-02-29"}`},
		{with{"expiry_date": "2026-10"}, `failed expired {"days_left":-22,"expiry_date":"2026-10-31"}`},
		{with{"expiry_date": "9999-12-31"}, `passed {"days_left":2912117,"expiry_date":"9999-12-31"}`},
		{with{"expiry_date": "2027-02-20", "min_days": 90.0}, `passed {"days_left":90,"expiry_date":"2027-02-20"}`},
		{with{"expiry_date": "2027-02-19", "min_days": 90.0}, `failed expires_soon {"days_left":89,"expiry_date":"2027-02-19"}`},
		{with{"expiry_date": " "}, "failed empty"},
		{with{"expiry_date": "11/26"}, "failed date"},
		{with{"expiry_date": "2026-13-01"}, "failed date"},
	})
}

func TestPhone(t *testing.T) {
	const indian = `{"calling_code":"+91","international":"+91 98765 43210","number":"+919876543210","possible":true,"region":"IN","type":"mobile"}`
	run(t, "offline.phone", []row{
		{with{"number": "+91 98765 43210"}, "passed " + indian},
		{with{"number": "098765-43210", "region": "IN"}, "passed " + indian},
		{with{"number": "+91 98765 43210", "region": "GB"}, "passed " + indian},
		{with{"number": "+91 98765 43210", "regions": []any{"IN"}, "types": []any{"mobile"}}, "passed " + indian},
		{with{"number": "+91 98765 43210", "regions": []any{"GB"}}, "failed country " + indian},
		{with{"number": "+91 98765 43210", "types": []any{"fixed_line", "voip"}}, "failed type " + indian},
		// As people paste it; the form of a customer input takes the same.
		{with{"number": "\u202a+91\u00a098765\u202f43210\u202c"}, "passed " + indian},
		{with{"number": "(+91) (0) 98765.43210"}, "passed " + indian},
		{with{"number": "tel:+91-98765-43210"}, "passed " + indian},
		{with{"number": "०९८७६५/४३२१०", "region": "IN"}, "passed " + indian},
		{with{"number": "＋９１ ９８７６５·４３２１０"}, "passed " + indian},
		{with{"number": "+91 98765 43210;ext=5"}, "passed " + strings.Replace(indian, `43210",`, `43210 ext. 5",`, 1)},
		// The numbers that Ofcom reserves for drama.
		{with{"number": "(020) 7946 0018", "region": "GB"}, `passed {"calling_code":"+44","international":"+44 20 7946 0018","number":"+442079460018","possible":true,"region":"GB","type":"fixed_line"}`},
		{with{"number": "+44 7700 900123"}, `failed unassigned {"calling_code":"+44","international":"+44 7700 900123","number":"+447700900123","possible":true}`},
		// In North America a number does not say whether it is mobile.
		{with{"number": "+1 650 253 0000", "types": []any{"mobile"}}, `passed {"calling_code":"+1","international":"+1 650-253-0000","number":"+16502530000","possible":true,"region":"US","type":"fixed_line_or_mobile"}`},
		{with{"number": "+800 1234 5678"}, `passed {"calling_code":"+800","international":"+800 1234 5678","number":"+80012345678","possible":true,"region":"001","type":"toll_free"}`},
		{with{"number": "+44 20 7946 00180"}, `failed length {"calling_code":"+44","international":"+44 20794600180","number":"+4420794600180","possible":false}`},
		{with{"number": "+91 11111 11111"}, `failed unassigned {"calling_code":"+91","international":"+91 11 1111 1111","number":"+911111111111","possible":true,"region":"IN"}`},
		{with{"number": ""}, "failed empty"},
		{with{"number": "98765 43210"}, "failed country"},
		{with{"number": "+999 1234567"}, "failed country"},
		{with{"number": "none"}, "failed characters"},
		{with{"number": "+91 9"}, "failed length"},
		{with{"number": "+91" + strings.Repeat("9", 300)}, "failed length"},
	})
}

func TestEmail(t *testing.T) {
	address := func(s string) with { return with{"address": s} }
	passed := func(address, domain string) string {
		return `passed {"address":"` + address + `","disposable":false,"domain":"` + domain + `"}`
	}
	run(t, "offline.email", []row{
		{address("asha@example.com"), passed("asha@example.com", "example.com")},
		{address(" Asha.Rao+kyc@Example.COM "), passed("Asha.Rao+kyc@example.com", "example.com")},
		{address("!#$%&'*+-/=?^_`{|}~@example.com"), passed("!#$%\\u0026'*+-/=?^_`{|}~@example.com", "example.com")},
		{address(`"asha rao"@example.com`), passed(`\"asha rao\"@example.com`, "example.com")},
		{address("asha@mail.example.co.in"), passed("asha@mail.example.co.in", "mail.example.co.in")},
		{address("आशा@डाटामेल.भारत"), passed("आशा@xn--c2bd4bq1db8d.xn--h2brj9c", "xn--c2bd4bq1db8d.xn--h2brj9c")},
		{address("क्\u200dष@example.com"), passed("क्\u200dष@example.com", "example.com")},
		{address("asha@bücher.example"), passed("asha@xn--bcher-kva.example", "xn--bcher-kva.example")},
		{address(strings.Repeat("a", 64) + "@example.com"), passed(strings.Repeat("a", 64)+"@example.com", "example.com")},

		{address("x@mailinator.com"), `failed disposable {"address":"x@mailinator.com","disposable":true,"domain":"mailinator.com"}`},
		{address("x@sub.MAILINATOR.com"), `failed disposable {"address":"x@sub.mailinator.com","disposable":true,"domain":"sub.mailinator.com"}`},
		{address("x@ourmailinator.com"), passed("x@ourmailinator.com", "ourmailinator.com")},
		{with{"address": "x@mailinator.com", "allow_disposable": true}, `passed {"address":"x@mailinator.com","disposable":true,"domain":"mailinator.com"}`},

		{address(""), "failed empty"},
		{address("asha"), "failed syntax"},
		{address("@example.com"), "failed syntax"},
		{address("asha@"), "failed syntax"},
		{address("asha rao@example.com"), "failed syntax"},
		{address("asha@@example.com"), "failed syntax"},
		{address("asha.@example.com"), "failed syntax"},
		{address(".asha@example.com"), "failed syntax"},
		{address("as..ha@example.com"), "failed syntax"},
		{address("Asha <asha@example.com>"), "failed syntax"},
		{address("<asha@example.com>"), "failed syntax"},
		{address("asha@example.com (home)"), "failed syntax"},
		{address("asha@example.com, ravi@example.com"), "failed syntax"},
		{address("asha@example.com\r\nBcc: x@example.com"), "failed syntax"},
		{address("asha@localhost"), "failed domain"},
		{address("asha@192.168.1.1"), "failed domain"},
		{address("asha@[192.168.1.1]"), "failed domain"},
		{address("asha@-example.com"), "failed domain"},
		{address("asha@exa_mple.com"), "failed domain"},
		{address("asha@example.c"), "failed domain"},
		{address("asha@example.c0m"), "failed domain"},
		{address("a\u200bsha@example.com"), "failed syntax"},
		{address("asha\u00ad@example.com"), "failed syntax"},
		{address("as\u202eha@example.com"), "failed syntax"},
		{address("as\u200dha@example.com"), "failed syntax"}, // a joiner where nothing joins
		{address("asha@example..com"), "failed syntax"},
		{address("asha@" + strings.Repeat("a", 64) + ".com"), "failed domain"},
		{address(strings.Repeat("a", 65) + "@example.com"), "failed length"},
		{address(strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("a", 62)+".", 3) + "com"), "failed length"},
		{address("asha@" + strings.Repeat("a.", 200) + "com"), "failed length"},
	})
}
