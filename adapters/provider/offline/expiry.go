// offline.expiry: whether a document is still valid.

package offline

import (
	"strings"
	"time"
)

type expiryWith struct {
	ExpiryDate string  `json:"expiry_date"`
	MinDays    float64 `json:"min_days"`
}

// judgeExpiry judges by the number of days left. A document is valid on its last day.
func judgeExpiry(w expiryWith, today time.Time) (map[string]any, reason, error) {
	expiry, why := parseExpiry(w.ExpiryDate)
	if why != "" {
		return nil, why, nil
	}
	left := days(today, expiry)
	data := map[string]any{"expiry_date": expiry.Format(time.DateOnly), "days_left": left}
	switch {
	case left < 0:
		return data, "expired", nil
	case float64(left) < w.MinDays:
		return data, "expires_soon", nil
	}
	return data, "", nil
}

// parseExpiry parses YYYY-MM-DD, or YYYY-MM as the last day of that month.
func parseExpiry(s string) (time.Time, reason) {
	if month, err := time.Parse("2006-01", strings.TrimSpace(fold(s))); err == nil {
		return month.AddDate(0, 1, -1), ""
	}
	return parseDate(s)
}
