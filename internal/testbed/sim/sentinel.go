package sim

import (
	"slices"
	"sync"
	"time"

	"lockpick/checker/history"
)

// The periods of a Sentinel, those of Redis 7.
const (
	pingPeriod  = time.Second
	infoPeriod  = 10 * time.Second // once a second while something is wrong
	askPeriod   = time.Second      // whether the primary is down for others too
	helloPeriod = 2 * time.Second

	// alert is how often a Sentinel looks at what it knows while something is
	// wrong. It looks once a second otherwise, which nobody can tell.
	alert = 100 * time.Millisecond

	// convertAfter is how long a node that should be a replica must say that it is
	// a primary until it is told otherwise: four hellos.
	convertAfter = 4 * helloPeriod

	// A Sentinel that has stood still for more than tiltTrigger does not trust what
	// it knows, and does nothing but ask for tiltPeriod.
	tiltTrigger = 2 * time.Second
	tiltPeriod  = 30 * time.Second
)

// MasterName is what the Sentinels call the primary that they watch.
const MasterName = "lockpick"

// sentinel watches the primary and its replicas: it pings them, agrees with the
// other Sentinels that the primary is down, is voted or votes for a leader, and
// as the leader promotes the most advanced replica and announces it (Redis,
// "High availability with Redis Sentinel" and sentinel.c). It is simpler than
// Redis' in this:
//
//   - it knows all nodes and Sentinels from the start, and forgets none;
//   - a ping is answered with all that INFO would say, of which it takes notice
//     only once per infoPeriod;
//   - hellos go from Sentinel to Sentinel over their links rather than through the
//     nodes, and begin with the first failover;
//   - all replicas are told of a new primary at once (parallel-syncs);
//   - of events, those that only name the next state of a failover are left out.
//
// It belongs to the goroutine of world.loop, except for announced.
type sentinel struct {
	host
	quorum int

	primary *peer
	peers   map[string]*peer // the nodes, the primary included, and the other Sentinels
	order   []*peer
	epoch   int // current
	config  int // of the configuration that it goes by

	votedFor  string // in the epoch voted
	voted     int
	started   time.Duration // when a failover last began, here or at whoever it voted for; 0 for never
	failover  *failover
	askedAt   time.Duration // when it last asked the others
	greetedAt time.Duration
	odown     bool
	stilled   time.Duration // when it began to stand still
	tilted    time.Duration // since when it does not trust what it knows; 0 when it does

	announced    announcement
	silent, gone bool // it does not answer; it is down: what clients meet, guarded by world.mu
}

// peer is what a Sentinel knows of a node or of another Sentinel.
type peer struct {
	host *host
	node *node // nil for a Sentinel

	pinged  time.Duration // when last; 0 for never
	waiting time.Duration // since which ping it has not answered; 0 when it has answered all
	refused bool          // and the last ping met a closed port
	heard   time.Duration // its last answer
	down    bool          // it has not answered for too long
	downAt  time.Duration // when it last became so; 0 for never

	// of a node, as of its last INFO
	informed  time.Duration // when that was; 0 for never
	isPrimary bool
	roleSince time.Duration // when it first said so
	offset    int64
	linkDown  time.Duration
	follows   *node
	followed  time.Duration // since when

	reconfigured bool // of a replica: it has done as it was told in this failover

	// of a Sentinel
	agrees     bool // the primary is down for it too
	agreedAt   time.Duration
	votes      string // whom it voted for
	votesEpoch int
}

// silence is how long the peer has not answered, as Sentinel counts: from the
// ping that was not answered; or, where nobody is there to be pinged, from the
// last answer.
func (p *peer) silence(now time.Duration) time.Duration {
	switch {
	case p.refused:
		return now - p.heard
	case p.waiting != 0:
		return now - p.waiting
	default:
		return 0
	}
}

// answers takes note of an answer.
func (p *peer) answers(now time.Duration) { p.heard, p.waiting, p.refused = now, 0, false }

