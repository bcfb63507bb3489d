// The shapes of the declared names: input, run and steps.

package expression

import (
	"slices"

	"cel.dev/cel-go/cel"

	"github.com/verifyd/verifyd/verification"
)

// The names that an expression sees.
const (
	nameInput = "input"
	nameRun   = "run"
	nameSteps = "steps"
)

func globals() []string { return []string{nameInput, nameRun, nameSteps} }

// declare adds the shapes of the names that an expression at one node may use. It
// leaves out steps that cannot have run.
func (p *shapes) declare(input *shape, d verification.Declarations) {
	steps := map[string]*shape{}
	for id, step := range d.Steps {
		if step.CanHaveRun {
			steps[string(id)] = p.step(nameSteps+"."+string(id), step)
		}
	}
	p.root.fields[nameSteps] = p.object(nameSteps, steps)
	p.root.fields[nameRun] = p.object(nameRun, map[string]*shape{
		"id": text(36), "reference_id": text(0), "started_at": scalar(cel.TimestampType),
	})
	p.root.fields[nameInput] = input
}

func (p *shapes) step(path string, d verification.StepDeclaration) *shape {
	return p.object(path, map[string]*shape{
		"status":     text(10),
		"passed":     scalar(cel.BoolType),
		"dispatches": scalar(cel.IntType),
		"data":       p.stepData(path+".data", d),
	})
}

func (p *shapes) stepData(path string, d verification.StepDeclaration) *shape {
	switch d.Type {
	case verification.NodeConsent:
		return p.object(path, map[string]*shape{"consent_status": text(10)})
	case verification.NodeReview:
		return p.object(path, map[string]*shape{"decision": text(10)})
	case verification.NodeCustomerInput:
		return p.object(path, p.answers(path, d))
	case verification.NodeCheck, verification.NodeBranch, verification.NodeEnd:
	}
	return anyObject()
}

// answers returns the fields of a customer input and those that the engine adds.
func (p *shapes) answers(path string, d verification.StepDeclaration) map[string]*shape {
	fields := map[string]*shape{}
	if d.Optional {
		fields["opted_out"] = scalar(cel.BoolType)
	}
	if slices.ContainsFunc(d.Fields, func(f verification.InputField) bool { return f.Type == verification.FieldLocation }) {
		fields["geo_ok"] = scalar(cel.BoolType)
	}
	for _, f := range d.Fields {
		fields[f.Name] = p.answer(path+"."+f.Name, f)
	}
	return fields
}

func (p *shapes) answer(path string, f verification.InputField) *shape {
	switch f.Type {
	case verification.FieldText, verification.FieldEmail, verification.FieldPhone:
		return text(longest(f, 1000))
	case verification.FieldTextarea:
		return text(longest(f, 10_000))
	case verification.FieldDate:
		return text(10)
	case verification.FieldSelect:
		return text(0)
	case verification.FieldNumber:
		return scalar(cel.DoubleType)
	case verification.FieldCheckbox:
		return scalar(cel.BoolType)
	case verification.FieldFile, verification.FieldImage:
		return p.object(path, map[string]*shape{"document_id": text(36)})
	case verification.FieldLocation:
		return p.object(path, map[string]*shape{
			"latitude": scalar(cel.DoubleType), "longitude": scalar(cel.DoubleType),
			"accuracy": scalar(cel.DoubleType), "denied": scalar(cel.BoolType),
		})
	}
	return anything()
}

func longest(f verification.InputField, otherwise uint64) uint64 {
	if f.MaxLength > 0 {
		return uint64(f.MaxLength)
	}
	return otherwise
}
