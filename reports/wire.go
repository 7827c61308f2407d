package reports

import (
	"crypto/sha1" // what Redis names scripts by
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/checker/history"
)

// Bounds of a command's text, in columns.
const (
	maxArg     = 32
	maxCommand = 72
)

// lateness is how long a command may be under way before the story says so.
const lateness = time.Second

// wire tells the commands in the order in which the nodes executed them: the
// last thing to look at.
func (c *cast) wire() []entry {
	var indices []int
	usual, setup, n := tally{}, 0, 0
	for i, r := range c.h.Records {
		switch {
		case r.Kind != history.Observe || r.Op != history.Command && r.Op != history.Push || len(r.Command) == 0:
		case c.cited[history.Line(i)] || c.full:
			indices = append(indices, i)
		case r.Op == history.Command && isSetup(r.Command[0]):
			setup++
		case c.crowd(r.Client):
			n++
			usual[commandLabel(r)]++
		default:
			indices = append(indices, i)
		}
	}
	var items []item
	widest := 0
	for _, s := range c.gather(indices, c.wireSign) {
		if s.Op == history.Push {
			items = append(items, c.push(s))
			continue
		}
		text := command(s.Command)
		widest = max(widest, width(text))
		e := entry{t: s.T, lines: s.lines, who: s.Client + " → " + c.where(s), text: text, aside: reply(s.Reply)}
		if late := s.T - s.Sent; s.Sent > 0 && late > lateness {
			e.aside += ", sent at " + clock(s.Sent, false)
		}
		items = append(items, item{entry: e, stream: s.Client, by: " by " + s.Client, label: commandLabel(s.Record),
			sign: commandLabel(s.Record) + fmt.Sprint(s.Command[1:min(2, len(s.Command))])})
	}
	for i := range items {
		if items[i].aside != "" {
			items[i].text = pad(items[i].text, min(widest, maxCommand)) + "  "
		}
	}
	out := c.fold(items)
	if n > 0 {
		out = append(out, entry{still: true, text: fmt.Sprintf("%s of %s: %s", count(n, "command"), count(c.others, "more client"), usual.list(6))})
	}
	if setup > 0 {
		out = append(out, entry{still: true, ink: faint, text: count(setup, "command") + " that set up connections"})
	}
	return append(out, c.scripts()...)
}

// push tells a message that a node sends to a subscriber.
func (c *cast) push(s *spread) item {
	e := entry{t: s.T, lines: s.lines, who: s.Client + " ← " + c.where(s)}
	channel, message := s.Command[0], s.Command[1:]
	e.text = "message on " + clip(oneLine(channel), maxArg)
	if len(message) > 0 {
		e.text += ": " + clip(oneLine(strings.Join(message, " ")), maxArg)
	}
	return item{entry: e, stream: s.Client, by: " to " + s.Client, label: pushLabel, sign: pushLabel + channel}
}

// pushLabel is what messages are counted as.
const pushLabel = "message"

// scripts tells what the scripts say that the commands name by their hash.
func (c *cast) scripts() []entry {
	var out []entry
	seen := map[string]bool{}
	for _, r := range c.h.Records {
		if r.Kind != history.Observe || r.Op != history.Command {
			continue
		}
		if body, ok := scriptOf(r.Command); ok && !seen[body] {
			seen[body] = true
			out = append(out, entry{still: true, ink: faint, text: scriptName(body) + " is: " + oneLine(withoutComments(body))})
		}
	}
	return out
}

// withoutComments drops a script's lines of comment, which would swallow what
// follows them on one line.
func withoutComments(body string) string {
	lines := slices.DeleteFunc(strings.Split(body, "\n"), func(l string) bool {
		return strings.HasPrefix(strings.TrimSpace(l), "--")
	})
	return strings.Join(lines, "\n")
}

// scriptOf returns the script that a command carries.
func scriptOf(args []string) (string, bool) {
	switch name := strings.ToUpper(args[0]); {
	case (name == "EVAL" || name == "EVAL_RO") && len(args) > 2:
		return args[1], true
	case name == "SCRIPT" && len(args) > 2 && strings.EqualFold(args[1], "load"):
		return args[2], true
	default:
		return "", false
	}
}

// scriptName is the first digits of a script's hash.
func scriptName(body string) string {
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:4]) + "…"
}

// isSetup reports whether clients send the command of their own accord when they connect.
func isSetup(name string) bool {
	return slices.Contains([]string{"HELLO", "CLIENT", "AUTH", "SELECT", "READONLY"}, strings.ToUpper(name))
}

func (c *cast) wireSign(i int) string {
	r := c.h.Records[i]
	return r.Op + "\x00" + r.Client + "\x00" + strings.Join(r.Command, "\x00") + "\x00" + r.Reply
}

// refusal reports whether the node answered that it did nothing.
func refusal(r history.Record) bool {
	switch strings.ToUpper(r.Command[0]) {
	case "SET", "SETNX", "HSETNX":
		return slices.Contains([]string{"nil", "(nil)", "<nil>", "0", ""}, r.Reply)
	}
	return false
}

// commandLabel names a command for counting: "refused SET", "EVALSHA answered 1".
func commandLabel(r history.Record) string {
	if r.Op == history.Push {
		return pushLabel
	}
	name := strings.ToUpper(r.Command[0])
	switch {
	case refusal(r):
		return "refused " + name
	case r.Reply == "":
		return name
	default:
		return name + " answered " + clip(oneLine(r.Reply), maxArg)
	}
}

func reply(text string) string {
	if text == "" {
		return "no reply"
	}
	return clip(oneLine(text), maxArg*2)
}

// command writes a command with its long arguments cut and its scripts named by
// the first digits of their hash, which is what EVALSHA calls them by.
func command(args []string) string {
	name := strings.ToUpper(args[0])
	rest := args[1:]
	out := []string{name}
	if body, ok := scriptOf(args); ok {
		if name == "SCRIPT" {
			out = append(out, "LOAD")
		}
		out, rest = append(out, scriptName(body)), rest[2:]
	} else if (name == "EVALSHA" || name == "EVALSHA_RO") && len(rest) >= 2 {
		out, rest = append(out, rest[0][:min(8, len(rest[0]))]+"…"), rest[2:]
	}
	for _, a := range rest {
		out = append(out, clip(oneLine(a), maxArg))
	}
	return clip(strings.Join(out, " "), maxCommand)
}

// oneLine keeps a text that has line breaks or is empty readable in a line.
func oneLine(text string) string {
	if text == "" {
		return `""`
	}
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)), " ")
}
