package offline_test

import (
	"strings"
	"testing"
)

func TestPAN(t *testing.T) {
	run(t, "offline.pan", []row{
		// The example of the Income Tax Department, and one for each type of holder.
		{with{"number": "AFZPK7190K"}, `passed {"holder_type":"individual","name_initial":"K","number":"AFZPK7190K"}`},
		{with{"number": "afz pk-7190k"}, `passed {"holder_type":"individual","name_initial":"K","number":"AFZPK7190K"}`},
		{with{"number": "AAAAB0001Z"}, `passed {"holder_type":"association_of_persons","name_initial":"B","number":"AAAAB0001Z"}`},
		{with{"number": "AAABB0001Z"}, `passed {"holder_type":"body_of_individuals","name_initial":"B","number":"AAABB0001Z"}`},
		{with{"number": "AAACI1195H"}, `passed {"holder_type":"company","name_initial":"I","number":"AAACI1195H"}`},
		{with{"number": "AAAEB0001Z"}, `passed {"holder_type":"limited_liability_partnership","name_initial":"B","number":"AAAEB0001Z"}`},
		{with{"number": "AAPFU0939F"}, `passed {"holder_type":"firm","name_initial":"U","number":"AAPFU0939F"}`},
		{with{"number": "AAAGM0289C"}, `passed {"holder_type":"government","name_initial":"M","number":"AAAGM0289C"}`},
		{with{"number": "AAAHB0001Z"}, `passed {"holder_type":"hindu_undivided_family","name_initial":"B","number":"AAAHB0001Z"}`},
		{with{"number": "AAAJB0001Z"}, `passed {"holder_type":"artificial_juridical_person","name_initial":"B","number":"AAAJB0001Z"}`},
		{with{"number": "AAALB0001Z"}, `passed {"holder_type":"local_authority","name_initial":"B","number":"AAALB0001Z"}`},
		{with{"number": "AAATB0001Z"}, `passed {"holder_type":"trust","name_initial":"B","number":"AAATB0001Z"}`},

		{with{"number": ""}, "failed empty"},
		{with{"number": " - "}, "failed empty"},
		{with{"number": "AFZPK7190"}, "failed length"},
		{with{"number": "AFZPK7190KK"}, "failed length"},
		{with{"number": "AFZPK7190Й"}, "failed characters"},
		{with{"number": "AFZPK71900"}, "failed structure"},
		{with{"number": "AFZPKO190K"}, "failed structure"},
		{with{"number": "AFZXK7190K"}, "failed structure"},
		{with{"number": "AFZPK0000K"}, "failed structure"},

		{with{"number": "AFZPK7190K", "holder_types": []any{"company", "individual"}}, `passed {"holder_type":"individual","name_initial":"K","number":"AFZPK7190K"}`},
		{with{"number": "AFZPK7190K", "holder_types": []any{"company"}}, `failed holder_type {"holder_type":"individual","name_initial":"K","number":"AFZPK7190K"}`},
	})
}

