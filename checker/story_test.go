package checker

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockpick/checker/history"
)

// A story is a history as text, one line per operation or record, in any order:
//
//	topology quorum=3 redis-1 redis-2 redis-3       default: quorum=1 redis-1
//	topology quorum=1 primary=redis-1 redis-1 redis-2
//	lock ttl=30s wait=60s also=order:124            default: no TTL, no wait
//	lock key=order count=2                          two locks, order:1 and order:2
//	resource stock 200                              default: register 0
//	clients client-1 client-2 threads=2             default: these two, each a process of its own
//	bound availability=10s commands=5 renewals=2    overtakes, connections, subscriptions and throughput too
//	check honesty ownership                         whose findings are shown
//
//	client-1 acquire 1ms..2ms ok a until=30s        invoke and end; a is the owner
//	client-1 acquire 1ms.. a                        never ended
//	client-1 acquire 3ms..4ms ok a depth=2          nested; shared=yes, fence=7
//	client-1 read 3ms..4ms ok 200
//	client-1 write 5ms..6ms unknown 199             fence=7
//	client-1 change 5ms..6ms ok -1
//	probe read 70s..71s ok 199 round=0
//	client-1 extend 5ms..6ms ok a owner=b           the lease that it returned has another owner
//	client-1 lost 7ms a
//	client-1 done 8ms
//	redis-1 granted 1.5ms a of client-1 ttl=30s     by client-1 is understood; "by -" is nobody
//	redis-1 replaced 3ms a=1,b=1 of client-2 was=a=1  a hash of two fields
//	redis-1 deleted 9ms b of client-2 by client-1
//	redis-1 replaced 9ms b of client-2 was=a by client-2
//	redis-1 command 9ms SET by client-1 sent=8ms    reply=0, to the end of the line
//	redis-1 role 9ms replica of redis-2             or "primary"
//	redis-1 load 9s connections=7 subscriptions=2
//	redis-1 keys 60s a of client-1 ttl=none text=after the lease
//	store apply 6ms client-1 199 was=200            key=order:2 where there are several locks
//	store final 60s 199
//	world pause 1s..5s client-1                     a fault; "crash 1s client-1" is never healed
//	world quiet 50s
//	world looked 80s after the lease
//	world stuck 80s client-1                        and "world left 90s"
//	end 90s                                         and the text of the End record, if any
//	cut 90s                                         the history stops there
//
// A line's fields are "key=value" anywhere; round=1 is understood.
type story struct {
	h      *history.History
	lines  []int // by record: the line of the text
	checks []string
	ids    int
	line   int
	err    error
}

var fieldNames = map[string]bool{
	"also": true, "answered": true, "availability": true, "commands": true, "connections": true, "count": true, "depth": true, "fence": true, "key": true,
	"overtakes": true, "owner": true, "panicked": true, "primary": true, "quorum": true, "renewals": true, "round": true, "sent": true,
	"shared": true, "subscriptions": true, "threads": true, "throughput": true, "ttl": true, "until": true, "wait": true, "was": true,
}

func mustTell(tb testing.TB, text string) *story {
	tb.Helper()
	s, err := tell(text)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// tell parses a story.
func tell(text string) (*story, error) {
	s := &story{h: &history.History{Complete: true, Header: history.Header{
		Lockpick: history.Format, Scenario: "story", Version: "told", Testbed: "none",
		Topology: history.Topology{Name: "single", Nodes: []string{"redis-1"}, Quorum: 1},
		Lock:     history.Lock{Key: "order:123"},
		Workload: history.Workload{Resource: "register", Clients: []string{"client-1", "client-2"}},
	}}}
	sc := bufio.NewScanner(strings.NewReader(text))
	for sc.Scan() {
		s.line++
		line, _, _ := strings.Cut(sc.Text(), "#")
		if words := strings.Fields(line); len(words) > 0 {
			s.tellLine(words)
		}
		if s.err != nil {
			return nil, fmt.Errorf("line %d: %w", s.line, s.err)
		}
	}
	order := make([]int, len(s.lines))
	for i := range order {
		order[i] = i
	}
	recs, lines := s.h.Records, s.lines
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(recs[a].T, recs[b].T) })
	s.h.Records, s.lines = nil, nil
	for _, i := range order {
		s.h.Records, s.lines = append(s.h.Records, recs[i]), append(s.lines, lines[i])
	}
	return s, nil
}

