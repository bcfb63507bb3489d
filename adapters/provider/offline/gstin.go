// offline.gstin: the GST Identification Number of India.

package offline

import (
	"strings"
	"time"
)

type gstinWith struct {
	Number string `json:"number"`
	PAN    string `json:"pan"`
}

// judgeGSTIN judges by the structures of the Goods and Services Tax Network: a state
// code, the PAN of the holder (or, to deduct tax at source, possibly a TAN), a number of
// the registration, a type letter, and a check character in base 36. The numbers of
// United Nations bodies, non-residents and foreign suppliers of online services have
// other structures.
func judgeGSTIN(w gstinWith, _ time.Time) (map[string]any, reason, error) {
	number := compact(w.Number)
	if why := structured(number, "99XXXXXXXXXXXXX"); why != "" {
		return nil, why, nil
	}
	state := gstinState(number[:2])
	data := map[string]any{"number": number, "state_code": number[:2]}
	if state != "" {
		data["state"] = state
	}
	pan := number[2:12]
	isPAN := panProblem(pan) == ""
	registration := gstinRegistration(number, isPAN)
	if registration == "" || state == "" && registration != "online_services" {
		return data, reasonStructure, nil
	}
	data["registration"] = registration
	if isPAN {
		data["pan"], data["holder_type"] = pan, panHolderType(pan[3])
	}
	switch {
	case mod36(number[:14]) != number[14]:
		return data, reasonCheckDigit, nil
	case w.PAN != "" && (!isPAN || compact(w.PAN) != pan):
		return data, "differs", nil
	}
	return data, "", nil
}

// gstinRegistration returns the type of registration of a GSTIN; empty if it has the
// structure of none.
func gstinRegistration(number string, isPAN bool) string {
	has := func(pattern string) bool { return structured(number[:14], pattern) == "" }
	switch entity, kind := number[12], number[13]; {
	case isPAN && entity != '0' && kind == 'C':
		return "tax_collector"
	case entity != '0' && kind == 'D' && (isPAN || has("99"+tanPattern+"XX")):
		return "tax_deductor"
	case isPAN && entity != '0' && strings.IndexByte("Z123456789ABEFGHIJ", kind) >= 0:
		return "regular"
	case has("99" + "99AAA99999" + "UN"), has("99" + "99AAA99999" + "ON"):
		return "united_nations"
	case has("9999AAA99999NR"):
		return "non_resident"
	case has("9999AAA99999OS") && strings.HasPrefix(number, "99"):
		return "online_services"
	}
	return ""
}

// gstinState returns the name of a state, union territory or jurisdiction; empty if
// there is none of this code.
func gstinState(code string) string {
	const names = "01 Jammu and Kashmir|02 Himachal Pradesh|03 Punjab|04 Chandigarh|05 Uttarakhand|06 Haryana|07 Delhi|" +
		"08 Rajasthan|09 Uttar Pradesh|10 Bihar|11 Sikkim|12 Arunachal Pradesh|13 Nagaland|14 Manipur|15 Mizoram|" +
		"16 Tripura|17 Meghalaya|18 Assam|19 West Bengal|20 Jharkhand|21 Odisha|22 Chhattisgarh|23 Madhya Pradesh|" +
		"24 Gujarat|25 Daman and Diu|26 Dadra and Nagar Haveli and Daman and Diu|27 Maharashtra|28 Andhra Pradesh (before 2014)|" +
		"29 Karnataka|30 Goa|31 Lakshadweep|32 Kerala|33 Tamil Nadu|34 Puducherry|35 Andaman and Nicobar Islands|" +
		"36 Telangana|37 Andhra Pradesh|38 Ladakh|97 Other Territory|99 Centre Jurisdiction"
	for entry := range strings.SplitSeq(names, "|") {
		if name, ok := strings.CutPrefix(entry, code+" "); ok {
			return name
		}
	}
	return ""
}
