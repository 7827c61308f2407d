package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// maxDesync is by how much, at most, a Sentinel waits longer than another
	// before it begins the next failover, so that not all begin at once.
	maxDesync = time.Second

	// failoverTimeout is how long a failover may take; the next one begins twice as
	// long after it. Redis has three minutes by default, which only makes a lost
	// election, of ten seconds, cost more.
	failoverTimeout = 10 * time.Second
)

// failover is one under way, at the Sentinel that leads it or wants to.
type failover struct {
	epoch    int
	phase    phase
	since    time.Duration // of the phase
	promoted *peer
}

type phase int

const (
	electing phase = iota
	promoting
	reconfiguring
)

// act does what follows from what the Sentinel knows.
func (s *sentinel) act() {
	now := s.world.Now()
	if s.odown && s.failover == nil && (s.started == 0 || now-s.started > 2*failoverTimeout) {
		s.newEpoch(s.epoch + 1)
		s.event("+try-failover", s.primary.host.name)
		s.failover = &failover{epoch: s.epoch, since: now}
		s.started = now + s.desync()
		s.askedAt = 0
	}
	if s.primary.down && (s.askedAt == 0 || now-s.askedAt >= askPeriod-alert/2) {
		s.askedAt = now
		s.ask()
	}
	switch f := s.failover; {
	case f == nil:
	case f.phase == electing:
		s.elect(f)
	case f.phase == promoting && now-f.since > failoverTimeout:
		s.abort("-failover-abort-slave-timeout")
	case f.phase == reconfiguring:
		s.finish(f)
	}
}

func (s *sentinel) newEpoch(epoch int) {
	if epoch > s.epoch {
		s.epoch = epoch
		s.event(fmt.Sprintf("+new-epoch %d", epoch), s.primary.host.name)
	}
}

// desync is by how much the Sentinel lets the others go first, by chance.
func (s *sentinel) desync() time.Duration {
	return time.Duration(mix(s.world.spec.Seed^mix(hashOf(s.name)+uint64(s.epoch))) % uint64(maxDesync))
}

// ask asks the others whether the primary is down for them, and for their vote if
// this Sentinel wants to lead.
func (s *sentinel) ask() {
	epoch, subject, wantsVote := s.epoch, s.primary.host.name, s.failover != nil
	for _, p := range s.order {
		if p.node != nil {
			continue
		}
		other := s.world.sentinelAt(p.host)
		s.tell(p.host, func() {
			knows := other.primary.host.name == subject
			agrees := knows && other.primary.down && other.tilted == 0
			leader, leaderEpoch := "", 0
			if wantsVote && knows {
				other.vote(epoch, s.name)
				leader, leaderEpoch = other.votedFor, other.voted
			}
			p.host.tell(&s.host, func() {
				p.agrees, p.agreedAt = agrees, s.world.Now()
				if leader != "" {
					p.votes, p.votesEpoch = leader, leaderEpoch
				}
			})
		})
	}
}

func (w *world) sentinelAt(h *host) *sentinel {
	for _, s := range w.watch {
		if &s.host == h {
			return s
		}
	}
	return nil
}

// vote gives the one vote of an epoch to whoever asks first.
func (s *sentinel) vote(epoch int, candidate string) {
	s.newEpoch(epoch)
	if s.voted >= epoch || s.epoch > epoch {
		return
	}
	s.voted, s.votedFor = epoch, candidate
	s.event(fmt.Sprintf("+vote-for-leader %s %d", candidate, epoch), s.primary.host.name)
	if candidate != s.name {
		s.started = s.world.Now() + s.desync() // it leaves the other time
	}
}

// elect counts the votes.
func (s *sentinel) elect(f *failover) {
	s.vote(f.epoch, s.name)
	voters, votes := 1, 0
	if s.voted == f.epoch && s.votedFor == s.name {
		votes = 1
	}
	for _, p := range s.order {
		if p.node == nil {
			voters++
			if p.votesEpoch == f.epoch && p.votes == s.name {
				votes++
			}
		}
	}
	switch {
	case votes >= voters/2+1 && votes >= s.quorum:
		s.event("+elected-leader", s.primary.host.name)
		s.promote(f)
	case s.world.Now()-s.started > failoverTimeout:
		s.abort("-failover-abort-not-elected")
	}
}

