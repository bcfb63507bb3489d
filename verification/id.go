// The identifiers of tenants, workflows, runs and nodes.

package verification

import (
	"strconv"
	"strings"
)

// TenantID names a tenant: a lower-case UUID. Every read and write is scoped
// by one.
type TenantID string

// WorkflowID names a workflow of a tenant: a lower-case UUID.
type WorkflowID string

// RunID names a run: a lower-case UUID.
type RunID string

// NodeID names a node inside one workflow definition: a lower-case letter
// followed by letters, digits and underscores, at most 64 characters. The API
// shows it as node_id. A step that is a part of a node has an id that begins with it: see Parts.
type NodeID string

// Member returns the id of a member of a group of checks, such as address.bureau.
func (id NodeID) Member(name string) NodeID { return id + "." + NodeID(name) }

// Element returns the id of an element, 1 for the first, of a node with for_each, such as owners[2].
func (id NodeID) Element(n int) NodeID {
	return id + NodeID("["+strconv.Itoa(n)+"]")
}

// Parts returns the node of the definition that a step belongs to, the number of the element, and the name of
// the member: owners, 2 and bureau of owners[2].bureau. The element is 0 and the member empty if there is none.
func (id NodeID) Parts() (node NodeID, element int, member string) {
	i := 0
	for i < len(id) && id[i] != '[' && id[i] != '.' {
		i++
	}
	if i == len(id) {
		return id, 0, ""
	}
	node, rest := id[:i], string(id[i:])
	if number, after, ok := strings.Cut(rest, "]"); ok && number[0] == '[' {
		element, _ = strconv.Atoi(number[1:])
		rest = after
	}
	return node, element, strings.TrimPrefix(rest, ".")
}

// InDefinition returns the id without the number of an element: owners.bureau for owners[2].bureau.
func (id NodeID) InDefinition() NodeID {
	node, element, member := id.Parts()
	switch {
	case element == 0:
		return id
	case member == "":
		return node
	}
	return node.Member(member)
}

// RunRef names a run and its tenant.
type RunRef struct {
	Tenant TenantID
	Run    RunID
}

// ParseTenantID parses a UUID in its 36-character form, in either case.
func ParseTenantID(s string) (TenantID, error) {
	id, err := parseUUID("tenant", s)
	return TenantID(id), err
}

// ValidateTenantID returns ErrInvalid unless id is a UUID in lower case, as
// ParseTenantID returns it.
func ValidateTenantID(id TenantID) error {
	if parsed, err := ParseTenantID(string(id)); err != nil || parsed != id {
		return InvalidField("tenant", "id", "must be a UUID in lower case")
	}
	return nil
}

// ParseWorkflowID parses a UUID in its 36-character form, in either case.
func ParseWorkflowID(s string) (WorkflowID, error) {
	id, err := parseUUID("workflow", s)
	return WorkflowID(id), err
}

// ParseRunID parses a UUID in its 36-character form, in either case.
func ParseRunID(s string) (RunID, error) {
	id, err := parseUUID("run", s)
	return RunID(id), err
}

// parseUUID accepts only the hexadecimal form with dashes: no braces, no urn:
// prefix. It returns ErrInvalid for any other text.
func parseUUID(subject, s string) (string, error) {
	valid := len(s) == 36
	for i := range len(s) {
		c := s[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			valid = valid && c == '-'
		} else {
			valid = valid && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F')
		}
	}
	if !valid {
		return "", Invalid(subject, "an id must be a UUID")
	}
	return strings.ToLower(s), nil
}
