// A workflow file becomes a definition.

package definition

import (
	"github.com/verifyd/verifyd/verification"
)

// Document is a workflow as it was read, and where everything in it stands.
type Document struct {
	// File is the name the workflow was read from.
	File       string
	Definition verification.Definition

	root *tree
	base *path // of an inline workflow: its place in the file
}

// ReadWorkflow reads a workflow file. The error is a *Faults; it unwraps to an
// ErrInvalid. The definition is as it is written: its ID is empty when the file
// has none, and nothing but the form has been checked.
func ReadWorkflow(file string, raw []byte) (Document, error) {
	f := &faults{}
	d := read(file, raw, f)
	if err := f.err("workflow"); err != nil {
		return Document{}, err
	}
	return d, nil
}

// read makes a document as far as the faults allow; it has no root when there
// is nothing to go on with.
func read(file string, raw []byte, f *faults) Document {
	d := Document{File: file}
	if d.root = parse(file, raw, f); d.root != nil {
		r := &reader{file: file, faults: f}
		d.Definition = r.workflow(d.root, d.root.at, nil)
	}
	return d
}

func (r *reader) workflow(t *tree, at place, p *path) verification.Definition {
	f := r.object(t, at, p)
	d := verification.Definition{
		Workflow:              f.text("workflow"),
		Name:                  f.text("name"),
		Description:           f.text("description"),
		RunTTLSeconds:         f.whole("run_ttl_seconds"),
		AbandonTimeoutSeconds: f.whole("abandon_timeout_seconds"),
		LifecycleWebhookURL:   f.text("lifecycle_webhook_url"),
		Publish:               f.boolean("publish"),
		InputSchema:           f.data("input_schema"),
		Start:                 verification.NodeID(f.text("start")),
	}
	if id := f.text("id"); id != "" {
		parsed, err := verification.ParseWorkflowID(id)
		if err != nil {
			f.fault(f.place("id"), p.field("id"), sentence(err))
		}
		d.ID = parsed
	}
	if nodes := f.child("nodes"); nodes != nil {
		d.Nodes = make(map[verification.NodeID]verification.Node, len(nodes.tree.entries))
		nodes.children(func(name string, node *fields) {
			d.Nodes[verification.NodeID(name)] = node.node()
		})
	}
	f.close()
	return d
}

func (f *fields) node() verification.Node {
	to := func(name string) verification.NodeID { return verification.NodeID(f.text(name)) }
	kind := verification.NodeType(f.text("type"))
	f.typed("a node of type "+string(kind), kind.Fields())
	n := verification.Node{
		Type:  kind,
		Label: f.text("label"),
		Next:  to("next"),

		Signal:     f.text("signal"),
		Text:       f.text("text"),
		OnDeclined: to("on_declined"),
		Optional:   f.flag("optional"),

		Key:            f.text("key"),
		Provider:       f.text("provider"),
		With:           f.data("with"),
		TimeoutSeconds: f.number("timeout_seconds"),
		Fallback:       f.text("fallback"),
		OnFailed:       to("on_failed"),
		OnUnavailable:  to("on_unavailable"),

		Else:     to("else"),
		Reason:   f.text("reason"),
		OnReject: to("on_reject"),

		Outcome: f.text("outcome"),
	}
	if inputs := f.child("fields"); inputs != nil {
		inputs.children(func(name string, input *fields) {
			n.Fields = append(n.Fields, input.input(name))
		})
	}
	if retry := f.child("retry"); retry != nil {
		n.Retry = retry.retry()
	}
	if poll := f.child("poll"); poll != nil {
		n.Poll = poll.poll()
	}
	f.objects("rules", func(rule *fields) {
		n.Rules = append(n.Rules, rule.rule())
	})
	f.close()
	return n
}

func (f *fields) retry() *verification.Retry {
	defer f.close()
	return &verification.Retry{
		MaxDispatches:     int(f.whole("max_dispatches")),
		BackoffSeconds:    f.number("backoff_seconds"),
		MaxBackoffSeconds: f.number("max_backoff_seconds"),
	}
}

func (f *fields) poll() *verification.Poll {
	defer f.close()
	return &verification.Poll{
		IntervalSeconds: f.number("interval_seconds"),
		TimeoutSeconds:  f.number("timeout_seconds"),
	}
}

func (f *fields) rule() verification.Rule {
	defer f.close()
	return verification.Rule{When: f.text("when"), Next: verification.NodeID(f.text("next"))}
}

func (f *fields) input(name string) verification.InputField {
	kind := verification.FieldType(f.text("type"))
	f.typed("a field of type "+string(kind), kind.Fields())
	in := verification.InputField{
		Name:      name,
		Type:      kind,
		Label:     f.text("label"),
		Help:      f.text("help"),
		Required:  f.flag("required"),
		Pattern:   f.text("pattern"),
		MaxLength: int(f.whole("max_length")),
		Min:       f.float("min"),
		Max:       f.float("max"),
		Accept:    f.texts("accept"),
	}
	f.items("options", func(item *tree, p *path) {
		in.Options = append(in.Options, f.option(item, p))
	})
	f.objects("within", func(a *fields) {
		a.require("latitude", "longitude", "radius_km")
		in.Within = append(in.Within, verification.Area{
			Latitude: a.number("latitude"), Longitude: a.number("longitude"), RadiusKM: a.number("radius_km"),
		})
		a.close()
	})
	f.close()
	return in
}

// option reads one option of a select: an object, or a string that is its value.
func (f *fields) option(item *tree, p *path) verification.Option {
	switch item.kind {
	case kindText:
		return verification.Option{Value: item.word}
	case kindNumber, kindBoolean:
		f.wrongType(item, item.at, p, kindText)
		return verification.Option{}
	case kindNull, kindObject, kindList:
	}
	o := f.object(item, item.at, p)
	defer o.close()
	return verification.Option{Value: o.text("value"), Label: o.text("label")}
}
