// The bootstrap file: two tenants with the same kinds of workflows.

package noisy

import (
	"fmt"
	"maps"

	"github.com/verifyd/verifyd/verification"
	flow "github.com/verifyd/verifyd/verification/workflow"
)

// object is a JSON object.
type object = map[string]any

// The tenants and their accounts.
const (
	attackerTenant  = "0191f3c0-0000-7000-8000-0000000000a0"
	bystanderTenant = "0191f3c0-0000-7000-8000-0000000000b0"
	attackerID      = "attacker"
	bystanderID     = "bystander"
	apiKey          = "a-key-of-at-least-twenty-characters"
)

// The workflows of each tenant, by number; the hostile ones follow.
const (
	oneCheck  = iota + 1
	manyCards // as many checks as the scale says
	upload    // a form with a file
	deadHook  // one check; its receiver never answers
	firstHostile
)

// fileFields is how many files a form takes.
const fileFields = 6

// idOf returns the id of a tenant's workflow.
func idOf(tenant string, number int) verification.WorkflowID {
	const last, letter = 24, 34 // where the last part of a UUID begins, and where ours differ
	return verification.WorkflowID(fmt.Sprintf("%s%c%011d", tenant[:last], tenant[letter], number))
}

// fileField is a field of the form that takes a file.
func fileField(n int) string { return fmt.Sprintf("file_%d", n%fileFields) }

// bootstrap returns the bootstrap file of the hosts.
func bootstrap(cards, groups int, receiver, deadEnd string, hostile []Definition) object {
	attacker := workflows(attackerTenant, cards, receiver, deadEnd)
	bystander := workflows(bystanderTenant, cards, receiver, deadEnd)
	for _, d := range hostile {
		attacker = append(attacker, d.workflow)
	}
	tenants := []object{tenant(attackerTenant, attackerID, attacker), tenant(bystanderTenant, bystanderID, bystander)}
	for n := range groups {
		tenants = append(tenants, tenant(groupTenant(n), groupID(n), []object{groupWorkflow(groupTenant(n), receiver)}))
	}
	return object{"tenants": tenants}
}

// groupTenant and groupID are the id and the account of a tenant with a group.
func groupTenant(n int) string { return fmt.Sprintf("0191f3c0-0000-7000-8000-00%010x", 0xc000000000+n) }
func groupID(n int) string     { return fmt.Sprintf("group-%d", n) }

func memberKey(n int) string { return fmt.Sprintf("m%d", n) }

// groupWorkflow is a workflow of one group with as many members as there may be.
func groupWorkflow(tenant, receiver string) object {
	members := object{}
	for n := range flow.MaxMembers {
		members[memberKey(n)] = object{"provider": "sandbox", "key": memberKey(n)}
	}
	group := object{"type": "checks", "label": "Group", "members": members, "next": "done"}
	return workflow(idOf(tenant, oneCheck), "group", "group", receiver, object{"group": group, "done": object{"type": "end"}})
}

func tenant(id, name string, workflows []object) object {
	return object{
		"id": id, "name": name, "webhook_secret": "whsec_bm9pc3kgbmVpZ2hib3VycyBoYXZlIG5vIHNlY3JldHM=",
		"accounts": []object{{"client_id": name, "api_key": apiKey}}, "workflows": workflows,
	}
}

func workflows(tenant string, cards int, receiver, deadEnd string) []object {
	check := object{"type": "check", "provider": "sandbox", "label": "Check", "key": "c", "next": "done"}
	done := object{"type": "end"}
	all := object{"done": done}
	for n := range cards {
		c := maps.Clone(check)
		if n+1 < cards {
			c["next"] = fmt.Sprintf("c%d", n+1)
		}
		all[fmt.Sprintf("c%d", n)] = c
	}
	fields := object{"name": object{"type": "text", "required": true}}
	for n := range fileFields {
		fields[fileField(n)] = object{"type": "file", "accept": []string{"application/pdf"}}
	}
	form := object{"type": "customer_input", "next": "done", "fields": fields}
	return []object{
		workflow(idOf(tenant, oneCheck), "one-check", "c", receiver, object{"c": check, "done": done}),
		workflow(idOf(tenant, deadHook), "dead-hook", "c", deadEnd, object{"c": check, "done": done}),
		workflow(idOf(tenant, manyCards), "many-cards", "c0", receiver, all),
		workflow(idOf(tenant, upload), "upload", "form", receiver, object{"form": form, "done": done}),
	}
}

func workflow(id verification.WorkflowID, name, start, receiver string, nodes object) object {
	return object{
		"id": id, "workflow": name, "name": name, "start": start, "lifecycle_webhook_url": receiver, "nodes": nodes,
	}
}