// renew makes the peer one that was just made out: up, and of the role that it
// should have.
func (p *peer) renew(now time.Duration, primary *peer) {
	p.answers(now)
	p.pinged, p.down, p.downAt, p.agrees = 0, false, 0, false
	p.informed, p.offset, p.linkDown = 0, 0, 0
	p.isPrimary, p.roleSince, p.followed = p == primary, now, now
}

func newSentinel(w *world, name, addr string) *sentinel {
	return &sentinel{host: host{world: w, name: name, addr: addr}, quorum: len(w.spec.Topology.Sentinels)/2 + 1, peers: map[string]*peer{}}
}

// begin lets the Sentinel watch.
func (s *sentinel) begin(primary *node) {
	for _, name := range s.world.spec.Topology.Nodes {
		n := s.world.nodes[name]
		s.know(&peer{host: &n.host, node: n, informed: 1, isPrimary: n == primary, follows: n.role.primary})
	}
	for _, o := range s.world.watch {
		if o != s {
			s.know(&peer{host: &o.host})
		}
	}
	s.primary = s.peers[primary.name]
	s.announced.set(0, primary)
	// each looks at times of its own
	s.world.After(time.Duration(mix(s.world.spec.Seed^mix(hashOf(s.name)))%uint64(pingPeriod)), s.look)
}

func (s *sentinel) know(p *peer) {
	s.peers[p.host.name] = p
	s.order = append(s.order, p)
}

// meet lets clients meet the Sentinel as it is.
func (s *sentinel) meet() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.silent, s.gone = s.down || s.pauses > 0, s.down
}

func (s *sentinel) pause() {
	if s.pauses == 0 {
		s.stilled = s.world.Now()
	}
	s.host.pause()
}

func (s *sentinel) resume() {
	s.host.resume()
	if now := s.world.Now(); s.pauses == 0 && !s.down && now-s.stilled > tiltTrigger {
		s.tilted = now
		s.event("+tilt", s.name)
	}
}

// start brings the Sentinel up again. Of what it knew it has kept what is in its
// configuration file: the primary, the epochs and its vote.
func (s *sentinel) start() {
	s.down = false
	s.failover, s.odown, s.started, s.tilted = nil, false, 0, 0
	for _, p := range s.order {
		p.renew(s.world.Now(), s.primary)
	}
}

// event records something in Sentinel's own words.
func (s *sentinel) event(text, target string) {
	s.world.record(history.Record{Who: s.name, Kind: history.Observe, Op: history.Sentry, Text: text, Target: target})
}

// look is the Sentinel's clockwork.
func (s *sentinel) look() {
	if s.world.over.Load() {
		return
	}
	if !s.down && s.pauses == 0 {
		s.ping()
		if s.trusts() {
			s.judge()
			s.act()
		}
		s.greetNow()
	}
	next := pingPeriod
	if s.troubled() {
		next = alert
	}
	s.world.After(next, s.look)
}

// trusts reports whether the Sentinel goes by what it knows.
func (s *sentinel) trusts() bool {
	if s.tilted != 0 && s.world.Now()-s.tilted >= tiltPeriod {
		s.tilted = 0
		s.event("-tilt", s.name)
	}
	return s.tilted == 0
}

// troubled reports whether something happens that a second is too long for. That
// a replica or another Sentinel is down is no news.
func (s *sentinel) troubled() bool {
	if s.failover != nil {
		return true
	}
	return slices.ContainsFunc(s.order, func(p *peer) bool {
		return (!p.down || p == s.primary) && s.world.Now()-p.heard > pingPeriod+MaxLatency*4
	})
}

func (s *sentinel) ping() {
	now := s.world.Now()
	for _, p := range s.order {
		if recent := p.pinged != 0 && now-p.pinged < pingPeriod-alert/2; recent && (p.node == nil || s.informedEnough(p)) {
			continue
		}
		p.pinged = max(now, 1)
		if p.waiting == 0 {
			p.waiting = p.pinged
		}
		s.knock(p.host, func() { s.answer(p) }, func() { p.refused = true })
	}
}

