package verification_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/verification"
)

// registry is a provider that knows one number.
type registry struct{}

func (registry) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	number, ok := r.With["number"].(string)
	if !ok {
		return verification.CheckResult{}, verification.Permanent(errors.New("with.number must be a text"))
	}
	result := verification.CheckResult{Outcome: verification.OutcomeFailed}
	if number == "ABCDE1234F" {
		result.Outcome, result.Data = verification.OutcomePassed, map[string]any{"name": "Asha Rao"}
	}
	return result, nil
}

// A provider performs the checks of a workflow. Register it under a name, and nodes name it.
func ExampleProvider() {
	var p verification.Provider = registry{}
	r, err := p.Check(context.Background(), verification.CheckRequest{With: map[string]any{"number": "ABCDE1234F"}})
	fmt.Println(r.Outcome, r.Data["name"], err)

	_, err = p.Check(context.Background(), verification.CheckRequest{})
	var permanent verification.PermanentError
	fmt.Println(err, errors.As(err, &permanent) && permanent.Permanent())
	// Output:
	// passed Asha Rao <nil>
	// with.number must be a text true
}