// promote makes the best replica the primary.
func (s *sentinel) promote(f *failover) {
	best := s.best()
	if best == nil {
		s.abort("-failover-abort-no-good-slave")
		return
	}
	f.phase, f.since, f.promoted = promoting, s.world.Now(), best
	s.event("+selected-slave", best.host.name)
	s.command(best, nil)
}

// best is the replica to promote: one that answers, whose link to the primary was
// not down for too long, and of these the one that has most of its writes.
func (s *sentinel) best() *peer {
	now := s.world.Now()
	tooLong, tooOld := s.world.spec.Replicas.DownAfter*10, 3*infoPeriod
	if s.primary.down {
		tooLong += now - s.primary.downAt
		tooOld = 5 * pingPeriod
	}
	var good []*peer
	for _, p := range s.order {
		if p.node != nil && p != s.primary && !p.down && !p.refused && !p.isPrimary &&
			now-p.heard <= 5*pingPeriod && p.informed != 0 && now-p.informed <= tooOld && p.linkDown <= tooLong {
			good = append(good, p)
		}
	}
	slices.SortStableFunc(good, func(a, b *peer) int { return cmp.Compare(b.offset, a.offset) })
	if len(good) == 0 {
		return nil
	}
	return good[0]
}

// promoted is the promoted replica's word that it is a primary: from now on it is
// what this Sentinel tells.
func (s *sentinel) promoted() {
	f := s.failover
	f.phase, f.since = reconfiguring, s.world.Now()
	s.config = f.epoch
	s.event("+promoted-slave", f.promoted.host.name)
	s.announced.set(s.world.Now(), f.promoted.node)
	for _, p := range s.order {
		p.reconfigured = false
		if p.node != nil && p != f.promoted && p != s.primary && !p.down {
			s.command(p, f.promoted.node)
		}
	}
	s.greet()
}

// finish ends the failover when all replicas follow the new primary, or have had
// time to.
func (s *sentinel) finish(f *failover) {
	for _, p := range s.order {
		if p.node != nil && p != f.promoted && p != s.primary && !p.down && !p.reconfigured && s.world.Now()-f.since < failoverTimeout {
			return
		}
	}
	s.event("+failover-end", s.primary.host.name)
	s.failover = nil
	s.switchTo(f.promoted)
}

func (s *sentinel) abort(why string) {
	s.event(why, s.primary.host.name)
	s.failover = nil
}

// switchTo goes by a new primary and tells the clients. All that the Sentinel
// knew of nodes is void.
func (s *sentinel) switchTo(p *peer) {
	old, now := s.primary, s.world.Now()
	s.event("+switch-master "+old.host.name, p.host.name)
	s.primary, s.odown = p, false
	for _, o := range s.order {
		o.agrees = false
		if o.node != nil {
			o.renew(now, p)
		}
	}
	s.announced.set(now, p.node)
	oldIP, oldPort := hostPort(old.host.addr)
	ip, port := hostPort(p.host.addr)
	s.publish("+switch-master", fmt.Sprintf("%s %s %s %s %s", MasterName, oldIP, oldPort, ip, port))
}

// greetNow greets when it is time to.
func (s *sentinel) greetNow() {
	if s.config > 0 && s.world.Now()-s.greetedAt >= helloPeriod-alert/2 {
		s.greet()
	}
}

// greet tells the other Sentinels of the configuration, in which the newest wins.
func (s *sentinel) greet() {
	s.greetedAt = s.world.Now()
	epoch, config, primary := s.epoch, s.config, s.current()
	for _, p := range s.order {
		if p.node != nil {
			continue
		}
		other := s.world.sentinelAt(p.host)
		s.tell(p.host, func() {
			other.newEpoch(epoch)
			if config <= other.config {
				return
			}
			other.config, other.failover = config, nil
			if next := other.peers[primary.name]; next != other.primary {
				other.event("+config-update-from "+s.name, primary.name)
				other.switchTo(next)
			}
		})
	}
}

// current is the node that the Sentinel names as the primary: the promoted one
// from the moment it said that it is one.
func (s *sentinel) current() *node {
	if f := s.failover; f != nil && f.phase == reconfiguring {
		return f.promoted.node
	}
	return s.primary.node
}
