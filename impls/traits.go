package impls

// Traits say how a version works, for scenarios that need an ability and for
// the reader of a report. They describe; no check believes them.
type Traits struct {
	TTL       TTL
	Token     Token
	Release   Release
	Renew     Renew
	Wait      Wait
	Quorum    bool // asks Env.Nodes and needs a majority
	Extend    bool // it is an Extender: its leases can be prolonged on request
	Fencing   bool // its leases carry a fencing number
	Reentrant bool // the owner may acquire again what it holds
	Shared    bool // has a shared mode
	Fair      bool // grants in order of arrival
	Multi     bool // locks Config.Key and Config.Also as one

	// Replicated versions ask Env.Nodes for a majority like those with Quorum,
	// and are given nodes that are replicas of one another.
	Replicated bool

	// Replicas versions ask the primary whether its replicas have the grant, and
	// make no sense without any.
	Replicas bool
}

// TTL says how a grant gets its time to live.
type TTL string

// The values of TTL.
const (
	TTLNone     TTL = "none"     // the grant never expires
	TTLSeparate TTL = "separate" // a second command sets it
	TTLAtomic   TTL = "atomic"   // the granting command sets it
)

// Token says what value a grant stores.
type Token string

// The values of Token.
const (
	TokenNone   Token = "none"   // a constant that means nothing
	TokenFixed  Token = "fixed"  // a constant that is compared as if it were unique
	TokenClient Token = "client" // one value for all grants of a handle, as re-entrant locks have
	TokenUnique Token = "unique" // a new value for every attempt
)

// Release says how a grant is taken back.
type Release string

// The values of Release.
const (
	ReleaseBlind           Release = "blind"             // deletes whatever is there
	ReleaseCheckThenDelete Release = "check-then-delete" // compares in the client, then deletes
	ReleaseAtomic          Release = "atomic"            // compares and deletes in one step on the server
)

// Renew says how a grant is prolonged in the background.
type Renew string

// The values of Renew.
const (
	RenewNone  Renew = "none"  // never
	RenewBlind Renew = "blind" // checks in the client, then prolongs whatever is there
	RenewOwned Renew = "owned" // compares and prolongs in one step on the server
)

// Wait says how Acquire waits for a lock that is taken.
type Wait string

// The values of Wait.
const (
	WaitNone   Wait = "none"   // one attempt
	WaitPoll   Wait = "poll"   // tries again after a pause
	WaitNotify Wait = "notify" // is woken by the release
)