func TestGSTIN(t *testing.T) {
	run(t, "offline.gstin", []row{
		{with{"number": "27AAPFU0939F1ZV"}, `passed {"holder_type":"firm","number":"27AAPFU0939F1ZV","pan":"AAPFU0939F","registration":"regular","state":"Maharashtra","state_code":"27"}`},
		{with{"number": "27 aapfu0939f 1zv", "pan": "aapfu-0939f"}, `passed {"holder_type":"firm","number":"27AAPFU0939F1ZV","pan":"AAPFU0939F","registration":"regular","state":"Maharashtra","state_code":"27"}`},
		{with{"number": "29AAACI4798L1ZU"}, `passed {"holder_type":"company","number":"29AAACI4798L1ZU","pan":"AAACI4798L","registration":"regular","state":"Karnataka","state_code":"29"}`},
		{with{"number": "27AAACT2727Q1ZW"}, `passed {"holder_type":"company","number":"27AAACT2727Q1ZW","pan":"AAACT2727Q","registration":"regular","state":"Maharashtra","state_code":"27"}`},
		{with{"number": "37AADCB2230M2ZR"}, `passed {"holder_type":"company","number":"37AADCB2230M2ZR","pan":"AADCB2230M","registration":"regular","state":"Andhra Pradesh","state_code":"37"}`},
		{with{"number": "05ABNTY3290P8ZA"}, `passed {"holder_type":"trust","number":"05ABNTY3290P8ZA","pan":"ABNTY3290P","registration":"regular","state":"Uttarakhand","state_code":"05"}`},

		// The check character of these is computed by the published algorithm.
		{with{"number": "29AAACI4798L1C5"}, `passed {"holder_type":"company","number":"29AAACI4798L1C5","pan":"AAACI4798L","registration":"tax_collector","state":"Karnataka","state_code":"29"}`},
		{with{"number": "07DELA12345B1DE"}, `passed {"number":"07DELA12345B1DE","registration":"tax_deductor","state":"Delhi","state_code":"07"}`},
		{with{"number": "0717USA00001UNB"}, `passed {"number":"0717USA00001UNB","registration":"united_nations","state":"Delhi","state_code":"07"}`},
		{with{"number": "0717USA00001NRA"}, `passed {"number":"0717USA00001NRA","registration":"non_resident","state":"Delhi","state_code":"07"}`},
		{with{"number": "9917USA00001OSU"}, `passed {"number":"9917USA00001OSU","registration":"online_services","state":"Centre Jurisdiction","state_code":"99"}`},

		{with{"number": ""}, "failed empty"},
		{with{"number": "27AAPFU0939F1Z"}, "failed length"},
		{with{"number": "27AAPFU0939F1Z_"}, "failed characters"},
		{with{"number": "A7AAPFU0939F1ZV"}, "failed structure"},
		{with{"number": "27AAPFU0939F0ZV"}, `failed structure {"number":"27AAPFU0939F0ZV","state":"Maharashtra","state_code":"27"}`},
		{with{"number": "27AAPXU0939F1ZV"}, `failed structure {"number":"27AAPXU0939F1ZV","state":"Maharashtra","state_code":"27"}`},
		{with{"number": "39AAPFU0939F1ZV"}, `failed structure {"number":"39AAPFU0939F1ZV","state_code":"39"}`},
		{with{"number": "27AAPFU0939F1ZW"}, `failed check_digit {"holder_type":"firm","number":"27AAPFU0939F1ZW","pan":"AAPFU0939F","registration":"regular","state":"Maharashtra","state_code":"27"}`},
		{with{"number": "72AAPFU0939F1ZV"}, `failed structure {"number":"72AAPFU0939F1ZV","state_code":"72"}`},
		{with{"number": "27AAPFU0939F1ZV", "pan": "AFZPK7190K"}, `failed differs {"holder_type":"firm","number":"27AAPFU0939F1ZV","pan":"AAPFU0939F","registration":"regular","state":"Maharashtra","state_code":"27"}`},
		{with{"number": "0717USA00001UNB", "pan": "AFZPK7190K"}, `failed differs {"number":"0717USA00001UNB","registration":"united_nations","state":"Delhi","state_code":"07"}`},
	})
}

func TestIFSC(t *testing.T) {
	run(t, "offline.ifsc", []row{
		{with{"code": "SBIN0000300"}, `passed {"bank_code":"SBIN","branch_code":"000300","code":"SBIN0000300"}`},
		{with{"code": "hdfc0cagsbk"}, `passed {"bank_code":"HDFC","branch_code":"CAGSBK","code":"HDFC0CAGSBK"}`},
		{with{"code": ""}, "failed empty"},
		{with{"code": "SBIN000030"}, "failed length"},
		{with{"code": "SBIN000030."}, "failed characters"},
		{with{"code": "SBINO000300"}, "failed structure"},
		{with{"code": "SB1N0000300"}, "failed structure"},
	})
}

func TestAadhaar(t *testing.T) {
	run(t, "offline.aadhaar", []row{
		// The numbers that the Unique Identification Authority of India publishes for tests.
		{with{"number": "999941057058"}, `passed {"number":"XXXXXXXX7058"}`},
		{with{"number": "9999 7165 8847"}, `passed {"number":"XXXXXXXX8847"}`},
		{with{"number": "9999-3311-9405"}, `passed {"number":"XXXXXXXX9405"}`},
		{with{"number": "999955183433"}, `passed {"number":"XXXXXXXX3433"}`},
		{with{"number": "999990501894"}, `passed {"number":"XXXXXXXX1894"}`},

		{with{"number": ""}, "failed empty"},
		{with{"number": "99994105705"}, "failed length"},
		{with{"number": "9999410570588"}, "failed length"},
		{with{"number": "99994105705O"}, "failed structure"},
		{with{"number": "99994105705Ⅷ"}, "failed characters"},
		{with{"number": "999941057059"}, `failed check_digit {"number":"XXXXXXXX7059"}`},
		{with{"number": "999941050758"}, `failed check_digit {"number":"XXXXXXXX0758"}`},
		{with{"number": "099941057058"}, `failed structure {"number":"XXXXXXXX7058"}`},
		{with{"number": "199941057058"}, `failed structure {"number":"XXXXXXXX7058"}`},
		// A number that reads the same backwards, with a correct check digit.
		{with{"number": "234144441432"}, `failed structure {"number":"XXXXXXXX1432"}`},
	})
}

