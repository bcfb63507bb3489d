// The shapes of the declared names: input, run and steps.

package expression

import (
	"cmp"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The names that an expression sees.
const (
	nameInput = "input"
	nameRun   = "run"
	nameSteps = "steps"
	// Of the texts of some nodes only, see workflow.Declarations.
	nameItem     = "item"
	namePosition = "position"
	nameMember   = "member"
)

// The fields of a step that has others in it.
const (
	fieldMembers = "members"
	fieldItems   = "items"
	fieldClear   = "clear" // see reading.clears
)

// shapesOf returns the shapes of the names that an expression at one node may use. It
// leaves out steps that cannot have run.
func (c *compiler) shapesOf(d workflow.Declarations) *shapes {
	p := &shapes{Provider: c.base.CELTypeProvider(), objects: map[string]*shape{}}
	steps := p.object(nameSteps, map[string]*shape{})
	steps.unread = func(name string) *shape {
		step := d.Steps[verification.NodeID(name)]
		if !step.MayPrecede {
			return nil
		}
		return c.step(p, nameSteps+"."+name, step)
	}
	input := anyObject()
	if schema := c.declared(d.Input); schema != nil {
		if known := p.ofSchema(nameInput, schema); known.fields != nil {
			input = known
		}
	}
	p.root = &shape{fields: map[string]*shape{
		nameInput: input,
		nameRun: p.object(nameRun, map[string]*shape{
			"id": text(36), "reference_id": text(0), "started_at": scalar(cel.TimestampType),
		}),
		nameSteps: steps,
	}}
	if d.Each {
		item := anything()
		if schema := c.declared(d.Item); schema != nil {
			item = p.ofSchema(nameItem, schema)
		}
		p.root.fields[nameItem], p.root.fields[namePosition] = item, scalar(cel.IntType)
	}
	if d.Member != nil {
		p.root.fields[nameMember] = c.step(p, nameMember, *d.Member)
	}
	return p
}

// step returns the shape of a step: of a group with its members, and of a node with for_each with its elements.
func (c *compiler) step(p *shapes, path string, d workflow.StepDeclaration) *shape {
	status := oneOf(10, textsOf(rules.StepPassed, rules.StepFailed, rules.StepRunning, rules.StepPending))
	if d.Each {
		d.Each = false
		return p.stepObject(path, map[string]*shape{
			"status": status, "passed": scalar(cel.BoolType),
			fieldItems: listOf(c.step(p, path+"."+fieldItems+"[]", d), workflow.MaxElements),
		})
	}
	if d.Type == workflow.NodeChecks {
		members := p.object(path+"."+fieldMembers, map[string]*shape{})
		members.group = d.Members
		members.unread = func(name string) *shape {
			m, ok := d.Members[name]
			if !ok {
				return nil
			}
			return c.step(p, pathTo(members.path, name), m)
		}
		return p.stepObject(path, map[string]*shape{"status": status, "passed": scalar(cel.BoolType), fieldMembers: members})
	}
	return p.step(path, d, c.declared(d.Data))
}

// declared returns the compiled schema of declarations; nil if there is none or it is
// not valid.
func (c *compiler) declared(text verification.Data) *jsonschema.Schema {
	if len(text) == 0 {
		return nil
	}
	found, ok := c.schemas.Get(string(text))
	if !ok {
		found.schema, _ = c.compileSchema(text) // its error is reported for the schema itself
		found.size = len(text)
		c.schemas.Put(string(text), found)
	}
	return found.root
}

func (p *shapes) step(path string, d workflow.StepDeclaration, data *jsonschema.Schema) *shape {
	return p.stepObject(path, map[string]*shape{
		"status":     oneOf(10, textsOf(rules.StepPassed, rules.StepFailed, rules.StepRunning, rules.StepPending)),
		"passed":     scalar(cel.BoolType),
		"dispatches": scalar(cel.IntType),
		"data":       p.stepData(path+".data", d, data),
	})
}

// stepObject returns the shape of a step, or of what stands for one, with these fields and `clear`.
func (p *shapes) stepObject(path string, fields map[string]*shape) *shape {
	fields[fieldClear] = scalar(cel.BoolType)
	s := p.object(path, fields)
	s.step = true
	return s
}

func (p *shapes) stepData(path string, d workflow.StepDeclaration, data *jsonschema.Schema) *shape {
	switch d.Type {
	case workflow.NodeConsent:
		return p.object(path, map[string]*shape{"consent_status": oneOf(10, textsOf("success", "declined"))})
	case workflow.NodeReview:
		return p.object(path, map[string]*shape{"decision": oneOf(10, textsOf(rules.DecisionApprove, rules.DecisionReject))})
	case workflow.NodeCustomerInput:
		return p.object(path, p.answers(path, d))
	case workflow.NodeCheck:
		if data == nil {
			break
		}
		if known := p.ofSchema(path, data); known.fields != nil {
			if known.properties["source_ok"] == nil {
				known.fields["source_ok"] = scalar(cel.BoolType)
			}
			if known.properties["no_answer"] == nil {
				known.fields["no_answer"] = oneOf(20, textsOf(verification.OutcomeNoCoverage, verification.OutcomeInconclusive))
			}
			p.mayDiffer(known.fields, d)
			return known
		}
	case workflow.NodeChecks, workflow.NodeBranch, workflow.NodeEnd:
	}
	return anyObject()
}

// mayDiffer adds the fields that a difference adds to the data of a step.
func (p *shapes) mayDiffer(fields map[string]*shape, d workflow.StepDeclaration) {
	if !d.Differs {
		return
	}
	fields["analysis_ok"] = cmp.Or(fields["analysis_ok"], scalar(cel.BoolType))
	fields["differs"] = cmp.Or(fields["differs"], listOf(text(200), 32))
}

// answers returns the fields of a customer input and those that the engine adds.
func (p *shapes) answers(path string, d workflow.StepDeclaration) map[string]*shape {
	fields := map[string]*shape{}
	if d.Optional {
		fields["opted_out"] = scalar(cel.BoolType)
	}
	if slices.ContainsFunc(d.Fields, func(f workflow.InputField) bool { return f.Type == workflow.FieldLocation }) {
		fields["geo_ok"] = scalar(cel.BoolType)
	}
	for _, f := range d.Fields {
		fields[f.Name] = p.answer(path+"."+f.Name, f)
	}
	p.mayDiffer(fields, d)
	return fields
}

func (p *shapes) answer(path string, f workflow.InputField) *shape {
	switch f.Type {
	case workflow.FieldText, workflow.FieldEmail, workflow.FieldPhone:
		return text(longest(f, 1000))
	case workflow.FieldTextarea:
		return text(longest(f, 10_000))
	case workflow.FieldDate:
		date := text(10)
		date.date = true
		return date
	case workflow.FieldSelect:
		var values []string
		for _, o := range f.Options {
			values = append(values, o.Value)
		}
		return oneOf(0, textsOf(values...))
	case workflow.FieldNumber:
		return scalar(cel.DoubleType)
	case workflow.FieldCheckbox:
		return scalar(cel.BoolType)
	case workflow.FieldFile, workflow.FieldImage:
		return p.object(path, map[string]*shape{"document_id": text(36)})
	case workflow.FieldLocation:
		return p.object(path, map[string]*shape{
			"latitude": scalar(cel.DoubleType), "longitude": scalar(cel.DoubleType),
			"accuracy": scalar(cel.DoubleType), "denied": scalar(cel.BoolType),
		})
	case workflow.FieldGroup:
		fields, row := map[string]*shape{}, path+"[]"
		for _, in := range f.Fields {
			fields[in.Name] = p.answer(row+"."+in.Name, in)
		}
		_, most := f.Rows()
		return listOf(p.object(row, fields), uint64(most))
	}
	return anything()
}

func longest(f workflow.InputField, otherwise uint64) uint64 {
	if f.MaxLength > 0 {
		return uint64(f.MaxLength)
	}
	return otherwise
}

// ofSchema returns the shape of a value with a schema. CEL has no type for a list or an
// object that may be null.
func (p *shapes) ofSchema(path string, s *jsonschema.Schema) *shape {
	for s.Ref != nil && s.Types == nil && s.Properties == nil {
		s = s.Ref
	}
	kind, null := typeOf(s)
	var known *shape
	switch kind {
	case "string":
		known = text(limit(s.MaxLength))
	case "number", "integer":
		known = scalar(cel.DoubleType)
	case "boolean":
		known = scalar(cel.BoolType)
	case "array":
		if null {
			return anything()
		}
		items := anything()
		if len(s.PrefixItems) == 0 && s.Items2020 != nil {
			items = p.ofSchema(path+"[]", s.Items2020)
		}
		return listOf(items, limit(s.MaxItems))
	case "object":
		switch {
		case null:
			return anything()
		case s.Properties == nil:
			return anyObject()
		}
		object := p.object(path, map[string]*shape{})
		object.properties, object.open = s.Properties, open(s)
		return object
	default:
		return anything().ofEnum(s)
	}
	if null {
		known.cel = cel.NullableType(known.cel)
	}
	return known.ofEnum(s)
}

// ofEnum notes which values a schema allows.
func (s *shape) ofEnum(of *jsonschema.Schema) *shape {
	switch {
	case of.Const != nil:
		s.members = scalarsOf([]any{*of.Const})
	case of.Enum != nil:
		s.members = scalarsOf(of.Enum.Values)
	}
	s.date = of.Format != nil && of.Format.Name == "date" && s.cel.Kind() == types.StringKind
	return s
}

// oneOf returns the shape of a text with one of the values; any if there are none.
func oneOf(limit uint64, values []ref.Val) *shape {
	s := text(limit)
	if len(values) > 0 {
		s.members = values
	}
	return s
}

// open reports whether an object may have fields that its schema does not name, or may
// have them by a keyword that is not read here.
func open(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties != false ||
		len(s.PatternProperties)+len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.DependentSchemas) > 0 ||
		s.If != nil || s.Then != nil || s.Else != nil || s.Ref != nil
}

// typeOf returns the type of a schema, empty if it is not known, and whether null
// is allowed as well.
func typeOf(s *jsonschema.Schema) (kind string, null bool) {
	if s.Types == nil {
		if s.Properties != nil {
			kind = "object"
		}
		return kind, false
	}
	for _, name := range s.Types.ToStrings() {
		switch {
		case name == "null":
			null = true
		case kind == "":
			kind = name
		default:
			return "", false
		}
	}
	return kind, null
}

func limit(keyword *int) uint64 {
	if keyword == nil || *keyword > 1e9 {
		return 0
	}
	return uint64(max(0, *keyword))
}
