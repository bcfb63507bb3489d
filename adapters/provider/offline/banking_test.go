package offline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"
)

func TestEveryExampleOfTheIBANRegistryPasses(t *testing.T) {
	countries := map[string]bool{}
	for _, e := range table(t, "testdata/iban_examples.tsv") {
		iban, bank, branch := e[0], e[1], ""
		if len(e) > 2 {
			branch = fmt.Sprintf(`"branch_code":%q,`, e[2])
		}
		countries[iban[:2]] = true
		want := fmt.Sprintf(`passed {"bank_code":%q,%s"country":%q,"number":%q}`, bank, branch, iban[:2], iban)
		run(t, "offline.iban", []row{{with{"number": iban}, want}})
	}
	if len(countries) != 89 {
		t.Errorf("the examples are of %d countries, want the 89 of the registry", len(countries))
	}
}

func TestEveryWrongCharacterOfAnIBANIsFound(t *testing.T) {
	for _, e := range table(t, "testdata/iban_examples.tsv") {
		iban := e[0]
		for i := range len(iban) {
			wrong := []byte(iban)
			if wrong[i]++; wrong[i] == '9'+1 {
				wrong[i] = '0'
			}
			if got := result(t, "offline.iban", with{"number": string(wrong)}, started()); !strings.HasPrefix(got, "failed ") {
				t.Errorf("%s instead of %s = %s", wrong, iban, got)
			}
		}
	}
}

func TestIBAN(t *testing.T) {
	run(t, "offline.iban", []row{
		{with{"number": "de89 3704 0044 0532 0130 00"}, `passed {"bank_code":"37040044","country":"DE","number":"DE89370400440532013000"}`},
		{with{"number": "DE89370400440532013000", "countries": []any{"AT", "DE"}}, `passed {"bank_code":"37040044","country":"DE","number":"DE89370400440532013000"}`},
		{with{"number": "DE89370400440532013000", "countries": []any{"AT"}}, `failed country {"bank_code":"37040044","country":"DE","number":"DE89370400440532013000"}`},
		{with{"number": "DE88370400440532013000"}, `failed check_digit {"bank_code":"37040044","country":"DE","number":"DE88370400440532013000"}`},
		// The check digits are 02 to 98, although 99, 01 and 00 leave the same remainders.
		{with{"number": "DE02370400440000000024"}, `passed {"bank_code":"37040044","country":"DE","number":"DE02370400440000000024"}`},
		{with{"number": "DE99370400440000000024"}, `failed check_digit {"bank_code":"37040044","country":"DE","number":"DE99370400440000000024"}`},
		{with{"number": "DE98370400440000000042"}, `passed {"bank_code":"37040044","country":"DE","number":"DE98370400440000000042"}`},
		{with{"number": "DE01370400440000000042"}, `failed check_digit {"bank_code":"37040044","country":"DE","number":"DE01370400440000000042"}`},
		{with{"number": "DE97370400440000000060"}, `passed {"bank_code":"37040044","country":"DE","number":"DE97370400440000000060"}`},
		{with{"number": "DE00370400440000000060"}, `failed check_digit {"bank_code":"37040044","country":"DE","number":"DE00370400440000000060"}`},
		// On paper the word IBAN stands before the number (ISO 13616-1).
		{with{"number": "IBAN DE89 3704 0044 0532 0130 00"}, `passed {"bank_code":"37040044","country":"DE","number":"DE89370400440532013000"}`},
		{with{"number": "iban: de89 3704 0044 0532 0130 00"}, `passed {"bank_code":"37040044","country":"DE","number":"DE89370400440532013000"}`},
		{with{"number": "ＩＢＡＮ DE89370400440532013000"}, `passed {"bank_code":"37040044","country":"DE","number":"DE89370400440532013000"}`},
		{with{"number": "IBAN"}, "failed empty"},
		{with{"number": "IBAN IBAN DE89370400440532013000"}, "failed country"},
		{with{"number": ""}, "failed empty"},
		{with{"number": "D"}, "failed country"},
		{with{"number": "US64SVBKUS6S3300958879"}, "failed country"},
		{with{"number": "DE8937040044053201300"}, "failed length"},
		{with{"number": "DE8937040044053201300O"}, "failed structure"},
		{with{"number": "DEA9370400440532013000"}, "failed structure"},
		{with{"number": "GB29NW6K60161331926819"}, "failed structure"},
		{with{"number": "DE89/3704/0044/0532/0130/00"}, "failed characters"},
		{with{"number": "ÄÖ89370400440532013000"}, "failed country"},
	})
}

