// Actors: who a use case is carried out for.

package verification

import "context"

// ActorKind is a kind of actors.
type ActorKind string

// The kinds of actors.
const (
	ActorAccount  ActorKind = "account"  // a program with the credentials of a tenant
	ActorReviewer ActorKind = "reviewer" // a person in the console
	ActorOperator ActorKind = "operator" // a person with verifyctl, or a bootstrap file
	ActorSystem   ActorKind = "system"   // the service itself, or nobody who is known
)

// Actor is who a use case is carried out for, as the audit trail names them.
type Actor struct {
	Kind ActorKind `json:"kind"`
	// ID is the client id of an account, the Key of a reviewer's Person, or the name of an operator.
	ID string `json:"id,omitempty"`
	// Name is what others see; empty if it is the ID.
	Name string `json:"name,omitempty"`
	// Role is the role of a person in the console at that time; empty if it is not known.
	Role Role `json:"role,omitempty"`
}

// ReviewerActor returns the actor of a reviewer.
func ReviewerActor(p Person) Actor { return Actor{Kind: ActorReviewer, ID: p.Key(), Name: p.Name} }

type actorKey struct{}

// WithActor returns a context whose use cases are carried out for an actor. Driving adapters call it once, where
// they have authenticated a request.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context, and whether it has one.
func ActorOf(ctx context.Context) (Actor, bool) {
	a, ok := ctx.Value(actorKey{}).(Actor)
	return a, ok
}
