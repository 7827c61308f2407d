package history

import (
	"encoding/json"
	"strconv"
	"time"
)

// appendRecord appends the record as one line of JSON, with its fields in the
// order and under the conditions that Record's tags state. It is written by hand
// because a run spends more time on encoding/json than on Redis; a test holds it
// against encoding/json.
func appendRecord(b []byte, r *Record) []byte {
	b = append(b, `{"t":`...)
	b = strconv.AppendInt(b, int64(r.T), 10)
	b = append(b, `,"who":`...)
	b = appendString(b, r.Who)
	b = append(b, `,"kind":`...)
	b = appendString(b, string(r.Kind))
	b = append(b, `,"op":`...)
	b = appendString(b, r.Op)
	b = intField(b, `,"id":`, int64(r.ID))
	b = intField(b, `,"round":`, int64(r.Round))
	b = intField(b, `,"depth":`, int64(r.Depth))
	b = flagField(b, `,"shared":true`, r.Shared)
	b = stringField(b, `,"key":`, r.Key)
	b = stringField(b, `,"owner":`, r.Owner)
	if r.Fence != 0 {
		b = append(b, `,"fence":`...)
		b = strconv.AppendUint(b, r.Fence, 10)
	}
	b = timeField(b, `,"until":`, r.Until)
	b = timeField(b, `,"ttl":`, r.TTL)
	if r.Value != nil {
		b = append(b, `,"value":`...)
		b = strconv.AppendInt(b, *r.Value, 10)
	}
	b = stringField(b, `,"was":`, r.Was)
	b = stringField(b, `,"client":`, r.Client)
	b = stringField(b, `,"holder":`, r.Holder)
	for i, word := range r.Command {
		if i == 0 {
			b = append(b, `,"command":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendString(b, word)
		if i == len(r.Command)-1 {
			b = append(b, ']')
		}
	}
	b = stringField(b, `,"reply":`, r.Reply)
	b = timeField(b, `,"sent":`, r.Sent)
	b = intField(b, `,"connections":`, int64(r.Connections))
	b = intField(b, `,"subscriptions":`, int64(r.Subscriptions))
	b = stringField(b, `,"target":`, r.Target)
	b = timeField(b, `,"for":`, r.For)
	b = stringField(b, `,"error":`, r.Error)
	b = flagField(b, `,"panicked":true`, r.Panicked)
	b = flagField(b, `,"answered":true`, r.Answered)
	b = stringField(b, `,"text":`, r.Text)
	return append(b, '}', '\n')
}

func intField(b []byte, name string, v int64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(append(b, name...), v, 10)
}

func timeField(b []byte, name string, d time.Duration) []byte { return intField(b, name, int64(d)) }

func flagField(b []byte, text string, v bool) []byte {
	if !v {
		return b
	}
	return append(b, text...)
}

func stringField(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, name...), s)
}

// appendString appends s as encoding/json writes it.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string can always be marshalled
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
