// offline.voter_id: the number of an Indian voter's identity card.

package offline

import "time"

type voterIDWith struct {
	Number string `json:"number"`
}

// judgeVoterID judges by the structure that the Election Commission of India publishes: the
// three letters of an assembly constituency and seven digits. The algorithm of the last one,
// a check digit, is not published.
func judgeVoterID(w voterIDWith, _ time.Time) (map[string]any, reason, error) {
	number := compact(w.Number)
	if why := structured(number, "AAA9999999"); why != "" {
		return nil, why, nil
	}
	return map[string]any{"number": number, "series": number[:3]}, "", nil
}