func (s *story) add(r history.Record) {
	s.h.Records = append(s.h.Records, r)
	s.lines = append(s.lines, s.line)
}

func (s *story) tellLine(words []string) {
	fields := map[string]string{}
	var rest []string
	for i := 0; i < len(words); i++ {
		key, value, ok := strings.Cut(words[i], "=")
		switch {
		case ok && key == "text" || ok && key == "error" || ok && key == "reply":
			fields[key] = strings.Join(append([]string{value}, words[i+1:]...), " ")
			i = len(words)
		case ok && fieldNames[key]:
			fields[key] = value
		case (words[i] == "of" || words[i] == "by") && i+1 < len(words) && words[0] != history.World:
			fields[words[i]] = words[i+1]
			i++
		default:
			rest = append(rest, words[i])
		}
	}
	h := &s.h.Header
	switch rest[0] {
	case "topology":
		h.Topology.Quorum, h.Topology.Primary, h.Topology.Nodes = int(s.number(fields["quorum"])), fields["primary"], rest[1:]
	case "lock":
		h.Lock.TTL, h.Lock.Wait = s.duration(fields["ttl"]), s.duration(fields["wait"])
		h.Lock.Key, h.Lock.Count = cmp.Or(fields["key"], h.Lock.Key), int(s.number(fields["count"]))
		if fields["also"] != "" {
			h.Lock.Also = strings.Split(fields["also"], ",")
		}
	case "resource":
		h.Workload.Resource, h.Workload.Initial = rest[1], s.number(rest[2])
	case "clients":
		h.Workload.Clients, h.Workload.Threads = rest[1:], int(s.number(fields["threads"]))
	case "bound":
		h.Bounds.Availability = s.duration(fields["availability"])
		h.Bounds.CommandsPerAcquire = float64(s.number(fields["commands"]))
		h.Bounds.RenewalsPerTTL = float64(s.number(fields["renewals"]))
		h.Bounds.Overtakes = int(s.number(fields["overtakes"]))
		h.Bounds.Connections = int(s.number(fields["connections"]))
		h.Bounds.Subscriptions = int(s.number(fields["subscriptions"]))
		h.Bounds.Throughput = s.share(fields["throughput"])
	case "check":
		s.checks = rest[1:]
	case "end":
		s.add(history.Record{T: s.duration(rest[1]), Who: history.World, Kind: history.Note, Op: history.End, Text: strings.Join(rest[2:], " ")})
	case "cut":
		s.h.Complete = false
		s.add(history.Record{T: s.duration(rest[1]), Who: history.World, Kind: history.Note, Op: "cut"})
	case history.World:
		s.world(rest)
	case "store":
		s.store(rest, fields)
	default:
		if slices.Contains(h.Topology.Nodes, rest[0]) {
			s.node(rest, fields)
		} else {
			s.client(rest, fields)
		}
	}
}

func (s *story) world(words []string) {
	op, text := words[1], strings.Join(words[3:], " ")
	if op == history.Quiet || op == history.Looked {
		s.add(history.Record{T: s.duration(words[2]), Who: history.World, Kind: history.Note, Op: op, Text: text})
		return
	}
	if op == history.Stuck || op == history.Left {
		s.add(history.Record{T: s.duration(words[2]), Who: history.World, Kind: history.Note, Op: op, Target: text, Text: "still waits"})
		return
	}
	from, to, healed := strings.Cut(words[2], "..")
	s.add(history.Record{T: s.duration(from), Who: history.World, Kind: history.Fault, Op: op, Target: text, Text: history.Struck})
	if healed && to != "" {
		s.add(history.Record{T: s.duration(to), Who: history.World, Kind: history.Fault, Op: op, Target: text, Text: history.Healed})
	}
}

func (s *story) store(words []string, fields map[string]string) {
	r := history.Record{Who: "store", Kind: history.Observe, Op: words[1], T: s.duration(words[2]), Was: fields["was"], Text: fields["text"], Key: fields["key"], Fence: uint64(s.number(fields["fence"]))}
	if r.Op == "final" {
		r.Op, r.Value = history.Keys, history.Int(s.number(words[3]))
	} else {
		r.Client, r.Value = words[3], history.Int(s.number(words[4]))
	}
	s.add(r)
}

