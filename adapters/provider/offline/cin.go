// offline.cin: the Corporate Identity Number of a company in India.

package offline

import (
	_ "embed"
	"slices"
	"strconv"
	"time"
)

//go:embed cin_codes.tsv
var cinCodes string

type cinWith struct {
	Number string   `json:"number"`
	Types  []string `json:"types"`
}

// cinFounded is the year before which no company has a number: the first companies of
// today are older than the first law on them, of 1850.
const cinFounded = 1800

// newCINJudge reads the codes. The structure is the one of the Ministry of Corporate
// Affairs: whether the company is listed, its industry, state, year of incorporation and
// type, and its number in the register.
func newCINJudge() judge[cinWith] {
	states, types := readCINCodes()
	return func(w cinWith, today time.Time) (map[string]any, reason, error) {
		number := compact(w.Number)
		if why := structured(number, "A99999AA9999AAA999999"); why != "" {
			return nil, why, nil
		}
		listed, state, kind := number[0], states[number[6:8]], number[12:15]
		year, err := strconv.Atoi(number[8:12])
		if err != nil {
			return nil, "", err
		}
		switch {
		case listed != 'L' && listed != 'U', state == "", !types[kind]:
			return nil, reasonStructure, nil
		case year < cinFounded, year > today.Year():
			return nil, reasonDate, nil
		}
		data := map[string]any{
			"number": number, "listed": listed == 'L', "industry_code": number[1:6], "state_code": number[6:8], "state": state,
			"year": year, "type": kind, "registration_number": number[15:],
		}
		if len(w.Types) > 0 && !slices.Contains(w.Types, kind) {
			return data, "type", nil
		}
		return data, "", nil
	}
}

// readCINCodes returns the names of the states by their codes, and the codes of the types.
func readCINCodes() (states map[string]string, types map[string]bool) {
	states, types = map[string]string{}, map[string]bool{}
	for _, columns := range readTable(cinCodes) {
		switch columns[0] {
		case "state":
			states[columns[1]] = columns[2]
		case "type":
			types[columns[1]] = true
		}
	}
	return states, types
}
