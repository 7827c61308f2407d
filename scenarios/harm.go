package scenarios

import (
	"go.yaml.in/yaml/v3"
)

func readJump(r *reader, n *yaml.Node, d *draft) {
	by, ok := r.duration(n, "jump", eitherWay)
	if ok && by == 0 {
		r.wrong(n, "jump is %s, which moves nothing; expected a duration such as 60s or -60s", n.Value)
	}
	d.jump = by
}

func readRate(r *reader, n *yaml.Node, d *draft) {
	const fastest = 100
	v, ok := r.number(n, "rate", func(v float64) bool { return v >= 0 && v <= fastest }, "a number from 0 to 100, such as 1.1 or 0.9")
	if ok && v == 1 {
		r.wrong(n, "rate is %s, at which a clock runs anyway; expected a number such as 1.1 or 0.9", n.Value)
	}
	d.rate = v
}

// readKey reads the key that is evicted in place of the lock's.
func readKey(r *reader, n *yaml.Node, d *draft) { d.key, _ = r.text(n, "key") }

// readCommands reads which commands are refused.
func readCommands(r *reader, n *yaml.Node, d *draft) {
	const example = "expected names such as [EVALSHA, SET], or no commands to refuse them all"
	items, ok := r.list(n, "commands", "of names, such as [EVALSHA, SET]")
	if ok && len(items) == 0 {
		r.wrong(n, "commands is an empty list; %s", example)
	}
	d.commands = r.commandNames(items, example)
}

// readLast follows data: a node loses all of it, nothing, or the end.
func readLast(r *reader, n *yaml.Node, d *draft) {
	if d.data != "" {
		r.wrong(n, "stop has both data and last; expected one of them")
		return
	}
	d.last, _ = r.duration(n, "last", someTime)
}
