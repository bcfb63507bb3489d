// Descriptions of providers, and what a definition is checked against.

package workflow

import (
	"maps"
	"slices"

	"github.com/verifyd/verifyd/verification"
)

// Describe returns the description of a provider. If it is no Describer, the description
// says only whether it is a Rescreener, which screens, and of which lists.
func Describe(p verification.Provider) (d verification.ProviderDescription) {
	if describer, ok := p.(verification.Describer); ok {
		d = describer.Describe()
	}
	if r, ok := p.(verification.Rescreener); ok {
		d.Rescreens, d.Screens = true, true
		if versions := r.ListVersions(); versions != nil {
			d.Lists = slices.AppendSeq([]string{}, maps.Keys(versions))
			slices.Sort(d.Lists)
		}
	}
	return d
}

// Descriptions returns the descriptions of providers by their names.
func Descriptions(providers map[string]verification.Provider) map[string]verification.ProviderDescription {
	described := make(map[string]verification.ProviderDescription, len(providers))
	for name, p := range providers {
		described[name] = Describe(p)
	}
	return described
}

// checkDescriptions reports the providers of the definition that describe themselves with
// a schema that is not valid, and leaves their descriptions out.
func (v *validator) checkDescriptions(l ExpressionCompiler) {
	v.described = maps.Clone(v.described)
	checked := map[string]bool{}
	check := func(at, name string) {
		d := v.described[name]
		for _, schema := range []verification.Data{d.With, d.Data} {
			if schema == nil || checked[name] {
				continue
			}
			if _, err := l.Schema(schema); err != nil {
				v.problem(at, "the provider describes itself with a schema that is not valid: %v", err)
				delete(v.described, name)
			}
		}
		checked[name] = true
	}
	for _, id := range v.names() {
		for _, s := range v.def.checksAt(id) {
			check(nodePath(s.id)+".provider", s.check.Provider)
			check(nodePath(s.id)+".fallback", s.check.Fallback)
		}
	}
}

// describe adds the descriptions of the providers of checks to the declarations at a
// node; with fallbacks, those of the fallbacks where checks have one. The data of a check
// with a fallback is known only if both providers describe it. ok is false if nothing was
// added.
func (v *validator) describe(d Declarations, at verification.NodeID, fallbacks bool) (_ Declarations, ok bool) {
	extent := ofProviders
	if fallbacks {
		extent = ofFallbacks
	}
	d.Steps = maps.Clone(d.Steps)
	for id, step := range d.Steps {
		n := v.def.Nodes[id]
		step.Data = v.data(n, fallbacks)
		ok = ok || step.Data != nil && (!fallbacks || n.Fallback != "")
		step.Members = v.declaredMembers(id, n, extent)
		for _, m := range n.Members {
			ok = ok || step.Members[m.Name].Data != nil && (!fallbacks || m.Fallback != "")
		}
		d.Steps[id] = step
	}
	if d.Each {
		d.Item = v.elements(v.def.Nodes[at], func(check Node) verification.Data { return v.data(check, fallbacks) })
	}
	return d, ok
}

// data returns the schema of the data of a check, of the fallback if there is one and fallbacks is true; nil if it is not known.
func (v *validator) data(n Node, fallbacks bool) verification.Data {
	data := v.described[n.Provider].Data
	if other := v.described[n.Fallback].Data; n.Fallback != "" && (fallbacks || other == nil) && data != nil {
		return other
	}
	return data
}

// compiled returns a text compiled under each of the declarations. The first ones do not
// depend on descriptions: what they give is stored. The others are there to find problems.
func compiled[T any](all []Declarations, compile func(Declarations) (T, error)) ([]T, error) {
	found := make([]T, len(all))
	for i, d := range all {
		c, err := compile(d)
		if err != nil {
			return nil, err
		}
		found[i] = c
	}
	return found, nil
}