func (s *story) node(words []string, fields map[string]string) {
	r := history.Record{
		Who: words[0], Kind: history.Observe, Op: words[1], T: s.duration(words[2]), Key: cmp.Or(fields["key"], s.h.Header.Lock.Key),
		Holder: fields["of"], Client: fields["by"], TTL: s.duration(fields["ttl"]), Was: asValue(fields["was"]),
		Sent: s.duration(fields["sent"]), Text: fields["text"], Reply: fields["reply"],
	}
	switch r.Op {
	case history.Command:
		r.Command = words[3:]
	case history.Role:
		r.Key, r.Holder, r.Text, r.Target = "", "", words[3], fields["of"]
	case history.Load:
		r.Key, r.Connections, r.Subscriptions = "", int(s.number(fields["connections"])), int(s.number(fields["subscriptions"]))
	case history.Expired, history.Keys:
		r.Owner = asValue(words[3])
	default:
		r.Owner = asValue(words[3])
		if r.Client == "" && r.Text == "" {
			r.Client = r.Holder
		}
	}
	r.Client = strings.TrimPrefix(r.Client, "-")
	s.add(r)
}

// asValue is a key's value as a node shows it: the fields of a hash apart.
func asValue(text string) string { return strings.ReplaceAll(text, ",", " ") }

func (s *story) client(words []string, fields map[string]string) {
	if len(words) < 3 {
		s.err = fmt.Errorf("%q says too little", words)
		return
	}
	from, to, isOp := strings.Cut(words[2], "..")
	begin := history.Record{
		Who: words[0], Op: words[1], T: s.duration(from), Round: 1,
		Depth: int(s.number(fields["depth"])), Shared: fields["shared"] != "",
	}
	if fields["round"] != "" {
		begin.Round = int(s.number(fields["round"]))
	}
	ended := begin
	ended.Panicked, ended.Answered = fields["panicked"] != "", fields["answered"] != ""
	ended.Error, ended.Until = fields["error"], s.duration(fields["until"])
	if ended.Fence = uint64(s.number(fields["fence"])); begin.Op == history.Write {
		begin.Fence = ended.Fence
	}
	what := words[3:]
	if isOp && to != "" {
		ended.T, ended.Kind = s.duration(to), history.Kind(what[0])
		what = what[1:]
	}
	if len(what) > 0 {
		switch begin.Op {
		case history.Read:
			ended.Value = history.Int(s.number(what[0]))
		case history.Write, history.Change:
			begin.Value = history.Int(s.number(what[0]))
		case history.Acquire:
			ended.Owner = what[0]
		default:
			begin.Owner = what[0]
		}
	}
	if ended.Owner = cmp.Or(fields["owner"], ended.Owner); begin.Op == history.Release || begin.Op == history.Extend {
		ended.Owner = cmp.Or(ended.Owner, begin.Owner)
	}
	if !isOp {
		begin.Kind = history.Observe
		s.add(begin)
		return
	}
	s.ids++
	begin.ID, ended.ID, begin.Kind = s.ids, s.ids, history.Invoke
	s.add(begin)
	if to != "" {
		s.add(ended)
	}
}

func (s *story) duration(text string) time.Duration {
	switch text {
	case "":
		return 0
	case "none":
		return history.NoTTL
	}
	d, err := time.ParseDuration(text)
	if err != nil && s.err == nil {
		s.err = err
	}
	return d
}

func (s *story) number(text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && s.err == nil {
		s.err = err
	}
	return n
}

// share is a number that need not be whole.
func (s *story) share(text string) float64 {
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && s.err == nil {
		s.err = err
	}
	return v
}

// verdict renders what a check says of the story, with lines of the story.
func (s *story) verdict(c Check) string {
	res := c.Judge(s.h)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v", c.Name, res.Verdict)
	if res.Reason != "" {
		fmt.Fprintf(&b, " (%s)", res.Reason)
	}
	b.WriteByte('\n')
	for _, f := range res.Findings {
		var lines []int
		for _, l := range f.Lines {
			lines = append(lines, s.lines[l-2])
		}
		slices.Sort(lines)
		fmt.Fprintf(&b, "  %s [%s] lines %v\n", f.Cause, strings.Join(f.Who, " "), slices.Compact(lines))
	}
	return b.String()
}