func TestBIC(t *testing.T) {
	run(t, "offline.bic", []row{
		{with{"bic": "DEUTDEFF"}, `passed {"bic":"DEUTDEFF","branch_code":"XXX","country":"DE","institution_code":"DEUT","test":false}`},
		{with{"bic": "deut de ff 500"}, `passed {"bic":"DEUTDEFF500","branch_code":"500","country":"DE","institution_code":"DEUT","test":false}`},
		{with{"bic": "HDFCINBB"}, `passed {"bic":"HDFCINBB","branch_code":"XXX","country":"IN","institution_code":"HDFC","test":false}`},
		{with{"bic": "NCBVXKPR"}, `passed {"bic":"NCBVXKPR","branch_code":"XXX","country":"XK","institution_code":"NCBV","test":false}`},
		{with{"bic": "DEUTDEF0"}, `passed {"bic":"DEUTDEF0","branch_code":"XXX","country":"DE","institution_code":"DEUT","test":true}`},
		{with{"bic": "1A2BDEFF"}, `passed {"bic":"1A2BDEFF","branch_code":"XXX","country":"DE","institution_code":"1A2B","test":false}`},
		{with{"bic": "DEUTDEFF", "countries": []any{"DE"}}, `passed {"bic":"DEUTDEFF","branch_code":"XXX","country":"DE","institution_code":"DEUT","test":false}`},
		{with{"bic": "DEUTDEFF", "countries": []any{"FR"}}, `failed country {"bic":"DEUTDEFF","branch_code":"XXX","country":"DE","institution_code":"DEUT","test":false}`},
		{with{"bic": ""}, "failed empty"},
		{with{"bic": "DEUTDEF"}, "failed length"},
		{with{"bic": "DEUTDEFF5"}, "failed length"},
		{with{"bic": "DEUTDEFF5000"}, "failed length"},
		{with{"bic": "DEUTDE.F"}, "failed characters"},
		{with{"bic": "DEUTD1FF"}, "failed structure"},
		{with{"bic": "DEUTZZFF"}, `failed country {"bic":"DEUTZZFF","branch_code":"XXX","country":"ZZ","institution_code":"DEUT","test":false}`},
		{with{"bic": "DEUTUKFF"}, `failed country {"bic":"DEUTUKFF","branch_code":"XXX","country":"UK","institution_code":"DEUT","test":false}`},
		{with{"bic": "DEUTEUFF"}, `failed country {"bic":"DEUTEUFF","branch_code":"XXX","country":"EU","institution_code":"DEUT","test":false}`},
		{with{"bic": "DEUTSUFF"}, `failed country {"bic":"DEUTSUFF","branch_code":"XXX","country":"SU","institution_code":"DEUT","test":false}`},
	})
}

func TestTheCountriesAreThoseOfISO3166(t *testing.T) {
	// Unicode also has codes that are reserved, no longer in use, or of its own.
	others := strings.Fields("AC AN CP CQ CS DG EA EZ FQ IC NT PC SU TA UN YU")
	count := 0
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			code := string([]rune{a, b})
			region, err := language.ParseRegion(code)
			want := err == nil && region.IsCountry() && region.String() == code && region.Canonicalize() == region &&
				!slices.Contains(others, code)
			if got := strings.HasPrefix(result(t, "offline.bic", with{"bic": "BANK" + code + "2L"}, started()), "passed "); got != want {
				t.Errorf("a BIC of the country %s passes: %t, want %t", code, got, want)
			}
			if want {
				count++
			}
		}
	}
	if count != 250 {
		t.Errorf("there are %d countries, want 249 and XK", count)
	}
}

func TestLEI(t *testing.T) {
	run(t, "offline.lei", []row{
		// The LEI of the Global Legal Entity Identifier Foundation, and of listed companies.
		{with{"lei": "506700GE1G29325QX363"}, `passed {"issuer_prefix":"5067","lei":"506700GE1G29325QX363"}`},
		{with{"lei": "g5gsef7vjp5i7ouk5573"}, `passed {"issuer_prefix":"G5GS","lei":"G5GSEF7VJP5I7OUK5573"}`},
		{with{"lei": "7LTWFZYICNSX8D621K86"}, `passed {"issuer_prefix":"7LTW","lei":"7LTWFZYICNSX8D621K86"}`},
		{with{"lei": "HWUPKR0MPOU8FGXBT394"}, `passed {"issuer_prefix":"HWUP","lei":"HWUPKR0MPOU8FGXBT394"}`},
		{with{"lei": "506700GE1G29325QX364"}, `failed check_digit {"issuer_prefix":"5067","lei":"506700GE1G29325QX364"}`},
		{with{"lei": "506700GE1G29325XQ363"}, `failed check_digit {"issuer_prefix":"5067","lei":"506700GE1G29325XQ363"}`},
		{with{"lei": "506700GE1G2900001802"}, `passed {"issuer_prefix":"5067","lei":"506700GE1G2900001802"}`},
		{with{"lei": "506700GE1G2900001899"}, `failed check_digit {"issuer_prefix":"5067","lei":"506700GE1G2900001899"}`},
		{with{"lei": "506700GE1G2900005100"}, `failed check_digit {"issuer_prefix":"5067","lei":"506700GE1G2900005100"}`},
		{with{"lei": "506700GE1G2900008301"}, `failed check_digit {"issuer_prefix":"5067","lei":"506700GE1G2900008301"}`},
		{with{"lei": ""}, "failed empty"},
		{with{"lei": "506700GE1G29325QX36"}, "failed length"},
		{with{"lei": "506700GE1G29325QX3A3"}, "failed structure"},
		{with{"lei": "506700GE1G29325QX36%"}, "failed characters"},
	})
}