// Verhoeff's algorithm finds every wrong digit and every swap of two neighbours.
func TestAWrongDigitOfAnAadhaarNumberIsFound(t *testing.T) {
	const number = "999941057058"
	for i := range len(number) {
		for digit := '0'; digit <= '9'; digit++ {
			wrong := number[:i] + string(digit) + number[i+1:]
			if got := result(t, "offline.aadhaar", with{"number": wrong}, started()); wrong != number && got[:6] != "failed" {
				t.Errorf("%s with digit %d wrong, %s = %s", number, i, wrong, got)
			}
		}
		if i == 0 || number[i] == number[i-1] {
			continue
		}
		swapped := number[:i-1] + string(number[i]) + string(number[i-1]) + number[i+1:]
		if got := result(t, "offline.aadhaar", with{"number": swapped}, started()); got[:6] != "failed" {
			t.Errorf("%s with digits %d and %d swapped, %s = %s", number, i-1, i, swapped, got)
		}
	}
}

func TestVoterID(t *testing.T) {
	run(t, "offline.voter_id", []row{
		{with{"number": "WKH1186253"}, `passed {"number":"WKH1186253","series":"WKH"}`},
		{with{"number": "wkh 1186-253"}, `passed {"number":"WKH1186253","series":"WKH"}`},
		{with{"number": ""}, "failed empty"},
		{with{"number": "WKH118625"}, "failed length"},
		{with{"number": "WK11186253"}, "failed structure"},
		{with{"number": "WKH11862S3"}, "failed structure"},
		{with{"number": "WKH/118625"}, "failed characters"},
	})
}

func TestTAN(t *testing.T) {
	run(t, "offline.tan", []row{
		{with{"number": "DELM12345L"}, `passed {"area_code":"DEL","name_initial":"M","number":"DELM12345L"}`},
		{with{"number": "delm 12345 l"}, `passed {"area_code":"DEL","name_initial":"M","number":"DELM12345L"}`},
		{with{"number": ""}, "failed empty"},
		{with{"number": "DELM12345"}, "failed length"},
		{with{"number": "DEL112345L"}, "failed structure"},
		{with{"number": "DELM1234OL"}, "failed structure"},
		{with{"number": "DELM123451"}, "failed structure"},
		{with{"number": "DELM1234.L"}, "failed characters"},
	})
}

func TestCIN(t *testing.T) {
	const listed = `{"industry_code":"17110","listed":true,"number":"L17110MH1973PLC019786","registration_number":"019786","state":"Maharashtra","state_code":"MH","type":"PLC","year":1973}`
	run(t, "offline.cin", []row{
		{with{"number": "L17110MH1973PLC019786"}, "passed " + listed},
		{with{"number": "l17110 mh1973 plc-019786"}, "passed " + listed},
		{with{"number": "U51909KA2011PTC060489"}, `passed {"industry_code":"51909","listed":false,"number":"U51909KA2011PTC060489","registration_number":"060489","state":"Karnataka","state_code":"KA","type":"PTC","year":2011}`},
		{with{"number": "L17110MH1973PLC019786", "types": []any{"PTC", "PLC"}}, "passed " + listed},
		{with{"number": "L17110MH1973PLC019786", "types": []any{"OPC"}}, "failed type " + listed},
		{with{"number": ""}, "failed empty"},
		{with{"number": "L17110MH1973PLC01978"}, "failed length"},
		{with{"number": "L17110MH1973PLC01978_"}, "failed characters"},
		{with{"number": "L1711OMH1973PLC019786"}, "failed structure"},
		{with{"number": "X17110MH1973PLC019786"}, "failed structure"},
		{with{"number": "L17110XX1973PLC019786"}, "failed structure"},
		{with{"number": "L17110MH1973PLL019786"}, "failed structure"},
		{with{"number": "L17110MH1799PLC019786"}, "failed date"},
		{with{"number": "L17110MH2027PLC019786"}, "failed date"}, // the run starts in 2026
	})
}

func TestEveryCodeOfACINIsKnown(t *testing.T) {
	for _, code := range table(t, "cin_codes.tsv") {
		number, want := "U51909"+code[1]+"2011PTC060489", `"state":"`+code[2]+`","state_code":"`+code[1]+`"`
		if code[0] == "type" {
			number, want = "U51909KA2011"+code[1]+"060489", `"type":"`+code[1]+`"`
		}
		if got := result(t, "offline.cin", with{"number": number}, started()); !strings.HasPrefix(got, "passed ") || !strings.Contains(got, want) {
			t.Errorf("%s = %s, want %s", number, got, want)
		}
	}
}