// answer is the arrival of a ping, which is answered with INFO too.
func (s *sentinel) answer(p *peer) {
	n := p.node
	if n == nil {
		p.host.tell(&s.host, func() { p.answers(s.world.Now()) })
		return
	}
	primary, follows, offset, linkDown := n.role.primary == nil, n.role.primary, n.role.offset, n.linkDown()
	p.host.tell(&s.host, func() {
		p.answers(s.world.Now())
		if !s.informedEnough(p) {
			s.inform(p, primary, follows, offset, linkDown)
		}
	})
}

// informedEnough reports whether INFO would not be asked again yet.
func (s *sentinel) informedEnough(p *peer) bool {
	period := infoPeriod
	if p.node != s.primary.node && (s.primary.down || s.failover != nil || p.linkDown > 0) {
		period = pingPeriod
	}
	return p.informed != 0 && s.world.Now()-p.informed < period-alert
}

// inform takes in what a node says of itself.
func (s *sentinel) inform(p *peer, primary bool, follows *node, offset int64, linkDown time.Duration) {
	now := s.world.Now()
	if p.isPrimary != primary {
		p.isPrimary, p.roleSince = primary, now
	}
	if p.follows != follows {
		p.follows, p.followed = follows, now
	}
	p.informed, p.offset, p.linkDown = max(now, 1), offset, linkDown
	f := s.failover
	switch {
	case s.tilted != 0:
	case f != nil && f.phase == promoting && p == f.promoted && primary:
		s.promoted()
	case f != nil && f.phase == reconfiguring && !primary && follows == f.promoted.node && linkDown == 0:
		p.reconfigured = true
	case f != nil || p == s.primary || !s.sane():
	case primary && !recently(now, p.downAt, convertAfter) && now-p.roleSince > convertAfter:
		s.event("+convert-to-slave", p.host.name)
		s.command(p, s.primary.node)
	case !primary && follows != s.primary.node && !recently(now, p.downAt, failoverTimeout) && now-p.followed > failoverTimeout:
		s.event("+fix-slave-config", p.host.name)
		s.command(p, s.primary.node)
	}
}

// recently reports whether a node became unreachable so lately that a newer
// configuration may be on its way.
func recently(now, downAt, lately time.Duration) bool { return downAt != 0 && now-downAt <= lately }

// sane reports whether the primary is one to follow.
func (s *sentinel) sane() bool {
	return s.primary.isPrimary && !s.primary.down && !s.odown && s.world.Now()-s.primary.informed < 2*infoPeriod
}

// command tells a node whose replica it is to be from now on; nil makes it a
// primary. Its clients' connections are closed, so that they ask again.
func (s *sentinel) command(p *peer, primary *node) {
	n := p.node
	s.tell(p.host, func() {
		if primary == nil {
			n.bePrimary()
		} else if n != primary {
			n.beReplica(primary)
		}
		n.killClients()
	})
}

// judge decides who is down.
func (s *sentinel) judge() {
	now := s.world.Now()
	for _, p := range s.order {
		down := p.silence(now) > s.world.spec.Replicas.DownAfter
		switch {
		case down && !p.down:
			p.down, p.downAt = true, now
			s.event("+sdown", p.host.name)
		case !down && p.down:
			p.down = false
			s.event("-sdown", p.host.name)
		}
	}
	agreed := 0
	if s.primary.down {
		agreed = 1
		for _, p := range s.order {
			if p.node == nil && p.agrees && now-p.agreedAt < 5*askPeriod {
				agreed++
			}
		}
	}
	switch odown := agreed >= s.quorum; {
	case odown && !s.odown:
		s.odown = true
		s.event("+odown", s.primary.host.name)
	case !odown && s.odown:
		s.odown = false
		s.event("-odown", s.primary.host.name)
	}
}

// announcement is the primary that clients are told, and what it was before. A
// client that asks at the very instant of a change hears of the old one, so that
// it does not matter which of the two goroutines runs first.
type announcement struct {
	mu       sync.Mutex
	since    time.Duration
	now, was *node
}

func (a *announcement) set(t time.Duration, n *node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now == nil {
		a.was = n
	} else if t != a.since {
		a.was = a.now
	}
	a.now, a.since = n, t
}

func (a *announcement) at(t time.Duration) *node {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t > a.since {
		return a.now
	}
	return a.was
}