func TestCardNumber(t *testing.T) {
	run(t, "offline.card_number", []row{
		// The first digit is the industry; 0 is for ISO/TC 68 and others, which issue no cards.
		{with{"number": "0000 0000 0000 0000"}, "failed structure"},
		{with{"number": "0111 1111 1111 1114"}, "failed structure"},
		// The numbers that schemes and acquirers publish for tests.
		{with{"number": "4111 1111 1111 1111"}, `passed {"number":"XXXXXXXXXXXX1111","scheme":"visa"}`},
		{with{"number": "4222222222222"}, `passed {"number":"XXXXXXXXX2222","scheme":"visa"}`},
		{with{"number": "4000000000000002"}, `passed {"number":"XXXXXXXXXXXX0002","scheme":"visa"}`},
		{with{"number": "3999990000000009"}, `passed {"number":"XXXXXXXXXXXX0009","scheme":"diners_club"}`},
		{with{"number": "6011990000000006"}, `passed {"number":"XXXXXXXXXXXX0006","scheme":"discover"}`},
		{with{"number": "5555-5555-5555-4444"}, `passed {"number":"XXXXXXXXXXXX4444","scheme":"mastercard"}`},
		{with{"number": "2223003122003222"}, `passed {"number":"XXXXXXXXXXXX3222","scheme":"mastercard"}`},
		{with{"number": "378282246310005"}, `passed {"number":"XXXXXXXXXXX0005","scheme":"american_express"}`},
		{with{"number": "6011111111111117"}, `passed {"number":"XXXXXXXXXXXX1117","scheme":"discover"}`},
		{with{"number": "30569309025904"}, `passed {"number":"XXXXXXXXXX5904","scheme":"diners_club"}`},
		{with{"number": "3530111333300000"}, `passed {"number":"XXXXXXXXXXXX0000","scheme":"jcb"}`},
		{with{"number": "6200000000000005"}, `passed {"number":"XXXXXXXXXXXX0005","scheme":"unionpay"}`},
		{with{"number": "6759649826438453"}, `passed {"number":"XXXXXXXXXXXX8453","scheme":"maestro"}`},
		{with{"number": "6521500000000006"}, `passed {"number":"XXXXXXXXXXXX0006","scheme":"rupay"}`},
		{with{"number": "2200000000000004"}, `passed {"number":"XXXXXXXXXXXX0004","scheme":"mir"}`},
		// The example of ISO/IEC 7812-1 is of no payment scheme.
		{with{"number": "799273987130"}, `failed check_digit {"number":"XXXXXXXX7130"}`},
		{with{"number": "100000000000009"}, `passed {"number":"XXXXXXXXXXX0009"}`},
		{with{"number": "4111111111111111", "schemes": []any{"mastercard", "visa"}}, `passed {"number":"XXXXXXXXXXXX1111","scheme":"visa"}`},
		{with{"number": "4111111111111111", "schemes": []any{"rupay"}}, `failed scheme {"number":"XXXXXXXXXXXX1111","scheme":"visa"}`},
		{with{"number": "100000000000009", "schemes": []any{"rupay"}}, `failed scheme {"number":"XXXXXXXXXXX0009"}`},
		{with{"number": "4111111111111112"}, `failed check_digit {"number":"XXXXXXXXXXXX1112","scheme":"visa"}`},
		// Visa has numbers of 13, 16 and 19 digits.
		{with{"number": "4111111111119"}, `passed {"number":"XXXXXXXXX1119","scheme":"visa"}`},
		{with{"number": "41111111111114"}, `failed length {"number":"XXXXXXXXXX1114","scheme":"visa"}`},
		{with{"number": "411111111111116"}, `failed length {"number":"XXXXXXXXXXX1116","scheme":"visa"}`},
		{with{"number": "41111111111111113"}, `failed length {"number":"XXXXXXXXXXXXX1113","scheme":"visa"}`},
		{with{"number": "411111111111111118"}, `failed length {"number":"XXXXXXXXXXXXXX1118","scheme":"visa"}`},
		{with{"number": "4111111111111111110"}, `passed {"number":"XXXXXXXXXXXXXXX1110","scheme":"visa"}`},
		{with{"number": "3782822463100003"}, `failed length {"number":"XXXXXXXXXXXX0003","scheme":"american_express"}`},
		{with{"number": ""}, "failed empty"},
		{with{"number": "41111111111"}, "failed length"},
		{with{"number": "41111111111111111111"}, "failed length"},
		{with{"number": "4111 1111 1111 111x"}, "failed characters"},
	})
}
